"""Typical searches and their expected results: runs scenarios.jsonl.

    python benchmarks/scenarios.py                          this project's server, through a real client
    python benchmarks/scenarios.py --server "CMD {zimdir}"  another server with the tool `zim_search`
    python benchmarks/scenarios.py --libzim                 libzim's own Searcher and SuggestionSearcher

Each line of scenarios.jsonl is one search, with the fields

    id        the kind and a number
    kind      the kind of search: exact_title, typo, question, …
    archive   the file to search, relative to ../shared/zims; a list of files is searched in one call
    mode      fulltext, title or suggest
    query     the text of the search
    expect    paths, or "file name:path", of which one must be in the first results; [] if nothing may be found
    within    the number of first results: 1, 3 or 10
    why       the reason for the expectation
    absent    (optional) paths that must not be in the first results
    corrected (optional) true if the result must report a corrected word
    relaxed   (optional) true if the result must report words that were left out
    open      (optional) the reason why this fails today; remove it when the scenario passes

A redirect to a path counts as that path. Other servers are judged by their results only, not by what they report.
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

SCENARIOS = Path(__file__).parent / "scenarios.jsonl"
COMMAND = [*OURS, "--mode", "advanced", "{zimdir}"]
STATES = {"passed": "passed", "failed": "failed", "open": "known to fail"}
REPORTS, MAX_RESULTS = {"corrected", "relaxed"}, 10


@dataclass(frozen=True)
class Scenario:
    """A line of scenarios.jsonl."""

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
        """The files to search."""
        return [self.archive] if isinstance(self.archive, str) else self.archive

    def result_name(self, archive: str, path: str) -> str:
        """Return a result in the form of `expect`, with redirects followed."""
        with contextlib.suppress(KeyError, RuntimeError):
            path = open_archive(archive).get_entry_by_path(path).get_item().path
        return path if isinstance(self.archive, str) else f"{Path(archive).name}:{path}"


@dataclass(frozen=True)
class Outcome:
    """The results of a search, best first, the fields of the response, and the error if it failed."""

    scenario: Scenario
    results: list[str]
    fields: frozenset[str] = frozenset()
    error: str | None = None
    is_ours: bool = False

    @property
    def is_expected(self) -> bool:
        """Whether the expected result is among the first ones, and nothing unexpected is."""
        scenario, top = self.scenario, self.results[: self.scenario.within]
        is_found = not set(top).isdisjoint(scenario.expect) if scenario.expect else not self.results
        reports = {name for name in REPORTS if getattr(scenario, name) and self.is_ours}
        return is_found and set(top).isdisjoint(scenario.absent) and reports <= self.fields and not self.error

    @property
    def state(self) -> str:
        """Return passed, failed or open; an open scenario that passes is a failure."""
        if self.scenario.open and self.is_ours:
            return "failed" if self.is_expected else "open"
        return "passed" if self.is_expected else "failed"

    def __str__(self) -> str:
        scenario, note = self.scenario, " passes, though marked open" if self.is_expected else ""
        search = f"{scenario.id}{note}: {scenario.query[:100]!r} ({scenario.mode}, {', '.join(scenario.archives)})"
        expected = f"  expected within {scenario.within}: {scenario.expect[:5]}, absent: {list(scenario.absent)}"
        return f"{search}\n{expected}\n  got: {self.error or self.results[:5]}, fields {sorted(self.fields & REPORTS)}"


@cache
def open_archive(archive: str) -> Archive:
    """Open an archive of ../shared/zims; libzim opens a split archive by its name without the suffix."""
    return Archive(ZIMS / archive)


def load_scenarios() -> list[Scenario]:
    """Read scenarios.jsonl."""
    return [Scenario(**json.loads(line)) for line in SCENARIOS.read_text(encoding="utf-8").splitlines()]


def search_with_libzim(scenario: Scenario) -> Outcome:
    """Search with libzim alone; results of several archives are interleaved."""
    lists = []
    for name in scenario.archives:
        archive, paths = open_archive(name), []
        with contextlib.suppress(RuntimeError):
            if scenario.mode == "fulltext":
                paths = list(Searcher(archive).search(Query().set_query(scenario.query)).getResults(0, MAX_RESULTS))
            else:
                paths = list(SuggestionSearcher(archive).suggest(scenario.query).getResults(0, MAX_RESULTS))
        lists.append([scenario.result_name(name, path) for path in paths])
    merged = [path for row in zip_longest(*lists) for path in row if path is not None]
    return Outcome(scenario, list(dict.fromkeys(merged)))


def search_with_server(server: Server, scenario: Scenario, *, is_ours: bool) -> Outcome:
    """Search with a server's tool; some servers group the results of several archives by file."""
    files = {Path(name).name: name for name in scenario.archives}
    archive = {"zim_file_path": next(iter(files))} if isinstance(scenario.archive, str) else {"cross_file": True}
    try:
        result = server.call("zim_search", query=scenario.query, mode=scenario.mode, limit=MAX_RESULTS, **archive)
    except (RuntimeError, OSError) as error:
        return Outcome(scenario, [], error=str(error), is_ours=is_ours)
    payload: dict[str, Any] = result.get("structuredContent") or json.loads(result["content"][0]["text"])
    paths = []
    for row in payload.get("results") or payload.get("suggestions") or []:
        name = files.get(row.get("archive") or row.get("name"), scenario.archives[0])
        rows = row["result"]["results"] if "result" in row else [row]
        paths += [scenario.result_name(name, hit["path"]) for hit in rows]
    return Outcome(scenario, list(dict.fromkeys(paths)), frozenset(payload), is_ours=is_ours)


def run_on_server(command: list[str], scenarios: list[Scenario]) -> list[Outcome]:
    """Run scenarios on one server process that serves copies of their archives."""
    with tempfile.TemporaryDirectory() as folder:
        for name in {name for scenario in scenarios for name in scenario.archives}:
            for part in (ZIMS / name).parent.glob(f"{Path(name).name}*"):
                shutil.copyfile(part, Path(folder) / part.name)
        server = Server.start([argument.replace("{zimdir}", folder) for argument in command])
        try:
            server.initialize()
            return [search_with_server(server, scenario, is_ours=command == COMMAND) for scenario in scenarios]
        finally:
            server.stop()


def run_scenarios(scenarios: list[Scenario], command: list[str] = COMMAND) -> list[Outcome]:
    """Run scenarios: one server process for all single archives, and one for each set of archives."""
    groups: dict[tuple[str, ...], list[Scenario]] = {}
    for scenario in scenarios:
        groups.setdefault(() if isinstance(scenario.archive, str) else tuple(scenario.archive), []).append(scenario)
    return [outcome for group in groups.values() for outcome in run_on_server(command, group)]


def count_states(outcomes: list[Outcome]) -> dict[str, Counter[str]]:
    """Count the passed, failed and open scenarios, by kind and in total."""
    kinds = sorted({outcome.scenario.kind for outcome in outcomes})
    by_kind = {kind: Counter(outcome.state for outcome in outcomes if outcome.scenario.kind == kind) for kind in kinds}
    return by_kind | {"all": Counter(outcome.state for outcome in outcomes)}


def main() -> int:
    """Run all scenarios, print counts by kind and each failure; the exit code is 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", default=shlex.join(COMMAND), help='another server\'s command, as "CMD {zimdir}"')
    parser.add_argument("--libzim", action="store_true", help="search with libzim alone")
    options = parser.parse_args()
    outcomes = (
        list(map(search_with_libzim, load_scenarios()))
        if options.libzim
        else run_scenarios(load_scenarios(), shlex.split(options.server))
    )
    rows = [[kind, *(str(count[state]) for state in STATES)] for kind, count in count_states(outcomes).items()]
    failed = [outcome for outcome in outcomes if outcome.state == "failed"]
    print(table(["kind", *STATES.values()], rows), *failed, sep="\n\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
