"""Searches a person would make, and what should be found: the runner of scenarios.jsonl.

    python benchmarks/scenarios.py                          this project's server, through a real client
    python benchmarks/scenarios.py --server "CMD {zimdir}"  another server that has the tool `zim_search`
    python benchmarks/scenarios.py --libzim                 libzim's own Searcher and SuggestionSearcher

A line of the catalogue is one search, with the fields

    id        its name: the kind and a number
    kind      what it is an example of: exact_title, typo, question, …
    archive   the file searched, relative to ../shared/zims; a list of files is searched in one call
    mode      fulltext, title or suggest
    query     what is typed
    expect    paths, or "file name:path", of which any one must be within the top; [] if nothing may be found
    within    how many results the top has: 1, 3 or 10
    why       what the person expects, and why
    absent    (optional) paths that must not be within the top
    corrected (optional) true if the answer must say that a word was read as another one
    relaxed   (optional) true if the answer must say that words were left out
    open      (optional) why this fails today; the mark must go when it does not any more

A path counts as found by any redirect that leads to it. Other servers are judged by what they find alone.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import Any

from libzim.reader import Archive
from libzim.search import Query, Searcher
from libzim.suggestion import SuggestionSearcher
from measure import OURS, ZIMS, Server, table

CATALOGUE = Path(__file__).parent / "scenarios.jsonl"
COMMAND = [*OURS, "--mode", "advanced", "{zimdir}"]
STATES, TOLD, TOP = ["passed", "failed", "open"], {"corrected", "relaxed"}, 10


@dataclass(frozen=True)
class Scenario:
    """A line of the catalogue."""

    id: str
    kind: str
    archive: str | list[str]
    mode: str
    query: str
    expect: list[str]
    within: int
    why: str
    absent: tuple[str, ...] = ()
    corrected: bool = False
    relaxed: bool = False
    open: str | None = None

    @property
    def archives(self) -> list[str]:
        """The files it searches."""
        return [self.archive] if isinstance(self.archive, str) else self.archive

    def named(self, archive: str, path: str) -> str:
        """Return a result as `expect` names it: the article that its path leads to."""
        with contextlib.suppress(KeyError, RuntimeError):
            path = opened(archive).get_entry_by_path(path).get_item().path
        return path if isinstance(self.archive, str) else f"{Path(archive).name}:{path}"


@dataclass(frozen=True)
class Outcome:
    """What a search found, best first, what the answer says of the query, and why it failed if it did."""

    scenario: Scenario
    found: list[str]
    says: frozenset[str] = frozenset()
    error: str | None = None
    is_ours: bool = False

    @property
    def holds(self) -> bool:
        """Whether the person finds what they look for."""
        wanted, top = self.scenario, self.found[: self.scenario.within]
        is_there = not set(top).isdisjoint(wanted.expect) if wanted.expect else not self.found
        told = {name for name in TOLD if getattr(wanted, name) and self.is_ours}
        return is_there and set(top).isdisjoint(wanted.absent) and told <= self.says and not self.error

    @property
    def state(self) -> str:
        """Return passed, failed or open; a mark that is no longer true is a failure."""
        if self.scenario.open and self.is_ours:
            return "failed" if self.holds else "open"
        return "passed" if self.holds else "failed"

    def __str__(self) -> str:
        wanted, note = self.scenario, " passes, though marked open" if self.holds else ""
        asked = f"{wanted.id}{note}: {wanted.query[:100]!r} ({wanted.mode}, {', '.join(wanted.archives)})"
        expected = f"  expected within {wanted.within}: {wanted.expect[:5]}, absent: {list(wanted.absent)}"
        return f"{asked}\n{expected}\n  got: {self.error or self.found[:5]}, saying {sorted(self.says & TOLD)}"


@cache
def opened(archive: str) -> Archive:
    """Open a file of the catalogue; a name without a file is that of a split archive."""
    return Archive(ZIMS / archive)


def load() -> list[Scenario]:
    """Read the catalogue."""
    return [Scenario(**json.loads(line)) for line in CATALOGUE.read_text(encoding="utf-8").splitlines()]


def ask_libzim(scenario: Scenario) -> Outcome:
    """Search with libzim alone; in several archives, with the best of each in turn."""
    lists = []
    for name in scenario.archives:
        archive, found = opened(name), []
        with contextlib.suppress(RuntimeError):
            if scenario.mode == "fulltext":
                found = list(Searcher(archive).search(Query().set_query(scenario.query)).getResults(0, TOP))
            else:
                found = list(SuggestionSearcher(archive).suggest(scenario.query).getResults(0, TOP))
        lists.append([scenario.named(name, path) for path in found])
    merged = [path for row in zip_longest(*lists) for path in row if path is not None]
    return Outcome(scenario, list(dict.fromkeys(merged)))


def ask_server(server: Server, scenario: Scenario, *, is_ours: bool) -> Outcome:
    """Search through a server's tool; some servers group the results of several archives by file."""
    files = {Path(name).name: name for name in scenario.archives}
    where = {"zim_file_path": next(iter(files))} if isinstance(scenario.archive, str) else {"cross_file": True}
    try:
        result = server.call("zim_search", query=scenario.query, mode=scenario.mode, limit=TOP, **where)
    except (RuntimeError, OSError) as error:
        return Outcome(scenario, [], error=str(error), is_ours=is_ours)
    payload: dict[str, Any] = result.get("structuredContent") or json.loads(result["content"][0]["text"])
    found = []
    for row in payload.get("results") or payload.get("suggestions") or []:
        name = files.get(row.get("archive") or row.get("name"), scenario.archives[0])
        rows = row["result"]["results"] if "result" in row else [row]
        found += [scenario.named(name, one["path"]) for one in rows]
    return Outcome(scenario, list(dict.fromkeys(found)), frozenset(payload), is_ours=is_ours)


def serve(command: list[str], scenarios: list[Scenario]) -> list[Outcome]:
    """Put scenarios to one server over copies of their archives."""
    with tempfile.TemporaryDirectory() as folder:
        for name in {name for scenario in scenarios for name in scenario.archives}:
            for part in (ZIMS / name).parent.glob(f"{Path(name).name}*"):
                shutil.copyfile(part, Path(folder) / part.name)
        server = Server.start([argument.replace("{zimdir}", folder) for argument in command])
        try:
            server.initialize()
            return [ask_server(server, scenario, is_ours=command == COMMAND) for scenario in scenarios]
        finally:
            server.stop()


def run(scenarios: list[Scenario], command: list[str] = COMMAND) -> list[Outcome]:
    """Put scenarios to a server: those of one archive to one process, each set of archives to one of its own."""
    groups: dict[tuple[str, ...], list[Scenario]] = {}
    for scenario in scenarios:
        groups.setdefault(() if isinstance(scenario.archive, str) else tuple(scenario.archive), []).append(scenario)
    return [outcome for group in groups.values() for outcome in serve(command, group)]


def counts(outcomes: list[Outcome]) -> dict[str, Counter[str]]:
    """Return by kind, and for all, how many passed, failed and are open."""
    kinds = sorted({outcome.scenario.kind for outcome in outcomes})
    of_each = {kind: Counter(one.state for one in outcomes if one.scenario.kind == kind) for kind in kinds}
    return of_each | {"all": Counter(one.state for one in outcomes)}


def main() -> int:
    """Run the catalogue, print what holds by kind and what does not, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=shlex.join(COMMAND), help='another server\'s command, as "CMD {zimdir}"')
    parser.add_argument("--libzim", action="store_true", help="search with libzim alone")
    given = parser.parse_args()
    outcomes = list(map(ask_libzim, load())) if given.libzim else run(load(), shlex.split(given.server))
    rows = [[kind, *(str(count[state]) for state in STATES)] for kind, count in counts(outcomes).items()]
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    print(table(["kind", *STATES], rows), *failed, sep="\n\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
