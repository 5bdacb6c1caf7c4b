"""Answers of `zim_query` to questions and requests; compared with other servers and a prototype.

    python benchmarks/answers.py                              everything, into RESULTS.md
    python benchmarks/answers.py --quick                      a few questions per kind, printed
    python benchmarks/answers.py --only intents               one part, printed
    python benchmarks/answers.py --server "CMD {zimdir}"      another server instead of this project's

../shared/eval/eval.py sends the questions and scores the responses: `ans` is the share of responses that contain the
answer, `sup` the share that contain it with the text around it, `tok` the mean size of a response in tokens.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import search
from libzim.reader import Archive
from measure import OURS, ROOT, ZIMS, Server, install_command, report, table

PEER = search.PEER
SHARED = ROOT.parent / "shared"
TESTS = ROOT / "tests"
PROTOTYPE = SHARED / "prototypes" / "retrieval"
OWN_QUESTIONS = ROOT / "benchmarks" / "questions.jsonl"
ZIMI = ROOT / "benchmarks" / ".zimi"
ZIMI_VERSION = "1.14.1"
LANGUAGES = [f"xquad_{code}" for code in "de es ru ar zh".split()]
SETS = [("squad_pub", "squad_dev"), ("squad_pub", "ir_mid"), *((name, name) for name in LANGUAGES)]
BACKEND_VARIABLE = "ANSWERS_BACKEND"
"""The environment variable that tells eval.py's process which server to start and which tool to call."""

Part = Callable[[argparse.Namespace], str]
Counts = Mapping[str, tuple[int, int, str]]
"""Options that are counts: the value in a full run, in a quick one, and what is counted."""

COUNTS: Counts = {
    "n": (500, 10, "questions per set"),
    "prototype-n": (300, 5, "questions per set for the prototype"),
    "peer-n": (100, 5, "questions per set for the other servers, one of which is slow"),
    "together-n": (60, 3, "questions for many archives served together"),
    "calls": (100, 5, "questions per archive whose cost is measured"),
    "large-calls": (8, 2, "questions about large pages whose cost is measured"),
    "articles": (100_000, 35_000, "articles in the largest archive"),
    "own-n": (1000, 5, "questions of questions.jsonl"),
    "own-peer-n": (30, 2, "questions of questions.jsonl for the other server"),
}

PEER_INTENTS = {
    "list_files": {"archives"},
    "metadata": {"metadata"},
    "list_namespaces": {"metadata", "browse"},
    "main_page": {"main_page"},
    "browse": {"browse"},
    "walk_namespace": {"walk"},
    "get_section": {"section", "part"},
    "structure": {"outline"},
    "toc": {"outline"},
    "summary": {"summary"},
    "links": {"links"},
    "inbound_links": {"links", "related"},
    "related": {"related", "links"},
    "binary": {"picture"},
    "suggestions": {"suggestions"},
    "search": {"search", "question"},
    "filtered_search": {"search"},
    "search_all": {"search_all"},
    "find_by_title": {"titled"},
    "get_article": {"article"},
    "get_zim_entries": {"batch"},
    "tell_me_about": {"question", "article", "part"},
}
"""Intents of openzim-mcp 3.4.0, each with the intents of this project that count as the same."""

INTENT_OF_PEER = """
import json, sys
from openzim_mcp.intent_parser import IntentParser
for row in map(json.loads, sys.stdin):
    known = {name.casefold() for name in row["known"]}
    print(IntentParser.parse_intent(row["query"], title_probe=lambda title: title.casefold() in known)[0])
"""


@dataclass(frozen=True)
class System:
    """A system to compare: its name in the tables, the number of questions, and eval.py's arguments."""

    name: str
    count: int
    arguments: list[str]
    backend: dict[str, Any] | None = None

    def figures(self, dataset: str, archive: str, *more: str) -> dict[str, Any]:
        """Send it the questions of a set about an archive."""
        os.environ[BACKEND_VARIABLE] = json.dumps(self.backend)
        return search.evaluate([*self.arguments, *more], dataset, archive, self.count)


def query_modes(name: str, command: list[str], count: int) -> list[System]:
    """Return the ways to call `zim_query` of a server."""
    options = ["--server", shlex.join(command), "--modes"]
    small = {"command": command, "tool": "zim_query", "arguments": {"compact_budget": "small"}}
    return [
        System(f"{name}, `query`", count, [*options, "query"]),
        System(f"{name}, `synth`", count, [*options, "synth"]),
        System(f"{name}, `query`, small budget", count, ["--backend", "answers:call_backend"], small),
    ]


def other_systems(count: int, prototype_count: int) -> list[System]:
    """Return the other systems; zimi-mcp's closest to `zim_query` is a tool that reads the first three results."""
    zimi = {"command": zimi_command(), "tool": "deep_search", "arguments": {}}
    passages = {"smart1": "one passage", "smart3": "three passages"}
    return [
        System(f"zimi-mcp {ZIMI_VERSION}, `deep_search`", count, ["--backend", "answers:call_backend"], zimi),
        *(
            System(f"prototype, {count_of_passages}", prototype_count, ["--backend", f"answers:{name}"])
            for name, count_of_passages in passages.items()
        ),
    ]


def zimi_command() -> list[str]:
    """Return zimi-mcp's command; installed without its pins, which not every index has."""
    command = install_command(
        ZIMI, "zimi-mcp", ["libzim", "mcp<2", "certifi"], ["--no-deps", f"zimi-mcp=={ZIMI_VERSION}"]
    )
    return [*command, "--tools", "full", "--data-dir", "{zimdir}/.zimi", "{zimdir}"]


def call_backend(path: str, _language: str) -> Callable[[str], str]:
    """Return a call of the server in BACKEND_VARIABLE, as a backend of eval.py."""
    backend = json.loads(os.environ[BACKEND_VARIABLE])
    stack = ExitStack()
    atexit.register(stack.close)
    server = stack.enter_context(running_server(Path(path), backend["command"]))
    return lambda question: call_tool(server, backend["tool"], query=question, **backend["arguments"])


def call_prototype(name: str, path: str, language: str) -> Callable[[str], str]:
    """Return a function of the prototype, as a backend of eval.py."""
    sys.path.insert(0, str(PROTOTYPE))
    answer: Callable[[str], str] = getattr(import_module("prototype"), name)(path, language)
    return answer


smart1, smart3 = partial(call_prototype, "smart1"), partial(call_prototype, "smart3")


@contextmanager
def running_server(archive: Path, command: list[str]) -> Iterator[Server]:
    """Start a server on a copy of one archive."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(archive, folder)
        server = Server.start([part.replace("{zimdir}", folder) for part in command], CACHE__ENABLED="false")
        try:
            server.initialize()
            yield server
        finally:
            server.stop()


def call_tool(server: Server, tool: str, **arguments: Any) -> str:
    """Call a tool and return the text that a model reads, also if it is an error."""
    response = server.request("tools/call", {"name": tool, "arguments": arguments})
    return "\n".join(block.get("text", "") for block in response.get("result", {}).get("content", []))


def measure_quality(options: argparse.Namespace) -> str:
    """Measure the answers to questions in six languages."""
    systems = query_modes("this project", options.command, options.n) + query_modes(
        PEER, search.server_commands()[PEER], options.peer_n
    )
    rows, sets = [], SETS[::6] if options.quick else SETS
    for system in systems + other_systems(options.peer_n, options.prototype_n):
        results = [system.figures(*questions) for questions in sets]
        cells = [f"{it['ans']:.3f} / {it['sup']:.3f} / {it['tok']:.0f}" for it in results]
        rows.append([f"{system.name}, n = {system.count}", *cells])
    return table(["ans / sup / tok", *(f"`{questions}` in `{archive}`" for questions, archive in sets)], rows)


def measure_many_archives(options: argparse.Namespace) -> str:
    """Send the same questions to one archive alone and to many archives at once."""
    ours, *_ = query_modes("this project", options.command, options.together_n)
    theirs = query_modes(PEER, search.server_commands()[PEER], options.together_n)[:2]
    valid = [*ZIMS.glob("real/*.zim*"), *ZIMS.glob("built/*.zim")]
    damaged = [*ZIMS.glob("damaged/*"), *ZIMS.glob("zim-testing-suite/nons/*")]
    also_served: dict[str, list[Path]] = {
        "alone": [],
        f"with the {count_archives(valid)} of `real` and `built`": valid,
        f"with {count_archives(damaged)} of `damaged` and `nons` too": valid + damaged,
    }
    rows = []
    for system, labels in [(ours, list(also_served)), *((it, list(also_served)[:2]) for it in theirs)]:
        for label in labels:
            result = system.figures(
                *SETS[0], *(part for path in sorted(also_served[label]) for part in ("--also", str(path)))
            )
            cells = [f"{result['ans']:.3f}", f"{result['tok']:.0f}", f"{result['ms_p50']:.0f} / {result['ms_p95']:.0f}"]
            rows.append([f"{system.name}, {label}", *cells])
    return table([f"`squad_dev`, n = {options.together_n}", "ans", "tok", "median / 95 % ms"], rows)


def count_archives(paths: Iterable[Path]) -> int:
    """Count archives, some of which are split into several files."""
    return len({path.name.partition(".zima")[0] for path in paths})


def measure_cost(options: argparse.Namespace) -> str:
    """Measure questions in ever larger archives, and in one with large pages."""
    questions, rows = search.sample_questions(options.calls), []
    large = [f"What is {title} known for?" for title in search.large_titles(search.WIKI, options.large_calls)]
    with tempfile.TemporaryDirectory() as folder:
        largest = search.write_enlarged(search.MIDDLE, Path(folder) / "large.zim", options.articles)
        archives = [(search.SMALL, questions), (search.MIDDLE, questions), (largest, questions), (search.WIKI, large)]
        for path, asked in archives:
            ours, theirs = compare_costs(path, asked, [options.command, search.server_commands()[PEER]])
            cpu = [f"{ours.mean_cpu:.0f}", f"{theirs.mean_cpu:.0f}", f"{theirs.mean_cpu / ours.mean_cpu:.1f}"]
            label = f"`{path.name}`, {Archive(path).article_count:,} articles, {len(asked)} questions"
            rows.append([label, ours.latency_cell, theirs.latency_cell, *cpu])
    header = ["this project, median / 95 % ms", f"{PEER}, median / 95 % ms"]
    return table(["`query`", *header, "CPU ms", f"CPU ms of {PEER}", "times less"], rows)


def compare_costs(archive: Path, questions: list[str], systems: list[list[str]]) -> list[search.Cost]:
    """Send each question to the servers in turn."""
    with ExitStack() as stack:
        servers = [(search.Cost(), stack.enter_context(running_server(archive, command))) for command in systems]
        for _, server in servers:
            call_tool(server, "zim_query", query=search.ABSENT_WORD)
        for question in questions:
            for cost, server in servers:
                cost.measure_call(server, partial(call_tool, server, "zim_query", query=question))
    return [cost for cost, _ in servers]


def measure_intents(_given: argparse.Namespace) -> str:
    """Compare the interpretation of labelled queries."""
    text = (TESTS / "data" / "queries.jsonl").read_text(encoding="utf-8")
    labelled = [json.loads(line) for line in text.splitlines()]
    sys.path[:0] = [str(TESTS), str(TESTS / "app" / "query")]
    ours = list(map(import_module("test_interpret").interpret_row, labelled))
    python = [str(Path(search.server_commands()[PEER][0]).with_name("python")), "-c", INTENT_OF_PEER]
    theirs = subprocess.run(python, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    comparable = set().union(*PEER_INTENTS.values())
    results = [
        (
            row["language"],
            mine.intent == row["intent"],
            row["intent"] in PEER_INTENTS[other],
            row["intent"] in comparable,
        )
        for row, mine, other in zip(labelled, ours, theirs, strict=True)
    ]
    languages = list(dict.fromkeys(row["language"] for row in labelled))
    groups = {"all": languages, "all but en": [code for code in languages if code != "en"]}
    groups |= {code: [code] for code in languages}
    rows = [share_row(name, [row for row in results if row[0] in codes]) for name, codes in groups.items()]
    header = ["rows", "this project", PEER, f"{PEER}, of the rows whose intent it has"]
    return table(["labelled queries interpreted correctly", *header], rows)


def share_row(name: str, results: list[tuple[str, bool, bool, bool]]) -> list[str]:
    """Return a row with the shares of a group that are interpreted correctly."""
    _, ours, theirs, comparable = zip(*results, strict=True)
    parts = [sum(ours) / len(results), sum(theirs) / len(results), sum(theirs) / sum(comparable)]
    return [name, str(len(results)), *(f"{share:.3f}" for share in parts)]


def measure_own_questions(options: argparse.Namespace) -> str:
    """Send the questions of questions.jsonl, if it exists; the slow server gets every n-th."""
    lines = OWN_QUESTIONS.read_text(encoding="utf-8").splitlines() if OWN_QUESTIONS.exists() else []
    questions = [json.loads(line) for line in lines]
    systems = {
        "this project": (options.command, options.own_n),
        PEER: (search.server_commands()[PEER], options.own_peer_n),
    }
    rows = []
    for name, (command, count) in systems.items() if questions else ():
        sample = questions[:: -(-len(questions) // count)]
        for mode, arguments in {"`query`": {}, "`synth`": {"synthesize": True}}.items():
            results = [result for group in group_by_archive(sample) for result in score(group, command, arguments)]
            share, size = (statistics.mean(column) for column in zip(*results, strict=True))
            rows.append([f"{name}, {mode}, n = {len(sample)}", f"{share:.3f}", f"{size:.0f}"])
    return table(["`questions.jsonl`", "answered", "tok"], rows) if rows else ""


def group_by_archive(questions: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    """Group questions by archive."""
    groups: dict[Path, list[dict[str, str]]] = {}
    for row in questions:
        groups.setdefault(find_archive(row["archive"]), []).append(row)
    return list(groups.values())


def score(questions: list[dict[str, str]], command: list[str], arguments: dict[str, bool]) -> list[tuple[bool, float]]:
    """Send questions about one archive; return whether each response has the answer, and its size in tokens."""
    with running_server(find_archive(questions[0]["archive"]), command) as server:
        responses = [call_tool(server, "zim_query", query=row["question"], **arguments).casefold() for row in questions]
    accepted = [row["answer"].casefold().split("|") for row in questions]
    return [
        (any(answer.strip() in response for answer in answers), len(response) / 4)
        for answers, response in zip(accepted, responses, strict=True)
    ]


@cache
def find_archive(name: str) -> Path:
    """Return the archive of a name, with or without its folder and suffix."""
    return next(path for path in SHARED.glob("*/**/*.zim") if f"/{path}".endswith((f"/{name}", f"/{name}.zim")))


PARTS = {
    "quality": measure_quality,
    "together": measure_many_archives,
    "cost": measure_cost,
    "intents": measure_intents,
    "own": measure_own_questions,
}


def run_part(name: str, part: Part, options: argparse.Namespace) -> str:
    """Run a part, and report on stderr how long it took."""
    started = time.perf_counter()
    body = part(options)
    print(f"{name}: {time.perf_counter() - started:.0f} s", file=sys.stderr, flush=True)
    return body


def parse_options(description: str | None, parts: Iterable[str], counts: Counts) -> argparse.Namespace:
    """Parse the command line; missing counts are those of a full or a quick run."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--server", default=shlex.join([*OURS, *search.SERVER_ARGUMENTS]), help='a server\'s command, as "CMD {zimdir}"'
    )
    parser.add_argument("--only", choices=list(parts), action="append", help="run one part and print it")
    parser.add_argument("--quick", action="store_true", help="send a few questions and print the results")
    for name, (full, _, what) in counts.items():
        parser.add_argument(f"--{name}", type=int, help=f"{what} ({full})")
    options = parser.parse_args()
    options.command = shlex.split(options.server)
    for name, (full, quick, _) in counts.items():
        key = name.replace("-", "_")
        setattr(options, key, getattr(options, key) or (quick if options.quick else full))
    return options


def run_parts(section: str, description: str | None, parts: Mapping[str, Part], counts: Counts) -> None:
    """Run all parts and write their section of the report, or print some of them."""
    options = parse_options(description, parts, counts)
    body = "\n\n".join(filter(None, (run_part(name, parts[name], options) for name in options.only or parts)))
    if options.only or options.quick:
        print(body)
    else:
        report(section, shlex.join(["python", f"benchmarks/{section}.py", *sys.argv[1:]]), body)


if __name__ == "__main__":
    run_parts("answers", __doc__, PARTS, COUNTS)
