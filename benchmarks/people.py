"""Questions as people ask them, of a library of 13 archives: what is answered, refused, said of the chance; and costs.

    python benchmarks/people.py                              everything, into RESULTS.md
    python benchmarks/people.py --quick                      a few questions per part, printed
    python benchmarks/people.py --only calibration           one part, printed
    python benchmarks/people.py --only cost --server "CMD {zimdir}"   another server, or an older version

There are three sets of questions: a public one in ../shared/eval/people, people.jsonl, and people_second.jsonl, which
was written later. Weights are fitted on people.jsonl only; replies to the others are read to find kinds of defects.
The last two sets were written for this project and are in the public domain (CC0), with a page of an archive open, then
phrased as somebody would who has not read it, in other words than the text's. A row names the page (`archive`, `path`)
and strings of which any one in a reply counts as the answer. The kinds are

- what is asked for: who, when, where, number, what, why, yesno, list, compare, howto, code, word (its meaning);
- how: quote (first lines, lines to complete, who said it), chatty (with greetings, politeness, a story), typo (misspelt
  words), terse (keywords only), foreign (not in English);
- unanswerable: none-entity (a thing that no archive knows), none-fact (the page is there and does not say it), none-now
  (today's or private matters), none-false (the premise is false).

../shared/eval/people/people.py sends the questions and scores the replies: `answered` is the share of answerable
questions whose reply contains the answer, `first` the share with it in the first 600 characters, `wrongly refused` the
share of these that are refused, `refused` the share of unanswerable questions that are, `tokens` the mean size of a
reply. `CPU ms` per question is that of the script and of all processes below it (getrusage), less that of a run without
questions: it includes scoring the reply, about 2 ms, and what a server prepares in the background, but not its start.
The CPU over many archives is measured from /proc, once the server has prepared what it needs and is idle.

A reply says in `_meta` how likely it is to have the answer; `calibration` compares these chances with the shares of
replies that have it. `ablation` is described in answer_ablation.py.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import answers
import search
from answer_ablation import FIRST_PASSAGES, Row, measure_shares
from measure import ROOT, ZIMS, Server, table

from openzim_mcp.calls.archive import BuildPassageIndex
from openzim_mcp.worker.jobs.passage_index import build_passage_index
from openzim_mcp.worker.search.passage_index import read_state
from openzim_mcp.worker.zim import Archive

SCRIPT = ROOT.parent / "shared" / "eval" / "people" / "people.py"
SETS = {
    "public": SCRIPT.with_name("questions.jsonl"),
    "own": ROOT / "benchmarks" / "people.jsonl",
    "second": ROOT / "benchmarks" / "people_second.jsonl",
}
ALL = 1000
NQ = ("nq_pub", "ir_mid")
UNANSWERABLE = "none"
"""What the names of unanswerable kinds start with."""
BINS = 5
WARM_UP = "who invented the telephone"
IDLE_SECONDS, IDLE_MILLISECONDS = 3.0, 60.0

COUNTS: answers.Counts = {
    "n": (ALL, 20, "questions per set"),
    "peer-n": (30, 2, "questions per set for the other servers, which are slow"),
    "nq-n": (688, 5, "questions of Natural Questions"),
    "nq-peer-n": (100, 2, "questions of Natural Questions for the other servers"),
    "calls": (20, 3, "questions whose cost over many archives is measured"),
    "ablation-n": (ALL, 4, "answerable questions per set for the ablation"),
}


@cache
def scorer() -> ModuleType:
    """Return the shared script as a module, for its judgement of replies and its list of archives."""
    spec = spec_from_file_location("people_scorer", SCRIPT)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def load_questions(name: str, count: int, *, answerable_only: bool = False) -> list[dict[str, Any]]:
    """Return some questions of a set, evenly distributed over it."""
    lines = SETS[name].read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["answerable"] or not answerable_only]
    return rows[:: -(-len(rows) // count)]


@dataclass(frozen=True)
class System:
    """A server to compare, how many questions it gets, and the arguments of the script that say how it is called."""

    name: str
    command: list[str]
    count: int
    arguments: tuple[str, ...] = ()

    def run(self, questions: str, *more: str) -> tuple[dict[str, Any], list[Row]]:
        """Send it a set of questions; return its figures, with the CPU in milliseconds, and a row per question."""
        with tempfile.TemporaryDirectory() as folder:
            dump = Path(folder) / "dump.jsonl"
            options = ["--server", shlex.join(self.command), "--env", "OPENZIM_MCP_RATE_LIMIT__ENABLED=false", "--json"]
            files = ["--questions", str(SETS[questions]), "--dump", str(dump), "--n", str(self.count)]
            command = [sys.executable, str(SCRIPT), *options, *files, *self.arguments, *more]
            before = children_cpu()
            output = subprocess.run(command, env=os.environ | {"TMPDIR": folder}, stdout=subprocess.PIPE, check=True)
            figures = json.loads(output.stdout) | {"cpu": children_cpu() - before}
            rows = [json.loads(line)["score"] for line in dump.read_text(encoding="utf-8").splitlines()]
        return figures, rows


def children_cpu() -> float:
    """Return the CPU of all ended processes below this one, in milliseconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (usage.ru_utime + usage.ru_stime) * 1000


def systems(options: argparse.Namespace) -> list[System]:
    """Return the servers to compare, this project's first."""
    peer, count = search.server_commands()[search.PEER], options.peer_n
    zimi = f"zimi-mcp {answers.ZIMI_VERSION}, `deep_search`"
    return [
        System("this project", options.command, options.n),
        System(f"{search.PEER}, `synthesize`", peer, count, ("--args", '{"synthesize": true}')),
        System(f"{search.PEER}, `search all files for …`", peer, count, ("--ask", "search all files for {q}")),
        System(zimi, answers.zimi_command(), count, ("--tool", "deep_search")),
    ]


def measure_quality(options: argparse.Namespace) -> str:
    """Send both sets to all servers; then this project's results by kind of question."""
    ours, *others = systems(options)
    outcomes = {name: ours.run(name) for name in SETS}
    rows = [quality_row(ours, name, figures) for name, (figures, _) in outcomes.items()]
    rows += [quality_row(other, name, other.run(name)[0]) for other in others for name in SETS]
    header = ["answered", "first", "wrongly refused", "refused", "tokens", "CPU ms"]
    by_kind = kind_table({name: scores for name, (_, scores) in outcomes.items()})
    return f"{table(['questions of people', *header], rows)}\n\n{by_kind}"


def quality_row(system: System, questions: str, figures: dict[str, Any]) -> list[str]:
    """Return a row of figures; the CPU without that of starting."""
    start, _ = system.run(questions, "--kind", "no questions")
    shares = [show(figures[key]) for key in ("answered", "first", "wrongly_refused", "refused")]
    cpu = (figures["cpu"] - start["cpu"]) / figures["n"]
    return [f"{system.name}, {questions}, n = {figures['n']}", *shares, f"{figures['tokens']:.0f}", f"{cpu:.0f}"]


def show(share: float | None) -> str:
    """Return a share for a table; empty if there is none."""
    return "" if share is None else f"{share:.2f}"


def kind_table(sets: dict[str, list[Row]]) -> str:
    """Return the results of this project by kind of question, the unanswerable kinds last."""
    kinds = sorted(
        {row["kind"] for rows in sets.values() for row in rows}, key=lambda kind: (kind.startswith(UNANSWERABLE), kind)
    )
    rows = [
        [
            kind,
            *(cell for scores in sets.values() for cell in kind_cells([row for row in scores if row["kind"] == kind])),
        ]
        for kind in kinds
    ]
    header = (f"{name}: {figure}" for name in sets for figure in ("questions", "answered / first", "refused"))
    return table(["this project, by kind", *header], rows)


def kind_cells(rows: list[Row]) -> list[str]:
    """Return the number of questions of a kind, and its shares."""
    figures = scorer().summary(rows)
    answered = f"{show(figures['answered'])} / {show(figures['first'])}" if figures["answerable"] else ""
    return [str(len(rows)), answered, show(figures["refused"])]


def measure_calibration(options: argparse.Namespace) -> str:
    """Compare the chance that a reply says its answer is right with the share that is."""
    sets = {name: list(ask_all(options.command, load_questions(name, options.n))) for name in SETS}
    if not any(sets.values()):
        return "The server says no chance."
    rows = [
        [
            f"{number / BINS:.1f} to {(number + 1) / BINS:.1f}",
            *(cell for outcomes in sets.values() for cell in bin_cells([row for row in outcomes if row.bin == number])),
        ]
        for number in range(BINS)
    ]
    header = (f"{name}: {figure}" for name in sets for figure in ("questions", "mean chance", "answerable", "answered"))
    return table(["said chance", *header], rows)


@dataclass(frozen=True)
class Outcome:
    """The chance of its answer that a reply says, and whether it is right."""

    chance: float
    answerable: bool
    answered: bool

    @property
    def bin(self) -> int:
        """The bin of the said chance."""
        return min(BINS - 1, int(self.chance * BINS))


def bin_cells(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the number of replies in a bin, their mean chance, and their shares."""
    columns = zip(*((row.chance, row.answerable, row.answered) for row in outcomes), strict=True)
    return [str(len(outcomes)), *([show(statistics.mean(map(float, column))) for column in columns] or [""] * 3)]


def ask_all(command: list[str], questions: Iterable[Row]) -> Iterator[Outcome]:
    """Send questions to a server of the library; replies that say no chance are left out."""
    with running_server(command, library_paths()) as server:
        for row in questions:
            result = server.call("zim_query", query=row["q"])
            meta = result.get("_meta", {})
            if "openzim/confidence" in meta:
                text = "\n".join(block.get("text", "") for block in result["content"])
                yield Outcome(meta["openzim/confidence"], row["answerable"], has_answer(text, row))


def has_answer(text: str, row: Row) -> bool:
    """Return whether a text has an answer, apart from what it repeats of the question."""
    body = scorer().without_echo(text, row["q"])
    return any(scorer().has(body, answer) for answer in row["answers"])


def library_paths() -> list[Path]:
    """Return the archives that the questions are about."""
    return [ZIMS / f"{name}.zim" for name in scorer().LIBRARY]


@contextmanager
def running_server(command: Sequence[str], archives: Iterable[Path]) -> Iterator[Server]:
    """Start a server on some archives."""
    with tempfile.TemporaryDirectory() as folder:
        for path in archives:
            link_file(path, Path(folder) / path.name)
        server = Server.start([part.replace("{zimdir}", folder) for part in command], CACHE__ENABLED="false")
        try:
            server.initialize()
            yield server
        finally:
            server.stop()


def link_file(path: Path, target: Path) -> None:
    """Make a hard link, so that a server knows the file again; a copy where that is not possible."""
    try:
        target.hardlink_to(path)
    except OSError:
        shutil.copy(path, target)


def measure_nq(options: argparse.Namespace) -> str:
    """Send questions of users of a search engine, about articles among 32,000 others."""
    ours, *_ = answers.query_modes("this project", options.command, options.nq_n)
    _, synthesize, _ = answers.query_modes(search.PEER, search.server_commands()[search.PEER], options.nq_peer_n)
    zimi, *_ = answers.other_systems(options.nq_peer_n, 0)
    rows = []
    for system in (ours, synthesize, zimi):
        figures = system.figures(*NQ)
        shares = [f"{figures[key]:.3f}" for key in ("ans", "sup")]
        cpu = f"{figures['cpu_ms']:.0f}" if figures["cpu_ms"] else ""
        rows.append([f"{system.name}, n = {figures['n']}", *shares, f"{figures['tok']:.0f}", cpu])
    return table([f"`{NQ[0]}` in `{NQ[1]}`", "ans", "sup", "tok", "CPU ms"], rows)


def measure_cost(options: argparse.Namespace) -> str:
    """Measure questions to a server of many archives."""
    archives = sorted([*ZIMS.glob("real/*.zim*"), *ZIMS.glob("built/*.zim")])
    questions = [row["q"] for row in load_questions("own", options.calls)]
    cost = search.Cost()
    with running_server(options.command, archives) as server:
        answers.call_tool(server, "zim_query", query=WARM_UP)
        wait_until_idle(server)
        for question in questions:
            cost.measure_call(server, partial(answers.call_tool, server, "zim_query", query=question))
    label = f"{len(questions)} questions over the {answers.count_archives(archives)} archives of `real` and `built`"
    return table([label, "median / 95 % ms", "CPU ms"], [["`query`", cost.latency_cell, f"{cost.mean_cpu:.0f}"]])


def wait_until_idle(server: Server) -> None:
    """Wait until a server uses no more CPU, or hardly any."""
    before = -IDLE_MILLISECONDS
    while (now := server.cpu()) - before > IDLE_MILLISECONDS:
        before = now
        time.sleep(IDLE_SECONDS)


def measure_ablation(options: argparse.Namespace) -> str:
    """Measure the rank of the passage with the answer, with each feature alone switched off."""
    archives = [Archive(path.stem, [str(path)]) for path in library_paths()]
    for archive, path in zip(archives, library_paths(), strict=True):
        if read_state(archive) is None:
            build_passage_index([str(path)], BuildPassageIndex(), lambda _done, _of: None)
    sets = {name: load_questions(name, options.ablation_n, answerable_only=True) for name in SETS}
    outcomes = [measure_shares(rows, archives, has_answer) for rows in sets.values()]
    rows = [[name, *(" / ".join(map(show, shares[name])) for shares in outcomes)] for name in outcomes[0]]
    header = (f"{name}, n = {len(questions)}" for name, questions in sets.items())
    return table([f"answer in the first {' / '.join(map(str, FIRST_PASSAGES))} passages", *header], rows)


PARTS = {
    "quality": measure_quality,
    "calibration": measure_calibration,
    "nq": measure_nq,
    "cost": measure_cost,
    "ablation": measure_ablation,
}

if __name__ == "__main__":
    answers.run_parts("people", __doc__, PARTS, COUNTS)
