"""Answering: what `zim_query` makes of questions and requests; beside other servers, and a sketch of what is possible.

    python benchmarks/answers.py                              all, into RESULTS.md
    python benchmarks/answers.py --quick                      a few questions of each kind, printed
    python benchmarks/answers.py --only intents               one part, printed
    python benchmarks/answers.py --server "CMD {zimdir}"      another server in the place of this project's

../shared/eval/eval.py asks and judges. Its `ans` is the share of responses that contain the answer, `sup` the share
that contain it with the text around it, `tok` the mean size of a response, `empty` the share that names no article.
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
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import search
from libzim.reader import Archive
from measure import OURS, ROOT, ZIMS, Server, installed, report, table

PEER = search.PEER
SHARED = ROOT.parent / "shared"
TESTS = ROOT / "tests"
SKETCH = SHARED / "prototypes" / "retrieval"
OWN = ROOT / "benchmarks" / "questions.jsonl"
ZIMI = ROOT / "benchmarks" / ".zimi"
ZIMI_VERSION = "1.14.1"
LANGUAGES = [f"xquad_{code}" for code in "de es ru ar zh".split()]
SETS = [("squad_pub", "squad_dev"), ("squad_pub", "ir_mid"), *((name, name) for name in LANGUAGES)]
TOLD = "ANSWERING_SERVER"
"""The variable that tells the process of eval.py which server to start, and what to call."""

COUNTS = {
    "n": (500, 10, "questions of each set"),
    "sketch-n": (300, 5, "questions of each set to the sketch"),
    "peer-n": (100, 5, "questions of each set to the other servers, of which one is slow"),
    "together-n": (60, 3, "questions to many archives served together"),
    "calls": (100, 5, "questions whose cost is measured, in each archive"),
    "large-calls": (8, 2, "of them about large pages"),
    "articles": (100_000, 35_000, "articles of the largest archive"),
    "own-n": (1000, 5, "questions of questions.jsonl"),
    "own-peer-n": (30, 2, "of them to the other server"),
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
"""What openzim-mcp 3.4.0 calls a request, and all that this project may call the same; it has no other names."""

READ_BY_PEER = """
import json, sys
from openzim_mcp.intent_parser import IntentParser
for row in map(json.loads, sys.stdin):
    known = {name.casefold() for name in row["known"]}
    print(IntentParser.parse_intent(row["query"], title_probe=lambda title: title.casefold() in known)[0])
"""


@dataclass(frozen=True)
class System:
    """What is asked: its name in the tables, how many questions, and how eval.py reaches it."""

    name: str
    count: int
    arguments: list[str]
    told: dict[str, Any] | None = None

    def figures(self, dataset: str, archive: str, *more: str) -> dict[str, Any]:
        """Ask it the questions of a set about an archive."""
        os.environ[TOLD] = json.dumps(self.told)
        return search.evaluate([*self.arguments, *more], dataset, archive, self.count)


def modes(name: str, command: list[str], count: int) -> list[System]:
    """Return the ways in which `zim_query` of a server is asked."""
    served = ["--server", shlex.join(command), "--modes"]
    small = {"command": command, "tool": "zim_query", "arguments": {"compact_budget": "small"}}
    return [
        System(f"{name}, `query`", count, [*served, "query"]),
        System(f"{name}, `synth`", count, [*served, "synth"]),
        System(f"{name}, `query`, small budget", count, ["--backend", "answers:as_told"], small),
    ]


def others(count: int, sketch_count: int) -> list[System]:
    """Return what else answers; the nearest that zimi-mcp has to `zim_query` reads the first three articles found."""
    zimi = {"command": zimi_command(), "tool": "deep_search", "arguments": {}}
    sketches = {"smart1": "one passage", "smart3": "three passages"}
    return [
        System(f"zimi-mcp {ZIMI_VERSION}, `deep_search`", count, ["--backend", "answers:as_told"], zimi),
        *(System(f"sketch, {what}", sketch_count, ["--backend", f"answers:{it}"]) for it, what in sketches.items()),
    ]


def zimi_command() -> list[str]:
    """Return zimi-mcp's command; without its pins, as the certificates it asks for are newer than some mirrors have."""
    command = installed(ZIMI, "zimi-mcp", ["libzim", "mcp<2", "certifi"], ["--no-deps", f"zimi-mcp=={ZIMI_VERSION}"])
    return [*command, "--tools", "full", "--data-dir", "{zimdir}/.zimi", "{zimdir}"]


def as_told(path: str, _language: str) -> Callable[[str], str]:
    """Return a call of the server that the environment tells of, as eval.py takes it."""
    told = json.loads(os.environ[TOLD])
    stack = ExitStack()
    atexit.register(stack.close)
    server = stack.enter_context(serving(Path(path), told["command"]))
    return lambda question: said(server, told["tool"], query=question, **told["arguments"])


def sketched(name: str, path: str, language: str) -> Callable[[str], str]:
    """Return what a function of the sketch makes."""
    sys.path.insert(0, str(SKETCH))
    answer: Callable[[str], str] = getattr(import_module("prototype"), name)(path, language)
    return answer


smart1, smart3 = partial(sketched, "smart1"), partial(sketched, "smart3")


@contextmanager
def serving(archive: Path, command: list[str]) -> Iterator[Server]:
    """Start a server over a copy of one archive."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(archive, folder)
        server = Server.start([part.replace("{zimdir}", folder) for part in command], CACHE__ENABLED="false")
        try:
            server.initialize()
            yield server
        finally:
            server.stop()


def said(server: Server, tool: str, **arguments: Any) -> str:
    """Call a tool and return all that a model reads, be it an error."""
    answer = server.request("tools/call", {"name": tool, "arguments": arguments})
    return "\n".join(block.get("text", "") for block in answer.get("result", {}).get("content", []))


def quality(given: argparse.Namespace) -> str:
    """Ask questions in six languages."""
    systems = modes("this project", given.command, given.n) + modes(PEER, search.commands()[PEER], given.peer_n)
    rows, sets = [], SETS[::6] if given.quick else SETS
    for system in systems + others(given.peer_n, given.sketch_n):
        found = [system.figures(*where) for where in sets]
        cells = [f"{it['ans']:.3f} / {it['sup']:.3f} / {it['tok']:.0f} / {it['empty']:.2f}" for it in found]
        rows.append([f"{system.name}, n = {system.count}", *cells])
    return table(["ans / sup / tok / empty", *(f"`{asked}` in `{archive}`" for asked, archive in sets)], rows)


def together(given: argparse.Namespace) -> str:
    """Ask the same questions of an archive that is alone, and of many at once."""
    ours, *_ = modes("this project", given.command, given.together_n)
    theirs = modes(PEER, search.commands()[PEER], given.together_n)[:2]
    sound = [*ZIMS.glob("real/*.zim*"), *ZIMS.glob("built/*.zim")]
    damaged = [*ZIMS.glob("damaged/*"), *ZIMS.glob("zim-testing-suite/nons/*")]
    beside: dict[str, list[Path]] = {
        "alone": [],
        f"with the {archives(sound)} of `real` and `built`": sound,
        f"with {archives(damaged)} of `damaged` and `nons` too": sound + damaged,
    }
    rows = []
    for system, where in [(ours, list(beside)), *((it, list(beside)[:2]) for it in theirs)]:
        for label in where:
            found = system.figures(
                *SETS[0], *(part for path in sorted(beside[label]) for part in ("--also", str(path)))
            )
            cells = [f"{found['ans']:.3f}", f"{found['tok']:.0f}", f"{found['ms_p50']:.0f} / {found['ms_p95']:.0f}"]
            rows.append([f"{system.name}, {label}", *cells])
    return table([f"`squad_dev`, n = {given.together_n}", "ans", "tok", "median / 95 % ms"], rows)


def archives(paths: Iterable[Path]) -> int:
    """Count archives, of which some are split into several files."""
    return len({path.name.partition(".zima")[0] for path in paths})


def cost(given: argparse.Namespace) -> str:
    """Measure questions in archives of more and more articles, and in one of large pages."""
    asked, rows = search.questions(given.calls), []
    large = [f"What is {title} known for?" for title in search.large_titles(search.WIKI, given.large_calls)]
    with tempfile.TemporaryDirectory() as folder:
        largest = search.enlarged(search.MIDDLE, Path(folder) / "large.zim", given.articles)
        for path, these in [(search.SMALL, asked), (search.MIDDLE, asked), (largest, asked), (search.WIKI, large)]:
            ours, theirs = costs(path, these, [given.command, search.commands()[PEER]])
            cpu = [f"{ours.mean_cpu:.0f}", f"{theirs.mean_cpu:.0f}", f"{theirs.mean_cpu / ours.mean_cpu:.1f}"]
            label = f"`{path.name}`, {Archive(path).article_count:,} articles, {len(these)} questions"
            rows.append([label, ours.latency, theirs.latency, *cpu])
    header = ["this project, median / 95 % ms", f"{PEER}, median / 95 % ms"]
    return table(["`query`", *header, "CPU ms", f"CPU ms of {PEER}", "times less"], rows)


def costs(archive: Path, asked: list[str], systems: list[list[str]]) -> list[search.Cost]:
    """Put each question to the servers in turn."""
    with ExitStack() as stack:
        servers = [(search.Cost(), stack.enter_context(serving(archive, command))) for command in systems]
        for _, server in servers:
            said(server, "zim_query", query=search.NOTHING)
        for question in asked:
            for spent, server in servers:
                spent.add(server, partial(said, server, "zim_query", query=question))
    return [spent for spent, _ in servers]


def intents(_given: argparse.Namespace) -> str:
    """Read the labelled queries."""
    text = (TESTS / "data" / "queries.jsonl").read_text(encoding="utf-8")
    labelled = [json.loads(line) for line in text.splitlines()]
    sys.path.insert(0, str(TESTS))
    ours = list(map(import_module("test_intents").route, labelled))
    python = [str(Path(search.commands()[PEER][0]).with_name("python")), "-c", READ_BY_PEER]
    theirs = subprocess.run(python, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    known = set().union(*PEER_INTENTS.values())
    found = [
        (row["language"], mine.intent == row["intent"], row["intent"] in PEER_INTENTS[other], row["intent"] in known)
        for row, mine, other in zip(labelled, ours, theirs, strict=True)
    ]
    languages = list(dict.fromkeys(row["language"] for row in labelled))
    groups = {"all": languages, "all but en": [code for code in languages if code != "en"]}
    groups |= {code: [code] for code in languages}
    rows = [shares(name, [row for row in found if row[0] in codes]) for name, codes in groups.items()]
    header = ["rows", "this project", PEER, f"{PEER}, of the rows whose intent it has"]
    return table(["labelled queries read right", *header], rows)


def shares(name: str, found: list[tuple[str, bool, bool, bool]]) -> list[str]:
    """Return what share of a group is read right."""
    _, ours, theirs, known = zip(*found, strict=True)
    parts = [sum(ours) / len(found), sum(theirs) / len(found), sum(theirs) / sum(known)]
    return [name, str(len(found)), *(f"{share:.3f}" for share in parts)]


def own(given: argparse.Namespace) -> str:
    """Ask the questions of questions.jsonl, if it is there; the slow server gets some, spread over all."""
    lines = OWN.read_text(encoding="utf-8").splitlines() if OWN.exists() else []
    asked = [json.loads(line) for line in lines]
    systems = {"this project": (given.command, given.own_n), PEER: (search.commands()[PEER], given.own_peer_n)}
    rows = []
    for name, (command, count) in systems.items() if asked else ():
        some = asked[:: -(-len(asked) // count)]
        for mode, arguments in {"`query`": {}, "`synth`": {"synthesize": True}}.items():
            found = [result for group in by_archive(some) for result in answered(group, command, arguments)]
            share, size = (statistics.mean(column) for column in zip(*found, strict=True))
            rows.append([f"{name}, {mode}, n = {len(some)}", f"{share:.3f}", f"{size:.0f}"])
    return table(["`questions.jsonl`", "answered", "tok"], rows) if rows else ""


def by_archive(asked: list[dict[str, str]]) -> list[list[dict[str, str]]]:
    """Return the questions about each archive."""
    groups: dict[Path, list[dict[str, str]]] = {}
    for row in asked:
        groups.setdefault(located(row["archive"]), []).append(row)
    return list(groups.values())


def answered(asked: list[dict[str, str]], command: list[str], arguments: dict[str, bool]) -> list[tuple[bool, float]]:
    """Ask about one archive: whether each response contains the answer, and its size in tokens."""
    with serving(located(asked[0]["archive"]), command) as server:
        responses = [said(server, "zim_query", query=row["question"], **arguments).casefold() for row in asked]
    wanted = [row["answer"].casefold().split("|") for row in asked]
    return [
        (any(one.strip() in response for one in any_of), len(response) / 4)
        for any_of, response in zip(wanted, responses, strict=True)
    ]


@cache
def located(name: str) -> Path:
    """Return the archive of a name, with or without its folder and its ending."""
    return next(path for path in SHARED.glob("*/**/*.zim") if f"/{path}".endswith((f"/{name}", f"/{name}.zim")))


PARTS = {"quality": quality, "together": together, "cost": cost, "intents": intents, "own": own}


def timed(name: str, given: argparse.Namespace) -> str:
    """Run a part, and say on stderr how long it took."""
    begun = time.perf_counter()
    body = PARTS[name](given)
    print(f"{name}: {time.perf_counter() - begun:.0f} s", file=sys.stderr, flush=True)
    return body


def arguments() -> argparse.Namespace:
    """Read the command line; counts that are not given are those of a full or a quick run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--server", default=shlex.join([*OURS, *search.SERVED]), help='a server\'s command, as "CMD {zimdir}"'
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="a part; the result is printed only")
    parser.add_argument("--quick", action="store_true", help="a few questions; the result is printed only")
    for name, (full, _, what) in COUNTS.items():
        parser.add_argument(f"--{name}", type=int, help=f"{what} ({full})")
    given = parser.parse_args()
    given.command = shlex.split(given.server)
    for name, (full, quick, _) in COUNTS.items():
        key = name.replace("-", "_")
        setattr(given, key, getattr(given, key) or (quick if given.quick else full))
    return given


def main() -> None:
    """Run all and write the report, or print a part of it."""
    given = arguments()
    body = "\n\n".join(filter(None, (timed(name, given) for name in given.only or PARTS)))
    if given.only or given.quick:
        print(body)
    else:
        report("answers", shlex.join(["python", "benchmarks/answers.py", *sys.argv[1:]]), body)


if __name__ == "__main__":
    main()
