"""Search: quality, latency, CPU, and growth with the archive; compared with openzim-mcp from PyPI and plain libzim."""

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

from openzim_mcp.calls.search import SuggestTitles
from openzim_mcp.worker.search import titles
from openzim_mcp.worker.search.language import detect_language
from openzim_mcp.worker.zim import Archive

EVAL = ROOT.parent / "shared" / "eval"
SMALL, MIDDLE = EVAL / "zims" / "squad_dev.zim", EVAL / "zims" / "ir_mid.zim"
WIKI = ZIMS / "built" / "wiki_real_pub.zim"
SQLITE = ZIMS / "real" / "devdocs_en_sqlite_2025-04.zim"
PYTHON = ZIMS / "built" / "devdocs_python.zim"
DICTIONARY = ZIMS / "built" / "dictionary_pub.zim"
PEER = f"openzim-mcp {PEER_VERSION}"
SERVER_ARGUMENTS = ["--mode", "advanced", "{zimdir}"]
MAX_RESULTS = 10
ABSENT_WORD = "8301746592"
"""A word that no archive contains: searching for it opens the index and reads no page."""


def by_libzim(path: str, _language: str) -> Callable[[str], str]:
    """Return libzim's own search as a backend of eval.py: from a query to a list of paths."""
    searcher = Searcher(ZimArchive(path))
    return lambda query: "\n".join(["Found:", *(f"Path: {path}" for path in _search(searcher, query))])


def by_libzim_kw(path: str, language: str) -> Callable[[str], str]:
    """Return libzim's own search for the content words of a question, as a backend of eval.py."""
    search, keywords = by_libzim(path, language), import_module("eval").keywords
    return lambda query: search(keywords(query))


def _search(searcher: Searcher, words: str) -> list[str]:
    return list(searcher.search(Query().set_query(words)).getResults(0, MAX_RESULTS))


def server_commands() -> dict[str, list[str]]:
    """Return the servers to compare."""
    return {"this project": [*OURS, *SERVER_ARGUMENTS], PEER: [*peer_command(), *SERVER_ARGUMENTS]}


def evaluate(system: list[str], questions: str, archive: str, count: int) -> dict[str, Any]:
    """Run eval.py in one mode and return its results."""
    script = [sys.executable, str(EVAL / "eval.py"), "--env", "OPENZIM_MCP_RATE_LIMIT__ENABLED=false"]
    dataset = ["--dataset", questions, "--zim", archive, "--n", str(count)]
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"TMPDIR": folder, "PYTHONPATH": str(Path(__file__).parent)}
        done = subprocess.run(
            [*script, *dataset, *system], env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        )
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures


def measure_quality(count: int, peer_count: int) -> str:
    """Measure the rank of the article that answers a question."""
    languages = [(f"xquad_{code}", f"xquad_{code}", "search") for code in ("de", "es", "ru", "ar", "zh")]
    english = [("squad_pub", archive, mode) for archive in ("squad_dev", "ir_mid") for mode in ("search", "search_kw")]
    counts = [count, peer_count, count]
    rows = []
    for questions, archive, mode in [*english, *languages]:
        servers = [["--server", shlex.join(command), "--modes", mode] for command in server_commands().values()]
        plain = ["--backend", "search:by_libzim_kw" if mode == "search_kw" else "search:by_libzim"]
        results = [evaluate(system, questions, archive, n) for system, n in zip([*servers, plain], counts, strict=True)]
        kind = "content words" if mode == "search_kw" else "questions"
        cells = [f"{figures['hit1']:.3f} / {figures['hit5']:.3f} / {figures['mrr']:.3f}" for figures in results]
        rows.append([f"`{questions}` {kind} in `{archive}`", *cells])
    systems = [f"{name}, n = {n}" for name, n in zip([*server_commands(), "libzim"], counts, strict=True)]
    return table(["hit@1 / hit@5 / MRR", *systems], rows)


def count_scenarios() -> str:
    """Count the scenarios that pass."""
    all_scenarios = scenarios.load_scenarios()
    outcomes = {name: scenarios.run_scenarios(all_scenarios, command) for name, command in server_commands().items()}
    outcomes["libzim"] = list(map(scenarios.search_with_libzim, all_scenarios))
    counts = {name: scenarios.count_states(results)["all"] for name, results in outcomes.items()}
    rows = [[name, *(str(count[state]) for state in scenarios.STATES)] for name, count in counts.items()]
    return table([f"{len(all_scenarios)} scenarios", *scenarios.STATES.values()], rows)


@dataclass
class Cost:
    """Latency and CPU of calls, in milliseconds."""

    latencies: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def measure_call(self, server: Server, call: Callable[[], object]) -> None:
        """Measure one more call."""
        before, started = server.cpu(), time.perf_counter()
        call()
        self.latencies.append((time.perf_counter() - started) * 1000)
        self.cpu.append(server.cpu() - before)

    def measure_search(self, server: Server, archive: Path, query: str) -> None:
        """Measure one more search."""
        self.measure_call(
            server, lambda: server.call("zim_search", query=query, zim_file_path=str(archive), limit=MAX_RESULTS)
        )

    @property
    def mean_cpu(self) -> float:
        """The mean CPU per call: the system counts in steps of 10 ms, too coarse for one call."""
        return statistics.mean(self.cpu)

    @property
    def latency_cell(self) -> str:
        """The median and the 95th percentile, for a table."""
        return f"{statistics.median(self.latencies):.0f} / {p95(self.latencies):.0f}"


def p95(values: list[float]) -> float:
    """Return the 95th percentile."""
    return sorted(values)[int(len(values) * 0.95)]


def start_warm_server(command: list[str], archive: Path) -> Server:
    """Start a server with its code loaded by a search in another archive, and the archive open but not read."""
    server = Server.start([part.replace("{zimdir}", str(archive.parent)) for part in command], CACHE__ENABLED="false")
    server.initialize()
    server.call("zim_search", query="coffee", zim_file_path=str(archive.with_name("warm.zim")), limit=MAX_RESULTS)
    server.call("zim_search", query=ABSENT_WORD, zim_file_path=str(archive), limit=MAX_RESULTS)
    return server


def measure_cold_searches(original: Path, queries: list[str], group: int) -> dict[str, Cost]:
    """Send each query to both servers in turn; new servers for each group of queries have read no page before."""
    costs = {name: Cost() for name in server_commands()}
    with tempfile.TemporaryDirectory() as folder:
        archive = Path(shutil.copy(original, folder))
        shutil.copyfile(ZIMS / "built" / "se_coffee.zim", archive.with_name("warm.zim"))
        for first in range(0, len(queries), group):
            servers = {name: start_warm_server(command, archive) for name, command in server_commands().items()}
            for query in queries[first : first + group]:
                for name, server in servers.items():
                    costs[name].measure_search(server, archive, query)
            for server in servers.values():
                server.stop()
    return costs


def large_titles(path: Path, count: int) -> list[str]:
    """Return titles of pages over 100 KB; a search for them reads the page."""
    archive = ZimArchive(path)
    large = [archive.get_entry_by_path(page).title for page, raw in pages(path) if len(raw) > 100_000]
    return random.Random(7).sample(large, min(count, len(large)))


def sample_questions(count: int) -> list[str]:
    """Return questions about articles that are in both `squad_dev` and `ir_mid`."""
    rows = json.loads((EVAL / "data" / "squad_pub.json").read_text(encoding="utf-8"))["questions"]
    return [row["q"] for row in random.Random(11).sample(rows, count)]


def measure_cost(count: int, large: int) -> str:
    """Measure searches for large and for small pages."""
    searches = [(path, f"{large} titles over 100 KB", large_titles(path, large), 1) for path in (WIKI, SQLITE, PYTHON)]
    searches += [(path, f"{count} questions", sample_questions(count), 20) for path in (SMALL, MIDDLE)]
    rows = []
    for path, label, queries, group in searches:
        ours, theirs = measure_cold_searches(path, queries, group).values()
        cpu = [f"{ours.mean_cpu:.0f}", f"{theirs.mean_cpu:.0f}", f"{theirs.mean_cpu / ours.mean_cpu:.1f}"]
        rows.append([f"`{path.name}`, {label}", ours.latency_cell, theirs.latency_cell, *cpu])
    header = [
        "this project, median / 95 % ms",
        f"{PEER}, median / 95 % ms",
        "CPU ms",
        f"CPU ms of {PEER}",
        "times less",
    ]
    return table(["cold search, 10 results", *header], rows)


class Page(Item):  # type: ignore[misc]
    """A page of an archive to write."""

    def __init__(self, path: str, title: str, content: str) -> None:
        super().__init__()
        self.get_path = lambda: path
        self.get_title = lambda: title
        self.get_contentprovider = lambda: StringProvider(content)

    def get_mimetype(self) -> str:
        """Return the MIME type, the same for all pages."""
        return "text/html"

    def get_hints(self) -> dict[Hint, bool]:
        """Mark it as an article."""
        return {Hint.FRONT_ARTICLE: True}


def repeat_articles(original: Path, count: int) -> Iterator[Page]:
    """Yield the articles of an archive, again and again under new names, up to a count."""
    archive = ZimArchive(original)
    articles = [(archive.get_entry_by_path(path).title, path, raw.decode()) for path, raw in pages(original)]
    for number in range(count):
        title, path, content = articles[number % len(articles)]
        copy = number // len(articles)
        yield Page(f"{copy}/{path}", f"{title} {copy}", content) if copy else Page(path, title, content)


def write_enlarged(original: Path, target: Path, count: int) -> Path:
    """Write an archive with the articles of another one, repeated up to a count."""
    set_cluster_cache_max_size(256 << 20)
    with Creator(target).config_indexing(True, "eng").config_nbworkers(4) as creator:
        creator.set_mainpath("index")
        for page in repeat_articles(original, count):
            creator.add_item(page)
        creator.add_metadata("Language", "eng")
    return target


def measure_growth(count: int, largest: int) -> str:
    """Measure the same questions in ever larger archives, compared with one libzim search for all words."""
    questions = sample_questions(count)
    english = detect_language("eng", "")
    words = [" ".join(word.text for word in english.content_words(question)) for question in questions]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in (SMALL, DICTIONARY, MIDDLE, write_enlarged(MIDDLE, Path(folder) / "large.zim", largest)):
            ours, plain = Cost(), Cost()
            archive = ZimArchive(path)
            searcher = Searcher(archive)
            server = Server.start([*OURS, "--mode", "advanced", str(path.parent)], CACHE__ENABLED="false")
            server.initialize()
            server.call("zim_search", query=ABSENT_WORD, zim_file_path=str(path))
            for question, keywords in zip(questions, words, strict=True):
                ours.measure_search(server, path, question)
                started, cpu = time.perf_counter(), time.process_time()
                _search(searcher, keywords)
                plain.cpu.append((time.process_time() - cpu) * 1000)
                plain.latencies.append((time.perf_counter() - started) * 1000)
            server.stop()
            costs = [ours.latency_cell, f"{ours.mean_cpu:.1f}"]
            costs += [f"{statistics.median(plain.latencies):.2f} / {p95(plain.latencies):.2f}", f"{plain.mean_cpu:.2f}"]
            rows.append([f"`{path.name}`, {archive.article_count:,} articles", *costs])
    header = ["this project, median / 95 % ms", "CPU ms", "one AND search of libzim, median / 95 % ms", "CPU ms"]
    return table([f"{count} questions", *header], rows)


def compare_suggestions(count: int) -> str:
    """Compare suggestions with libzim's own, in one process; the two alternate in going first."""
    rows = []
    for path in (WIKI, DICTIONARY, MIDDLE):
        archive, plain = Archive(path.stem, [str(path)]), SuggestionSearcher(ZimArchive(path))
        times: list[list[float]] = [[], []]
        for number, prefix in enumerate(sample_prefixes(path, count)):
            for system in (0, 1) if number % 2 else (1, 0):
                started = time.perf_counter()
                if system == 0:
                    titles.suggest_titles(archive, SuggestTitles(prefix, 0, MAX_RESULTS))
                else:
                    list(plain.suggest(prefix).getResults(0, MAX_RESULTS))
                times[system].append((time.perf_counter() - started) * 1000)
        differences = [ours - libzim for ours, libzim in zip(*times, strict=True)]
        cells = [f"{statistics.median(values):.2f} / {p95(values):.2f}" for values in (*times, differences)]
        rows.append([f"`{path.name}`", *cells])
    return table([f"{count} prefixes, median / 95 % ms", "this project", "libzim", "difference"], rows)


def sample_prefixes(path: Path, count: int) -> list[str]:
    """Return prefixes of random titles, of 2 to 12 characters."""
    archive, generator = ZimArchive(path), random.Random(13)
    numbers = generator.sample(range(archive.all_entry_count), count)
    titles_of_entries = [archive._get_entry_by_id(number).title for number in numbers]  # noqa: SLF001
    return [title[: generator.randint(2, max(2, min(12, len(title))))] for title in titles_of_entries]


def main() -> None:
    """Measure everything and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=500, help="questions per set")
    parser.add_argument("--peer-n", type=int, default=150, help="questions per set for the other server")
    parser.add_argument("--calls", type=int, default=200, help="searches per archive with small pages")
    parser.add_argument("--large-calls", type=int, default=8, help="searches per archive with large pages")
    parser.add_argument("--articles", type=int, default=100_000, help="articles in the largest archive")
    options = parser.parse_args()
    body = [
        measure_quality(options.n, options.peer_n),
        count_scenarios(),
        measure_cost(options.calls, options.large_calls),
        measure_growth(options.calls, options.articles),
        compare_suggestions(options.calls),
    ]
    report("search", " ".join(["python benchmarks/search.py", *sys.argv[1:]]), "\n\n".join(body))


if __name__ == "__main__":
    main()
