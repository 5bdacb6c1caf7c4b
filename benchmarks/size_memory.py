"""What the processes of a server take of an archive with very many entries, call after call.

    python benchmarks/size_memory.py build OUT.zim ENTRIES    short articles, each with 19 redirects; no index
    python benchmarks/size_memory.py measure ARCHIVE.zim …    memory after so many calls; into RESULTS.md

The calls read entries anywhere in the archive: by path, by title and with typos, by three letters, page by page, and as
a question. Memory is what no file holds (anonymous, and swapped), of the server and its workers; jobs are switched off.
"""

from __future__ import annotations

import contextlib
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from libzim.reader import Archive as ZimArchive
from libzim.writer import Creator, Hint
from measure import OURS, Server, process_tree, report, table
from search import Page

REDIRECTS = 19
ROUNDS = (0, 10, 100, 500, 1000)
LETTERS = "BCDEFGHKLMNPRSTVWZ"


def build(target: Path, entries: int) -> str:
    """Write an archive of so many entries, most of them redirects, and return what it took."""
    started = time.process_time()
    with Creator(target).config_indexing(False, "eng").config_nbworkers(2) as creator:
        for number in range(entries // (REDIRECTS + 1)):
            title = f"{LETTERS[number * 5 % len(LETTERS)]}oast {number}"
            creator.add_item(Page(_path(title), title, f"<h1>{title}</h1><p>Part {number} of a long coast.</p>"))
            for name in range(REDIRECTS):
                other = f"{LETTERS[(number * 7 + name) % len(LETTERS)]}ame {name} of {title}"
                creator.add_redirection(_path(other), other, _path(title), {Hint.FRONT_ARTICLE: True})
        creator.set_mainpath("Boast_0")
        for key, value in {"Language": "eng", "Title": "Coasts", "Name": target.stem}.items():
            creator.add_metadata(key, value)
    return f"{target.name}: {target.stat().st_size >> 20} MiB, {time.process_time() - started:.0f} s of CPU"


def _path(title: str) -> str:
    return title.replace(" ", "_")


def calls(archive: ZimArchive, generator: random.Random) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield tools and arguments, about entries anywhere in an archive."""
    while True:
        numbers = [generator.randrange(archive.entry_count) for _ in range(4)]
        entries = [archive._get_entry_by_id(number) for number in numbers]  # noqa: SLF001
        typo = f"{entries[2].title[:-2]}{entries[2].title[-1]}"
        yield "zim_get", {"entry_path": entries[0].path}
        yield "zim_search", {"query": entries[1].title, "mode": "title"}
        yield "zim_search", {"query": typo, "mode": "title"}
        yield "zim_search", {"query": entries[3].title[:3], "mode": "suggest"}
        yield "zim_query", {"query": f"summary of {entries[1].title}"}
        yield "zim_query", {"query": f"What is {entries[3].title}?"}
        yield "zim_browse", {"mode": "page", "offset": generator.randrange(archive.entry_count), "limit": 50}


def memory(server: Server) -> dict[str, float]:
    """Return the MiB that no file holds, of the server and of its workers."""
    sizes: dict[str, float] = {}
    for number, pid in enumerate(process_tree(server.process.pid)):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        fields = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith("kB")}
        name = "workers" if number else "server"
        sizes[name] = sizes.get(name, 0.0) + (fields["Anonymous"] + fields["Swap"]) / 1024
    return sizes


def measure(path: Path) -> list[list[str]]:
    """Return a row for each number of calls: the calls, and the memory of the server and of its workers."""
    archive, rows = ZimArchive(path), []
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        Path(folder, path.name).hardlink_to(path)
        server = Server.start([*OURS, "--mode", "advanced", folder], CACHE__ENABLED="false", INDEX__ENABLED="false")
        server.initialize()
        todo = calls(archive, random.Random(20))
        done, started = 0, server.cpu()
        for count in ROUNDS:
            for _ in range(count - done):
                tool, arguments = next(todo)
                with contextlib.suppress(RuntimeError):  # an error that names the nearest titles is a reply, too
                    server.call(tool, **arguments)
            time.sleep(1 if count else 3)  # the first worker starts
            sizes = memory(server)
            cpu = f"{(server.cpu() - started) / max(1, count - done):.0f}" if count else ""
            rows.append([f"{count:,}", f"{sizes['server']:.0f}", f"{sizes['workers']:.0f}", cpu])
            done, started = count, server.cpu()
        server.stop()
    return rows


def main() -> None:
    """Build or measure."""
    if sys.argv[1] == "build":
        print(build(Path(sys.argv[2]), int(sys.argv[3])))
        return
    parts = []
    for path in map(Path, sys.argv[2:]):
        header = ["calls", "server, MiB", "workers, MiB", "CPU ms per call"]
        parts.append(f"{ZimArchive(path).entry_count:,} entries:\n\n{table(header, measure(path))}")
    command = f"python benchmarks/size_memory.py measure {' '.join(Path(path).name for path in sys.argv[2:])}"
    report("size-memory", command, "\n\n".join(parts))


if __name__ == "__main__":
    main()
