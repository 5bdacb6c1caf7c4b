"""What a library of many archives costs: start, list, question, search of all archives, memory.

    python benchmarks/many_archives.py                       10, 100 and 1,000 archives, into RESULTS.md
    python benchmarks/many_archives.py --print 10 1000       these numbers of archives, printed
    python benchmarks/many_archives.py --label before …      names the version in the table

Archives of 32 articles each are made of `ir_mid.zim` in `../shared`, read at run time, and kept in the cache directory
(`--archives` names another one) for the next run: libzim takes minutes to write a thousand. The questions are those of
Natural Questions about these articles: `answered` is the share of replies with the answer. Results are not cached by
the server; the records of archives that it keeps on disk are its own (a cache directory for each run). CPU and memory
are of all processes of the server; memory is what they use alone plus their share of what they share (PSS). After each
question the server may finish what it prepares in the background, which is not counted.

The first question and the first list come right after the start, when nothing is known of the archives; `list` is
measured once more after a restart.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from libzim.writer import Creator
from measure import OURS, ROOT, Server, process_tree, report, table
from reading import pages
from search import Page

EVAL = ROOT.parent / "shared" / "eval"
SOURCE = EVAL / "zims" / "ir_mid.zim"
QUESTIONS = EVAL / "data" / "nq_pub.json"
ARTICLES_PER_ARCHIVE = 32
COUNTS = (10, 100, 1000)
SETTLE_SECONDS, SETTLED_MILLISECONDS = 0.7, 20.0
MAX_SETTLE_SECONDS = 300.0


def write_archives(folder: Path, count: int) -> None:
    """Write the archives that are not there yet, each of articles that lie beside each other in the source."""
    folder.mkdir(parents=True, exist_ok=True)
    missing = [number for number in range(count) if not archive_path(folder, number).exists()]
    sources = list(pages(SOURCE)) if missing else []
    for number in missing:
        start = number * ARTICLES_PER_ARCHIVE % len(sources)
        path = archive_path(folder, number)
        partial = path.with_suffix(".partial")
        with Creator(partial).config_indexing(True, "eng").config_nbworkers(1) as creator:
            creator.set_mainpath(sources[start][0])
            for page_path, content in sources[start : start + ARTICLES_PER_ARCHIVE]:
                creator.add_item(Page(page_path, page_path.replace("_", " "), content.decode(errors="replace")))
            for key, value in {"Language": "eng", "Title": f"Notes {number}", "Name": path.stem}.items():
                creator.add_metadata(key, value)
        partial.rename(path)


def archive_path(folder: Path, number: int) -> Path:
    """Return where an archive is kept."""
    return folder / f"notes_{number:04}.zim"


def load_questions(count: int) -> list[dict[str, Any]]:
    """Return some questions about the articles."""
    rows = json.loads(QUESTIONS.read_text(encoding="utf-8"))["questions"]
    sampled: list[dict[str, Any]] = random.Random(11).sample(rows, count)
    return sampled


@dataclass
class Costs:
    """CPU and wall milliseconds of some calls."""

    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)

    def measure(self, server: Server, call: Callable[[], Any]) -> Any:
        """Make a call and add what it costs."""
        cpu, started = server.cpu(), time.perf_counter()
        result = call()
        self.wall.append((time.perf_counter() - started) * 1000)
        self.cpu.append(server.cpu() - cpu)
        return result

    @property
    def cell(self) -> str:
        """The median CPU and wall, and the largest CPU if there are several."""
        largest = f" (at most {max(self.cpu):.0f})" if len(self.cpu) > 1 else ""
        return f"{statistics.median(self.cpu):.0f}{largest} / {statistics.median(self.wall):.0f}"


@contextlib.contextmanager
def served(archives: list[Path], cache: str) -> Iterator[Server]:
    """Run a server on some archives, with a cache directory of its own."""
    with tempfile.TemporaryDirectory() as folder:
        for path in archives:
            (Path(folder) / path.name).hardlink_to(path)
        os.environ["XDG_CACHE_HOME"] = cache
        server = Server.start([*OURS, "--mode", "advanced", folder], CACHE__ENABLED="false")
        try:
            yield server
        finally:
            server.stop()


def proportional_memory(server: Server) -> float:
    """Return the memory of all processes, with their share of what they share, in MiB."""
    total = 0
    for pid in process_tree(server.process.pid):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1])
    return total / 1024


def settle(server: Server) -> float:
    """Wait until a server has prepared what it wants to, and return the CPU milliseconds of that."""
    start, until = server.cpu(), time.monotonic() + MAX_SETTLE_SECONDS
    before = -SETTLED_MILLISECONDS
    while (now := server.cpu()) - before > SETTLED_MILLISECONDS and time.monotonic() < until:
        before = now
        time.sleep(SETTLE_SECONDS)
    return server.cpu() - start


def ask(server: Server, question: str) -> str:
    """Return the text of an answer."""
    return text_of(server.call("zim_query", query=question))


def text_of(result: dict[str, Any]) -> str:
    """Return the text of a result."""
    return "\n".join(block.get("text", "") for block in result["content"])


def measure_library(archives: list[Path], count: int) -> dict[str, str]:
    """Return the figures of a server of some archives."""
    rows: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as cache:
        with served(archives, cache) as server:
            rows |= _measure_start(server)
            rows |= _measure_questions(server, load_questions(count))
        with served(archives, cache) as server:
            server.initialize()
            rows["list after a restart"] = _cost_of_list(server)
    return rows


def _measure_start(server: Server) -> dict[str, str]:
    """Measure what comes before the first question."""
    initialized = server.initialize()
    rows = {"start, CPU / wall ms": f"{server.cpu():.0f} / {initialized:.0f}"}
    rows["first list"] = _cost_of_list(server)
    return rows


def _cost_of_list(server: Server) -> str:
    costs = Costs()
    costs.measure(server, lambda: server.call("zim_health"))
    return costs.cell


def _measure_questions(server: Server, questions: list[dict[str, Any]]) -> dict[str, str]:
    first, warm, search = Costs(), Costs(), Costs()
    first.measure(server, lambda: ask(server, "who invented the telephone"))
    rows = {"first question": first.cell, "prepared after it, CPU s": f"{settle(server) / 1000:.1f}"}
    memory = [proportional_memory(server)]
    answered = 0
    for row in questions:
        text = warm.measure(server, lambda row=row: ask(server, row["q"])).lower()  # type: ignore[misc]
        answered += any(answer.lower() in text for answer in row["answers"])
        settle(server)
    sizes = []
    for row in questions[: len(questions) // 2]:
        call = {"query": row["q"], "cross_file": True}
        sizes.append(len(text_of(search.measure(server, lambda call=call: server.call("zim_search", **call)))))  # type: ignore[misc]
    memory.append(proportional_memory(server))
    return rows | {
        "question": warm.cell,
        "search of all archives": search.cell,
        "KB of a search": f"{statistics.median(sizes) / 1000:.0f}",
        "MB of memory, before / after": " / ".join(f"{value:.0f}" for value in memory),
        "answered": f"{answered / len(questions):.2f} of {len(questions)}",
    }


def main() -> None:
    """Build what is missing and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("counts", nargs="*", type=int, default=list(COUNTS))
    parser.add_argument("--archives", type=Path, default=Path.home() / ".cache" / "openzim-mcp-benchmarks" / "many")
    parser.add_argument("--questions", type=int, default=20)
    parser.add_argument("--label", default="")
    parser.add_argument("--print", action="store_true", help="print the table only")
    options = parser.parse_args()
    write_archives(options.archives, max(options.counts))
    archives = sorted(options.archives.glob("*.zim"))
    columns = {count: measure_library(archives[:count], options.questions) for count in options.counts}
    header = [options.label or "CPU / wall ms", *(f"{count:,} archives" for count in options.counts)]
    body = table(header, [[name, *(columns[n][name] for n in options.counts)] for name in columns[options.counts[0]]])
    if options.print:
        print(body)
    else:
        report("many-archives", " ".join(["python benchmarks/many_archives.py", *sys.argv[1:]]), body)


if __name__ == "__main__":
    main()
