"""PDFs, subtitles and e-books: whether questions get the right page, minute or chapter, and what reading costs.

    python benchmarks/kinds.py                   everything, into RESULTS.md
    python benchmarks/kinds.py --only questions  one part (questions, pages, cold, memory, fuzz), printed

kinds.jsonl has 60 questions, written for this project and in the public domain (CC0). A row names the document and a
string of its text. A reply is right if it holds that string and cites the document with a page on which pdftotext finds
the string, with a time from which on it is said within 45 seconds, or with any chapter of a book that has it. Questions
are asked before the index of passages is there (the first time), and after it is complete.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path

import pypdfium2
from kinds_shelf import FILMS, FOLDER, TALKS, TEXTS, load_documents, sentence_starts, write_shelf
from measure import OURS, ROOT, Server, report, table

from openzim_mcp.worker.readers.epub import read_epub
from openzim_mcp.worker.readers.pdf.reader import PagedPdf, read_pdf
from openzim_mcp.worker.readers.subtitles import read_subtitles
from support.archives import write_zim
from support.epubs import write_epub
from support.pdfs import page, write_pdf

QUESTIONS = [json.loads(line) for line in (ROOT / "benchmarks" / "kinds.jsonl").read_text().splitlines()]
_SOURCE = re.compile(r"^Source: (.*?) — .*? — (zim://\S+)", re.MULTILINE)
_LONGEST_PASSAGE_SECONDS = 45
_INDEX_SECONDS = 600
MUTATIONS = 500


@cache
def printed_pages(name: str) -> list[str]:
    """Return the text of each page of a PDF as pdftotext reads it, without spaces."""
    text = subprocess.run(["/usr/bin/pdftotext", FOLDER / name, "-"], check=True, capture_output=True).stdout.decode()
    return [flat(part) for part in text.split("\f")]


def flat(text: str) -> str:
    """Return the letters and digits of a text, without case."""
    return re.sub(r"[\W_]+", "", text).lower()


def is_right(row: dict[str, str], reply: str) -> tuple[bool, bool]:
    """Return whether a reply holds the answer, and whether it cites the right place of the right document."""
    answer, document = flat(row["answer"]), row["document"]
    places = [place for place, uri in _SOURCE.findall(reply) if document in uri]
    if document.endswith(".pdf"):
        cited = {int(number) for place in places for number in re.findall(r"p\. (\d+)", place)}
        is_cited = any(answer in [*printed_pages(document), ""][n - 1] for n in cited)
    elif document in TALKS or document in FILMS:
        text = (TALKS.get(document) or FILMS[document])["text"]
        said = [at for at, line in sentence_starts(text) if answer in flat(line)]
        times = [int(m) * 60 + int(s) for place in places for m, s in re.findall(r"(\d\d):(\d\d)", place)]
        is_cited = any(0 <= start - at <= _LONGEST_PASSAGE_SECONDS for start in said for at in times)
    else:
        is_cited = any("›" in place for place in places)
    return answer in flat(reply), is_cited and answer in flat(reply)


def ask_all(server: Server) -> tuple[float, float, float]:
    """Return the shares of replies with the answer and with the right place, and the CPU milliseconds per question."""
    rights = []
    before = server.cpu()
    for row in QUESTIONS:
        reply = server.call("zim_query", query=row["question"])["content"][0]["text"]
        rights.append(is_right(row, reply))
        if "--verbose" in sys.argv and not rights[-1][1]:
            print(
                row["question"],
                "|",
                row["answer"],
                "|",
                row["document"],
                rights[-1],
                "\n   ",
                reply[:400].replace("\n", " "),
            )
    cost = (server.cpu() - before) / len(QUESTIONS)
    return sum(a for a, _ in rights) / len(rights), sum(b for _, b in rights) / len(rights), cost


def wait_for_indexes(caches: Path, archives: int) -> None:
    """Wait until the indexes of all archives are complete."""
    end = time.monotonic() + _INDEX_SECONDS
    while len(list(caches.rglob("passages.sqlite"))) < archives and time.monotonic() < end:
        time.sleep(1)


def _start(folder: str, caches: str, **settings: str) -> Server:
    os.environ["XDG_CACHE_HOME"] = caches
    return Server.start([*OURS, folder], TOOL_MODE="advanced", **settings)


def measure_questions() -> str:
    """Ask all questions before the index is there, and with it."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as caches:
        write_shelf(Path(folder))
        server = _start(folder, caches, PASSAGE_INDEX_ENABLED="false")
        server.initialize()
        cold = ask_all(server)
        server.stop()
        server = _start(folder, caches)
        server.initialize()
        server.call("zim_query", query=QUESTIONS[0]["question"])
        wait_for_indexes(Path(caches), 3)
        warm = ask_all(server)
        server.stop()
    rows = [
        [name, f"{a:.0%}", f"{b:.0%}", f"{c:.0f}"]
        for name, (a, b, c) in (("before the index", cold), ("with it", warm))
    ]
    return table(
        ["60 questions over PDFs, videos and books", "answer shown", "and page, minute or chapter right", "CPU ms"],
        rows,
    )


def cpu_of(command: list[str]) -> float:
    """Return the CPU time of a command, in seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_pages() -> str:
    """Compare what a page of a PDF costs."""
    rows = []
    for name in ("octave.pdf", "valgrind_manual.pdf", "install.zh_CN.pdf", "essay.pdf"):
        raw = load_documents()[name]
        start = time.process_time()
        pdf = PagedPdf(raw)
        pdf.document(range(pdf.page_count))
        ours = time.process_time() - start
        start = time.process_time()
        bare = pypdfium2.PdfDocument(raw)
        for number in range(len(bare)):
            bare[number].get_textpage().get_text_range()
        by_pdfium = time.process_time() - start
        by_poppler = cpu_of(["/usr/bin/pdftotext", str(FOLDER / name), "-"])
        count = pdf.page_count
        rows.append(
            [f"{name}, {count} pages", *(f"{1000 * value / count:.2f}" for value in (ours, by_pdfium, by_poppler))]
        )
    return table(["CPU ms per page", "this project", "bare pypdfium2", "pdftotext"], rows)


def measure_cold() -> str:
    """Measure the first question about a long PDF, before its index is there, in a server of its own."""
    raw = load_documents()["octave.pdf"]
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as caches:
        pages: dict[str, str | bytes] = {"home": "<h1>Octave</h1>", "files/octave.pdf": raw}
        write_zim(Path(folder) / "octave.zim", pages)
        server = _start(folder, caches, PASSAGE_INDEX_ENABLED="false")
        server.initialize()
        server.call("zim_query", query="list archives")
        cpu, memory = server.cpu(), server.memory()
        server.call("zim_query", query="Which random number generator does Octave's rand use?")
        cost, grown = server.cpu() - cpu, server.memory() - memory
        server.stop()
    about = "A first question that hits a PDF of 1158 pages, not indexed"
    return f"{about}: {cost / 1000:.2f} s CPU, {grown:.0f} MB more memory."


def measure_memory() -> str:
    """Measure the memory of a worker that reads 200 PDFs one after the other."""
    pages: dict[str, str | bytes] = {"home": "<h1>Shelf</h1>"}
    text = ["A camp is made in many ways, and each of them has a use of its own for somebody."] * 30
    for number in range(200):
        pages[f"files/{number}.pdf"] = write_pdf([page([f"Document {number}.", *text]) for _ in range(40)])
    with tempfile.TemporaryDirectory() as folder:
        write_zim(Path(folder) / "shelf.zim", pages)
        server = _start(folder, folder, PASSAGE_INDEX_ENABLED="false")
        server.initialize()
        sizes = []
        for number in range(200):
            server.call("zim_get", entry_path=f"files/{number}.pdf")
            if number in {49, 99, 149, 199}:
                sizes.append(server.memory())
        server.stop()
    return f"Memory of all processes after 50, 100, 150 and 200 PDFs: {', '.join(f'{size:.0f}' for size in sizes)} MB."


def mutate(raw: bytes, randomness: random.Random) -> bytes:
    """Return bytes with a few of them changed, cut out, doubled or moved."""
    data = bytearray(raw)
    for _ in range(randomness.randint(1, 8)):
        at = randomness.randrange(len(data)) if data else 0
        size = randomness.choice([1, 1, 4, 100, 5000])
        match randomness.randrange(4):
            case 0:
                data[at : at + size] = randomness.randbytes(size)
            case 1:
                del data[at : at + size]
            case 2:
                data[at:at] = data[at : at + size]
            case _:
                del data[at:]
    return bytes(data)


def measure_fuzz() -> str:
    """Read mutations of each kind in this process: nothing may raise or end it."""
    documents = load_documents()
    samples = {
        "PDF": (read_pdf, documents["essay.pdf"]),
        "EPUB": (read_epub, write_epub(TEXTS["tides"])),
        "subtitles": (
            read_subtitles,
            ("WEBVTT\n\n" + "00:01.000 --> 00:02.000\n<c>word</c> &amp; more\n\n" * 50).encode(),
        ),
    }
    rows = []
    for name, (read, raw) in samples.items():
        randomness = random.Random(17)
        slowest, texts = 0.0, 0
        for _ in range(MUTATIONS):
            start = time.process_time()
            texts += bool(read(mutate(raw, randomness), "x").passages)
            slowest = max(slowest, time.process_time() - start)
        rows.append([name, str(MUTATIONS), str(texts), "0", f"{1000 * slowest:.0f}"])
    return table(["mutations", "read", "with text", "exceptions or crashes", "slowest, CPU ms"], rows)


PARTS = {
    "questions": measure_questions, "pages": measure_pages, "cold": measure_cold, "memory": measure_memory,
    "fuzz": measure_fuzz,
}  # fmt: skip


def main() -> None:
    """Measure, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--verbose", action="store_true")
    only = parser.parse_args().only
    if only:
        print(PARTS[only]())
    else:
        report("kinds", "python benchmarks/kinds.py", "\n\n".join(part() for part in PARTS.values()))


if __name__ == "__main__":
    main()
