"""Finding: the right article first, what a search costs, how that grows; beside openzim-mcp 3.4.0 and plain libzim."""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import scenarios
from libzim.reader import Archive as ZimArchive
from libzim.reader import set_cluster_cache_max_size
from libzim.search import Query, Searcher
from libzim.suggestion import SuggestionSearcher
from libzim.writer import Creator, Hint, Item, StringProvider
from measure import OURS, PEER_VERSION, ROOT, ZIMS, Server, peer_command, report, table
from reading import pages

from openzim_mcp.worker.search import titles
from openzim_mcp.worker.search.language import language_of
from openzim_mcp.worker.zim import Archive

EVAL = ROOT.parent / "shared" / "eval"
SMALL, MIDDLE = EVAL / "zims" / "squad_dev.zim", EVAL / "zims" / "ir_mid.zim"
WIKI = ZIMS / "built" / "wiki_real_pub.zim"
SQLITE = ZIMS / "real" / "devdocs_en_sqlite_2025-04.zim"
PYTHON = ZIMS / "built" / "devdocs_python.zim"
DICTIONARY = ZIMS / "built" / "dictionary_pub.zim"
PEER = f"openzim-mcp {PEER_VERSION}"
SERVED = ["--mode", "advanced", "{zimdir}"]
TOP = 10
NOTHING = "8301746592"
"""A word that no archive has: searching for it opens an index and reads no page."""


def by_libzim(path: str, _language: str) -> Callable[[str], str]:
    """Return libzim's own search as eval.py takes it: a query, as it is, to the list of what is found."""
    searcher = Searcher(ZimArchive(path))
    return lambda query: "\n".join(["Found:", *(f"Path: {found}" for found in _search(searcher, query))])


def by_libzim_kw(path: str, language: str) -> Callable[[str], str]:
    """Return the same for a question's content words."""
    search, keywords = by_libzim(path, language), import_module("eval").keywords
    return lambda query: search(keywords(query))


def _search(searcher: Searcher, words: str) -> list[str]:
    return list(searcher.search(Query().set_query(words)).getResults(0, TOP))


def commands() -> dict[str, list[str]]:
    """Return the servers that are compared."""
    return {"this project": [*OURS, *SERVED], PEER: [*peer_command(), *SERVED]}


def evaluate(system: list[str], questions: str, archive: str, count: int) -> dict[str, Any]:
    """Run eval.py in one mode and return its figures."""
    script = [sys.executable, str(EVAL / "eval.py"), "--env", "OPENZIM_MCP_RATE_LIMIT__ENABLED=false"]
    what = ["--dataset", questions, "--zim", archive, "--n", str(count)]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TMPDIR": folder, "PYTHONPATH": str(Path(__file__).parent)}
        done = subprocess.run(
            [*script, *what, *system], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def quality(count: int, peer_count: int) -> str:
    """Ask questions and see where the article that answers stands."""
    languages = [(f"xquad_{code}", f"xquad_{code}", "search") for code in ("de", "es", "ru", "ar", "zh")]
    english = [("squad_pub", archive, mode) for archive in ("squad_dev", "ir_mid") for mode in ("search", "search_kw")]
    counts = [count, peer_count, count]
    rows = []
    for questions, archive, mode in [*english, *languages]:
        servers = [["--server", shlex.join(command), "--modes", mode] for command in commands().values()]
        plain = ["--backend", "search:by_libzim_kw" if mode == "search_kw" else "search:by_libzim"]
        found = [evaluate(system, questions, archive, n) for system, n in zip([*servers, plain], counts, strict=True)]
        asked = "content words" if mode == "search_kw" else "questions"
        cells = [f"{figures['hit1']:.3f} / {figures['hit5']:.3f} / {figures['mrr']:.3f}" for figures in found]
        rows.append([f"`{questions}` {asked} in `{archive}`", *cells])
    systems = [f"{name}, n = {n}" for name, n in zip([*commands(), "libzim"], counts, strict=True)]
    return table(["hit@1 / hit@5 / MRR", *systems], rows)


def catalogue() -> str:
    """Count the scenarios that hold."""
    every = scenarios.load()
    outcomes = {name: scenarios.run(every, command) for name, command in commands().items()}
    outcomes["libzim"] = list(map(scenarios.ask_libzim, every))
    counts = {name: scenarios.counts(found)["all"] for name, found in outcomes.items()}
    rows = [[name, *(str(count[state]) for state in scenarios.STATES)] for name, count in counts.items()]
    return table([f"{len(every)} scenarios", *scenarios.STATES], rows)


@dataclass
class Cost:
    """What calls took, and the CPU of all processes for them, in milliseconds."""

    took: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, server: Server, call: Callable[[], object]) -> None:
        """Measure one more call."""
        before, started = server.cpu(), time.perf_counter()
        call()
        self.took.append((time.perf_counter() - started) * 1000)
        self.cpu.append(server.cpu() - before)

    def search(self, server: Server, archive: Path, query: str) -> None:
        """Search once more."""
        self.add(server, lambda: server.call("zim_search", query=query, zim_file_path=str(archive), limit=TOP))

    @property
    def mean_cpu(self) -> float:
        """The CPU of one call; the system counts in steps that only many calls even out."""
        return statistics.mean(self.cpu)

    @property
    def latency(self) -> str:
        """The median and the 95th percentile."""
        return f"{statistics.median(self.took):.0f} / {p95(self.took):.0f}"


def p95(values: list[float]) -> float:
    """Return what 95 % of the values do not exceed."""
    return sorted(values)[int(len(values) * 0.95)]


def started(command: list[str], archive: Path) -> Server:
    """Start a server over a folder, all its code loaded by a search elsewhere, the archive open but none of it read."""
    server = Server.start([part.replace("{zimdir}", str(archive.parent)) for part in command], CACHE__ENABLED="false")
    server.initialize()
    server.call("zim_search", query="coffee", zim_file_path=str(archive.with_name("warm.zim")), limit=TOP)
    server.call("zim_search", query=NOTHING, zim_file_path=str(archive), limit=TOP)
    return server


def cold(original: Path, queries: list[str], group: int) -> dict[str, Cost]:
    """Put each query to both servers in turn, new ones for each group, so that no page was read before."""
    costs = {name: Cost() for name in commands()}
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(shutil.copy(original, folder))
        shutil.copyfile(ZIMS / "built" / "se_coffee.zim", archive.with_name("warm.zim"))
        for first in range(0, len(queries), group):
            servers = {name: started(command, archive) for name, command in commands().items()}
            for query in queries[first : first + group]:
                for name, server in servers.items():
                    costs[name].search(server, archive, query)
            for server in servers.values():
                server.stop()
    return costs


def large_titles(path: Path, count: int) -> list[str]:
    """Return titles of pages over 100 KB, which searches for them must read."""
    archive = ZimArchive(path)
    large = [archive.get_entry_by_path(page).title for page, raw in pages(path) if len(raw) > 100_000]
    return random.Random(7).sample(large, min(count, len(large)))


def questions(count: int) -> list[str]:
    """Return questions about the articles that `squad_dev` and `ir_mid` share."""
    every = json.loads((EVAL / "data" / "squad_pub.json").read_text(encoding="utf-8"))["questions"]
    return [row["q"] for row in random.Random(11).sample(every, count)]


def cost(count: int, large: int) -> str:
    """Measure searches for large and for small pages."""
    asked = [(path, f"{large} titles over 100 KB", large_titles(path, large), 1) for path in (WIKI, SQLITE, PYTHON)]
    asked += [(path, f"{count} questions", questions(count), 20) for path in (SMALL, MIDDLE)]
    rows = []
    for path, label, queries, group in asked:
        ours, theirs = cold(path, queries, group).values()
        cpu = [f"{ours.mean_cpu:.0f}", f"{theirs.mean_cpu:.0f}", f"{theirs.mean_cpu / ours.mean_cpu:.1f}"]
        rows.append([f"`{path.name}`, {label}", ours.latency, theirs.latency, *cpu])
    header = [
        "this project, median / 95 % ms",
        f"{PEER}, median / 95 % ms",
        "CPU ms",
        f"CPU ms of {PEER}",
        "times less",
    ]
    return table(["cold search, 10 results", *header], rows)


class Page(Item):  # type: ignore[misc]
    """A page of an archive to be written."""

    def __init__(self, path: str, title: str, content: str) -> None:
        super().__init__()
        self.get_path = lambda: path
        self.get_title = lambda: title
        self.get_contentprovider = lambda: StringProvider(content)

    def get_mimetype(self) -> str:
        """Return the type of all pages."""
        return "text/html"

    def get_hints(self) -> dict[Hint, bool]:
        """Say that it is an article."""
        return {Hint.FRONT_ARTICLE: True}


def copies(original: Path, count: int) -> Iterator[Page]:
    """Yield the articles of an archive, then again under other names, until there are enough."""
    archive = ZimArchive(original)
    every = [(archive.get_entry_by_path(path).title, path, raw.decode()) for path, raw in pages(original)]
    for number in range(count):
        title, path, content = every[number % len(every)]
        again = number // len(every)
        yield Page(f"{again}/{path}", f"{title} {again}", content) if again else Page(path, title, content)


def enlarged(original: Path, target: Path, count: int) -> Path:
    """Write an archive of many articles."""
    set_cluster_cache_max_size(256 << 20)
    with Creator(target).config_indexing(True, "eng").config_nbworkers(4) as creator:
        creator.set_mainpath("index")
        for page in copies(original, count):
            creator.add_item(page)
        creator.add_metadata("Language", "eng")
    return target


def growth(count: int, largest: int) -> str:
    """Measure the same questions in archives of more and more articles, beside one search of libzim for all words."""
    asked = questions(count)
    english = language_of("eng", "")
    words = [" ".join(word.text for word in english.content_words(question)) for question in asked]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in (SMALL, DICTIONARY, MIDDLE, enlarged(MIDDLE, Path(folder) / "large.zim", largest)):
            ours, plain = Cost(), Cost()
            archive = ZimArchive(path)
            searcher = Searcher(archive)
            server = Server.start([*OURS, "--mode", "advanced", str(path.parent)], CACHE__ENABLED="false")
            server.initialize()
            server.call("zim_search", query=NOTHING, zim_file_path=str(path))
            for question, together in zip(asked, words, strict=True):
                ours.search(server, path, question)
                begun, cpu = time.perf_counter(), time.process_time()
                _search(searcher, together)
                plain.cpu.append((time.process_time() - cpu) * 1000)
                plain.took.append((time.perf_counter() - begun) * 1000)
            server.stop()
            costs = [ours.latency, f"{ours.mean_cpu:.1f}"]
            costs += [f"{statistics.median(plain.took):.2f} / {p95(plain.took):.2f}", f"{plain.mean_cpu:.2f}"]
            rows.append([f"`{path.name}`, {archive.article_count:,} articles", *costs])
    header = ["this project, median / 95 % ms", "CPU ms", "one AND search of libzim, median / 95 % ms", "CPU ms"]
    return table([f"{count} questions", *header], rows)


def suggesting(count: int) -> str:
    """Compare suggestions with libzim's own, in one process; each goes first as often as the other."""
    rows = []
    for path in (WIKI, DICTIONARY, MIDDLE):
        archive, plain = Archive(path.stem, [str(path)]), SuggestionSearcher(ZimArchive(path))
        systems: list[Callable[[str], Any]] = [
            lambda prefix, it=archive: titles.suggest(it, {"query": prefix, "mode": "suggest", "limit": TOP}, 0, None),
            lambda prefix, it=plain: list(it.suggest(prefix).getResults(0, TOP)),
        ]
        took: list[list[float]] = [[], []]
        for number, prefix in enumerate(prefixes(path, count)):
            for system in (0, 1) if number % 2 else (1, 0):
                begun = time.perf_counter()
                systems[system](prefix)
                took[system].append((time.perf_counter() - begun) * 1000)
        more = [ours - libzim for ours, libzim in zip(*took, strict=True)]
        cells = [f"{statistics.median(values):.2f} / {p95(values):.2f}" for values in (*took, more)]
        rows.append([f"`{path.name}`", *cells])
    return table([f"{count} prefixes, median / 95 % ms", "this project", "libzim", "more"], rows)


def prefixes(path: Path, count: int) -> list[str]:
    """Return beginnings of titles, of two letters and more."""
    archive, dice = ZimArchive(path), random.Random(13)
    numbers = dice.sample(range(archive.all_entry_count), count)
    chosen = [archive._get_entry_by_id(number).title for number in numbers]  # noqa: SLF001
    return [title[: dice.randint(2, max(2, min(12, len(title))))] for title in chosen]


def main() -> None:
    """Run all and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=500, help="questions of each set")
    parser.add_argument("--peer-n", type=int, default=150, help="questions of each set to the other server")
    parser.add_argument("--calls", type=int, default=200, help="searches of each archive with small pages")
    parser.add_argument("--large-calls", type=int, default=8, help="searches of each archive with large pages")
    parser.add_argument("--articles", type=int, default=100_000, help="articles of the largest archive")
    given = parser.parse_args()
    body = [
        quality(given.n, given.peer_n),
        catalogue(),
        cost(given.calls, given.large_calls),
        growth(given.calls, given.articles),
        suggesting(given.calls),
    ]
    report("search", " ".join(["python benchmarks/search.py", *sys.argv[1:]]), "\n\n".join(body))


if __name__ == "__main__":
    main()
