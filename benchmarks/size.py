"""What a call reads of a large archive from a cold disk, and what it costs.

    python benchmarks/size.py build OUT.zim ARTICLES     an archive with the lengths of Wikipedia's articles
    python benchmarks/size.py measure ARCHIVE.zim …      reads and CPU of each kind of call; needs root and Linux
    python benchmarks/size.py beside ARCHIVE.zim         questions while the index of links is made, printed

The articles of a built archive are made of the sentences of the archives in `../shared`, read at run time; nothing of
them is kept here. Lengths have the median, the tenth and the hundredth of Wikipedia's; half as many redirects.

An archive is measured on a loop device of its own. Before each call it is dropped from the page cache, also from the
memory that the server's processes have mapped; then the requests that the device has completed are counted.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import fcntl
import html
import json
import math
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from libzim.reader import Archive as ZimArchive
from libzim.writer import Creator, Hint
from measure import OURS, ROOT, ZIMS, Server, peer_command, process_tree, report, table
from reading import pages
from search import Page

EVAL = ROOT.parent / "shared" / "eval"
SOURCES = (EVAL / "zims" / "ir_mid.zim", ZIMS / "built" / "wiki_real_pub.zim")
GOLD = EVAL / "zims" / "squad_dev.zim"
_PARAGRAPH, _TAG = re.compile(r"<p[ >](.*?)</p>", re.DOTALL), re.compile(r"<[^>]+>")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)][.!?]) +(?=[A-Z])")
_WORD = re.compile(r"[A-Za-z]{4,}")
_MEDIAN_BYTES, _TENTH_BYTES = 4400, 21_000
_INDEX_START_SECONDS = 8
"""Until the job reads pages."""
_PAGE_OUT, _FLUSH_BUFFERS, _PIDFD_OPEN, _PROCESS_MADVISE = 21, 0x1261, 434, 440


def read_sentences(path: Path) -> list[str]:
    """Return the sentences of the paragraphs of an archive."""
    sentences = []
    for _, raw in pages(path):
        for paragraph in _PARAGRAPH.findall(raw.decode(errors="replace")):
            text = " ".join(html.unescape(_TAG.sub("", paragraph)).split())
            sentences += [part for part in _SENTENCE_END.split(text) if 35 <= len(part) <= 400]
    return sentences


def article_bytes(generator: random.Random) -> int:
    """Return a length: median 4.4 KB, a tenth over 21 KB, one in a hundred over 93 KB."""
    z = generator.gauss(0, 1)
    if z < 1.2816:
        return int(_MEDIAN_BYTES * math.exp((0.75 if z < 0 else 1.2196) * z))
    return min(700_000, int(_TENTH_BYTES * math.exp(1.4245 * (z - 1.2816))))


def make_titles(generator: random.Random, words: list[str], count: int) -> list[str]:
    """Return different titles of one to three words."""
    titles: dict[str, None] = {}
    while len(titles) < count:
        title = " ".join(generator.choices(words, k=generator.randint(1, 3)))
        titles[title[:1].upper() + title[1:] if title not in titles else f"{title} ({generator.choice(words)})"] = None
    return list(titles)


def write_article(generator: random.Random, sentences: list[str], title: str) -> str:
    """Return a page of sentences about a few places in the sources, with headings."""
    size, parts, chars = article_bytes(generator), [f"<h1>{html.escape(title)}</h1><p>"], 0
    while chars < size:
        start = generator.randrange(len(sentences))
        for sentence in sentences[start : start + generator.randint(2, 6)]:
            parts.append(html.escape(sentence) + " ")
            chars += len(parts[-1])
        heading = generator.choice(_WORD.findall(sentences[start]) or ["History"])
        parts.append(f"</p><h2>{heading}</h2><p>" if generator.random() < 0.3 else "</p><p>")
    return f"<html><head><title>{html.escape(title)}</title></head><body>{''.join(parts)}</p></body></html>"


def build(target: Path, count: int) -> str:
    """Write an archive of so many articles, those of the questions among them, and return what it took."""
    started, generator = time.process_time(), random.Random(16)
    sentences = [sentence for source in SOURCES for sentence in read_sentences(source)]
    words = sorted({word for sentence in generator.sample(sentences, 20_000) for word in _WORD.findall(sentence)})
    titles = make_titles(generator, words, count)
    gold = [Page(path, path.replace("_", " "), raw.decode()) for path, raw in pages(GOLD)]
    with Creator(target).config_indexing(True, "eng").config_nbworkers(2) as creator:
        creator.set_mainpath(titles[0].replace(" ", "_"))
        for page in gold:
            creator.add_item(page)
        for title in titles:
            creator.add_item(Page(title.replace(" ", "_"), title, write_article(generator, sentences, title)))
        for number, title in enumerate(titles[: count // 2]):
            creator.add_redirection(f"Name_{number}_{title.replace(' ', '_')}", f"Name {number} {title}",
                                    title.replace(" ", "_"), {Hint.FRONT_ARTICLE: True})  # fmt: skip
        for key, value in {"Language": "eng", "Title": f"Size {count}", "Name": f"size_{count}"}.items():
            creator.add_metadata(key, value)
    return f"{target.name}: {target.stat().st_size >> 20} MiB, {time.process_time() - started:.0f} s of CPU"


@dataclass
class Disk:
    """An archive on a loop device: its requests can be counted, and its pages dropped."""

    device: Path
    archive: Path

    @classmethod
    @contextlib.contextmanager
    def mounted(cls, archive: Path) -> Iterator[Disk]:
        """Copy an archive to a file system of its own for the block."""
        with tempfile.TemporaryDirectory(dir=archive.parent) as name:
            image, folder = Path(name, "image"), Path(name, "disk")
            folder.mkdir()
            size = archive.stat().st_size
            with image.open("wb") as file:
                file.truncate(size + size // 16 + (32 << 20))
            run("mkfs.ext4", "-q", "-F", "-m", "0", str(image))
            device = Path(run("losetup", "-f", "--show", str(image)))
            Path(f"/sys/block/{device.name}/queue/read_ahead_kb").write_text("128")  # as disks have it
            run("mount", "-o", "noatime", str(device), str(folder))
            try:
                shutil.copy(archive, folder)
                os.sync()
                yield cls(device, folder / archive.name)
            finally:
                run("umount", "-l", str(folder))
                run("losetup", "-d", str(device))

    def requests(self) -> tuple[int, int]:
        """Return how many reads the device has completed, and how many bytes."""
        fields = Path(f"/sys/block/{self.device.name}/stat").read_text().split()
        return int(fields[0]), int(fields[2]) * 512

    def wait_until_quiet(self) -> None:
        """Wait until jobs in the background have read what they need."""
        last = -1
        while last != (last := self.requests()[0]):
            time.sleep(10)

    def drop(self, pid: int) -> None:
        """Drop the archive from the page cache, and from the memory of a process and its children."""
        for process in process_tree(pid):
            _page_out(process, str(self.archive))
        for path, is_device in ((self.archive, False), (self.device, True)):
            descriptor = os.open(path, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            if is_device:
                fcntl.ioctl(descriptor, _FLUSH_BUFFERS, 0)
            os.close(descriptor)


def run(*command: str) -> str:
    """Run a command and return what it prints."""
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


class _Span(ctypes.Structure):
    _fields_ = (("start", ctypes.c_void_p), ("length", ctypes.c_size_t))


def _page_out(pid: int, path: str) -> None:
    libc = ctypes.CDLL(None)
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        spans = [line.split()[0].split("-") for line in lines if line.endswith(path)]
        descriptor = libc.syscall(_PIDFD_OPEN, pid, 0) if spans else -1
        for start, stop in spans:
            span = _Span(int(start, 16), int(stop, 16) - int(start, 16))
            libc.syscall(_PROCESS_MADVISE, descriptor, ctypes.byref(span), 1, _PAGE_OUT, 0)
        if spans:
            os.close(descriptor)


def questions(count: int) -> list[dict[str, Any]]:
    """Return questions about the articles that every built archive has."""
    rows = json.loads((EVAL / "data" / "squad_pub.json").read_text(encoding="utf-8"))["questions"]
    sampled: list[dict[str, Any]] = random.Random(7).sample(rows, count)
    return sampled


def calls(count: int) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """Return the calls of each kind: a tool and its arguments."""
    asked = [row["q"] for row in questions(2 * count)]
    misses = ["Quxbury Wendlebar", "Treaty of the Silver Lantern", "Marlowe Stantonville", "Ozymandrius Thackerleigh"]
    words = ["city", "first war", "united states", "film"]
    prefixes = ["san", "wil", "mar", "nor"]
    return {
        "question": [("zim_query", {"query": text}) for text in asked[:count]],
        "search, a question": [("zim_search", {"query": text}) for text in asked[count:]],
        "search, a frequent word": [("zim_search", {"query": text}) for text in words],
        "summary of X, a miss": [("zim_query", {"query": f"summary of {text}"}) for text in misses],
        "title, a miss": [("zim_search", {"query": text, "mode": "title"}) for text in misses],
        "suggest, three letters": [("zim_search", {"query": text, "mode": "suggest"}) for text in prefixes],
    }


def measure_cold(path: Path, command: list[str], count: int) -> dict[str, list[str]]:
    """Return for each kind of call: reads, the most reads, MB, and the CPU of repeating it in milliseconds."""
    rows: dict[str, list[str]] = {}
    with Disk.mounted(path) as disk:
        disk.drop(os.getpid())
        before = disk.requests()[0]
        arguments = ["--mode", "advanced", str(disk.archive.parent)]
        # Indexes that are made in the background would read beside the calls.
        server = Server.start([*command, *arguments], CACHE__ENABLED="false", INDEX__ENABLED="false")
        server.initialize()
        _call(server, "zim_query", {"query": questions(1)[0]["q"]})
        rows["first question after the start"] = [str(disk.requests()[0] - before), "", "", ""]
        disk.wait_until_quiet()
        for kind, todo in calls(count).items():
            costs = [_measure_call(disk, server, tool, arguments) for tool, arguments in todo]
            reads, sizes, cpu = ([row[column] for row in costs] for column in range(3))
            rows[kind] = [f"{statistics.median(reads):.0f}", f"{max(reads):.0f}", f"{statistics.median(sizes):.1f}",
                          f"{statistics.mean(cpu):.0f}"]  # fmt: skip
        server.stop()
    return rows


def _measure_call(disk: Disk, server: Server, tool: str, arguments: dict[str, Any]) -> tuple[float, float, float]:
    disk.drop(server.process.pid)
    reads, size = disk.requests()
    _call(server, tool, arguments)
    new_reads, new_size = disk.requests()
    cpu = server.cpu()
    _call(server, tool, arguments)
    return new_reads - reads, (new_size - size) / 1e6, server.cpu() - cpu


def _call(server: Server, tool: str, arguments: dict[str, Any]) -> str:
    with contextlib.suppress(RuntimeError):  # an error that names the nearest titles is a reply, too
        return json.dumps(server.call(tool, **arguments))
    return ""


def measure_beside_index(path: Path, count: int) -> str:
    """Return the reads and the time of cold questions while the index of links is made."""
    with Disk.mounted(path) as disk, tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        server = Server.start([*OURS, "--mode", "advanced", str(disk.archive.parent)], CACHE__ENABLED="false")
        server.initialize()
        _call(server, "zim_query", {"query": questions(1)[0]["q"]})
        time.sleep(_INDEX_START_SECONDS)
        reads, milliseconds = [], []
        for row in questions(count):
            disk.drop(server.process.pid)
            before, started = disk.requests()[0], time.perf_counter()
            _call(server, "zim_query", {"query": row["q"]})
            milliseconds.append((time.perf_counter() - started) * 1000)
            reads.append(disk.requests()[0] - before)
            time.sleep(1)  # the job goes on
        server.stop()
    rows = ([f"{statistics.median(values):.0f}", f"{max(values):.0f}"] for values in (reads, milliseconds))
    return table(["question beside the index", "median", "at most"], [[name, *row] for name, row in zip(
        ("reads, those of the job included", "ms"), rows, strict=True)])  # fmt: skip


def measure_answers(path: Path, count: int) -> float:
    """Return the share of questions whose reply has the answer."""
    server = Server.start([*OURS, str(path.parent)], CACHE__ENABLED="false")
    server.initialize()
    rows = questions(count)
    replies = [_call(server, "zim_query", {"query": row["q"], "zim_file_path": path.name}).lower() for row in rows]
    server.stop()
    hits = [any(answer.lower() in reply for answer in row["answers"]) for row, reply in zip(rows, replies, strict=True)]
    return sum(hits) / len(hits)


def measure_archives(paths: list[Path], count: int, answers: int, *, with_peer: bool) -> None:
    """Measure some archives, and write a column for each into the report."""
    columns = {}
    for path in paths:
        size = f"{ZimArchive(path).article_count:,} articles and redirects, {path.stat().st_size >> 20} MiB"
        columns[size] = measure_cold(path, OURS, count)
        if answers:
            share = f"{measure_answers(path, answers):.2f}"
            columns[size][f"answers of {answers} questions in the reply"] = [share, "", "", ""]
        if with_peer:
            columns[f"openzim-mcp 3.4.0, {size}"] = measure_cold(path, peer_command(), min(count, 4))
    kinds = dict.fromkeys(kind for cells in columns.values() for kind in cells)
    rows = [[kind, *(_cell(cells.get(kind)) for cells in columns.values())] for kind in kinds]
    report("size", " ".join(["python benchmarks/size.py", *sys.argv[1:]]), table(["", *columns], rows))


def _cell(figures: list[str] | None) -> str:
    """Return what was measured of one kind of call: the reads, the most of them, MB, and CPU."""
    reads, most, size, cpu = figures or ("", "", "", "")
    return f"{reads} (at most {most}), {size} MB, {cpu} ms" if most else reads


def main() -> None:
    """Build or measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("build", "measure", "beside"))
    parser.add_argument("arguments", nargs="+")
    parser.add_argument("--calls", type=int, default=12, help="questions and searches that are measured")
    parser.add_argument("--answers", type=int, default=0, help="questions whose answers are looked for in the replies")
    parser.add_argument("--peer", action="store_true", help="also measure openzim-mcp 3.4.0")
    options = parser.parse_args()
    if options.action == "build":
        print(build(Path(options.arguments[0]), int(options.arguments[1])))
    elif options.action == "beside":
        print(measure_beside_index(Path(options.arguments[0]), options.calls))
    else:
        measure_archives(list(map(Path, options.arguments)), options.calls, options.answers, with_peer=options.peer)


if __name__ == "__main__":
    main()
