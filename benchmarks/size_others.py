"""What libzim alone and kiwix-serve read of a large archive from a cold disk, for the same kinds of calls.

    python benchmarks/size_others.py ARCHIVE.zim     needs root, Linux, and kiwix-serve from kiwix-tools

A search by libzim alone is for all words of a question, as kiwix-serve's is, with ten results and no page read.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import quote, urlencode

from http_load import KIWIX, HttpServer
from libzim.reader import Archive as ZimArchive
from libzim.search import Query, Searcher
from libzim.suggestion import SuggestionSearcher
from measure import report, table
from size import Disk, calls, questions

_COUNT = 8
_RESULTS = 10
_TIMEOUT_SECONDS = 120


def measure(disk: Disk, pid: int, cpu: Callable[[], float], todo: list[Callable[[], object]]) -> list[str]:
    """Return the median and most reads of some calls, the MB, and the CPU of repeating one in milliseconds."""
    rows = []
    for call in todo:
        disk.drop(pid)
        reads, size = disk.requests()
        call()
        new_reads, new_size = disk.requests()
        before = cpu()
        call()
        rows.append((new_reads - reads, (new_size - size) / 1e6, cpu() - before))
    counts, sizes, costs = zip(*rows, strict=True)
    return [f"{statistics.median(counts):.0f}", f"{max(counts):.0f}", f"{statistics.median(sizes):.1f}",
            f"{statistics.mean(costs):.0f}"]  # fmt: skip


def libzim_calls(path: Path) -> dict[str, list[Callable[[], object]]]:
    """Return the calls of each kind by libzim alone."""
    archive = ZimArchive(path)
    searcher, suggester = Searcher(archive), SuggestionSearcher(archive)

    def search(text: str) -> Callable[[], object]:
        return lambda: list(searcher.search(Query().set_query(text)).getResults(0, _RESULTS))

    def suggest(text: str) -> Callable[[], object]:
        return lambda: list(suggester.suggest(text).getResults(0, _RESULTS))

    def read(name: str) -> Callable[[], object]:
        return lambda: bytes(archive.get_entry_by_path(name).get_item().content)

    return {
        "article by path": [read(row["path"]) for row in questions(_COUNT)],
        "search, a question": [search(text) for text in _texts("search, a question")],
        "search, a frequent word": [search(text) for text in _texts("search, a frequent word")],
        "suggest, three letters": [suggest(text) for text in _texts("suggest, three letters")],
    }


def kiwix_calls(server: HttpServer, name: str) -> dict[str, list[Callable[[], object]]]:
    """Return the calls of each kind to kiwix-serve."""

    def get(path: str, **query: str) -> Callable[[], object]:
        return lambda: _fetch(server.port, f"{path}?{urlencode(query)}")

    searches = {
        kind: [get("/search", content=name, pattern=text, pageLength=str(_RESULTS)) for text in _texts(kind)]
        for kind in ("search, a question", "search, a frequent word")
    }
    pages = [get(f"/{name}/A/{quote(row['path'])}") for row in questions(_COUNT)]
    prefixes = [get("/suggest", content=name, term=text) for text in _texts("suggest, three letters")]
    return {"article by path": pages, **searches, "suggest, three letters": prefixes}


def _fetch(port: int, path: str) -> int:
    connection = HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
    connection.request("GET", path)
    size = len(connection.getresponse().read())
    connection.close()
    return size


def _texts(kind: str) -> list[str]:
    return [arguments["query"] for _, arguments in calls(_COUNT)[kind]]


def main() -> None:
    """Measure both and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("archive", type=Path)
    path = parser.parse_args().archive
    with Disk.mounted(path) as disk:
        alone = {
            kind: measure(disk, os.getpid(), lambda: time.process_time() * 1000, todo)
            for kind, todo in libzim_calls(disk.archive).items()
        }
        with HttpServer.running([KIWIX, "--port", "{port}", str(disk.archive)]) as server:
            kiwix = {
                kind: measure(disk, server.process.pid, server.cpu, todo)
                for kind, todo in kiwix_calls(server, path.stem).items()
            }
    header = ["", "libzim: reads", "at most", "MB", "CPU ms", "kiwix-serve: reads", "at most", "MB", "CPU ms"]
    rows = [[kind, *alone[kind], *kiwix[kind]] for kind in alone]
    report("size others", " ".join(["python benchmarks/size_others.py", *sys.argv[1:]]), table(header, rows))


if __name__ == "__main__":
    main()
