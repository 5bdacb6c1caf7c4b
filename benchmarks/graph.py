"""The index of links: what it costs, whether its lists are right, and what `related` makes of it.

    python benchmarks/graph.py                     everything, printed
    python benchmarks/graph.py --only related      one part
    python benchmarks/graph.py --only cost --articles 3000

- cost: the job on archives of ../shared/zims and on a made one (the texts of `wiki_real_pub`, repeated, each with 100
  links by a power law): CPU per page, MB of pages per second, bytes per link on disk, peak memory (in brackets: before
  the job). Each archive in a process of its own.
- memory: the job on a made archive with many short articles: memory at each tenth of the pages.
- beside: the median time of a question to a server without and with the job beside it, in turns of ten questions.
- importance: links of pages, drawn at random: is the entry that a link leads to the first one found for its text
  (title), and for the first four letters of it (suggestion), without and with the index? The links also make the
  in-degrees.
- related: of 40 articles with at least ten links, the share of the first ten related articles that are in a category of
  the article, or share three or more links with it; by links of pages (without the index), and by the index.

That the lists are right is tested: tests/worker/jobs/test_link_collector.py compares all entries of five archives, and
of made ones, with a slow reference, a parser and libzim's look-ups.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from libzim.writer import Creator
from measure import OURS, Server
from search import Page

from openzim_mcp import page_index
from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.calls.reading import FindRelated
from openzim_mcp.calls.search import FindTitles, SuggestTitles
from openzim_mcp.memory import return_large_blocks
from openzim_mcp.worker.jobs.page_scan import scan_pages
from openzim_mcp.worker.link_index import load_in_degrees
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.readers.entry import read_document
from openzim_mcp.worker.readers.html.hrefs import parse_hrefs
from openzim_mcp.worker.readers.html.links import LinkResolver
from openzim_mcp.worker.reading.links import find_related
from openzim_mcp.worker.reading.resolve import find_link_target
from openzim_mcp.worker.search.titles import find_titles, suggest_titles
from openzim_mcp.worker.zim import Archive

ZIMS = Path(__file__).parent.parent.parent / "shared" / "zims"
ARCHIVES = (
    "built/dictionary_pub",
    "built/wiki_real_pub",
    "built/devdocs_python",
    "real/wikipedia_ay_all_nopic_2017-03",
    "real/devdocs_en_sqlite_2025-04",
)
JUDGED_ARCHIVES = (
    "real/wikipedia_ay_all_nopic_2017-03",
    "real/wikipedia_ady_all_nopic_2026-02",
    "real/devdocs_en_sqlite_2025-04",
    "built/devdocs_python",
)
LINKS_PER_ARTICLE = 100
JUDGED_ARTICLES = 40
MIN_LINKS = 10
MIN_SHARED_LINKS = 3
RELATED = 10
MEMORY_ARTICLES = 40_000
BESIDE_TURNS, QUESTIONS_PER_TURN = 20, 10
DRAWN_LINKS, SUGGESTED_LETTERS = 300, 4


def write_articles(path: Path, articles: int, max_chars: int) -> None:
    """Write an archive of articles with links by a power law."""
    source = Archive("source", [str(ZIMS / "built/wiki_real_pub.zim")])
    pages = [page for record in source.records() if (page := source.read_page(record.number, 200_000))]
    texts = [page.content for page in pages if len(page.content) > 20_000 and b"<body" in page.content]
    chance = random.Random(1)
    with Creator(path).config_indexing(False, "eng").config_nbworkers(2) as creator:
        for number in range(articles):
            targets = {int(articles * chance.random() ** 3) for _ in range(LINKS_PER_ARTICLE)}
            links = "".join(f'<a href="Article_{target}">{target}</a> ' for target in targets)
            text = texts[number % len(texts)].partition(b"<body")[2].partition(b">")[2][:max_chars].rpartition(b"<")[0]
            name = f"Article_{number}"
            creator.add_item(Page(name, name.replace("_", " "), links + text.decode(errors="replace")))
        creator.set_mainpath("Article_0")


def peak_memory() -> float:
    """Return the most memory that this process has had, in MB; getrusage would include the process before it."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def measure_scan(path: str) -> None:
    """Scan an archive in this process, and print the costs as a row."""
    archive = Archive("archive", [path])
    pages, size = 0, 0
    for record in archive.records():
        if record.mime_type and record.mime_type.startswith(("text/html", "application/xhtml")):
            page = archive.read_page(record.number, 1 << 30)
            pages, size = pages + 1, size + len(page.content if page else b"")
    memory_before = peak_memory()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        start = time.process_time()
        scan_pages([path], ScanPages(), lambda *_: None)
        seconds = time.process_time() - start
        degrees = load_in_degrees(archive.identity, archive.entry_count)
        links = sum(degrees or [])
        disk = os.path.getsize(page_index.index_path(archive.identity))
    print(
        f"| {Path(path).stem} | {pages:,} | {size / 1e6:.0f} | {links:,} | {seconds:.2f} | {1e3 * seconds / pages:.3f} "
        f"| {size / 1e6 / seconds:.0f} | {disk / max(1, links):.2f} | {peak_memory():.0f} ({memory_before:.0f}) |"
    )


def report_cost(articles: int, max_chars: int) -> None:
    """Print the costs of the job on several archives, each in a process of its own."""
    print("| archive | pages | MB | links | CPU s | ms a page | MB/s | bytes a link | peak MB (before) |")
    print("| --- | --: | --: | --: | --: | --: | --: | --: | --: |")
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / f"made_{articles}_of_{max_chars}.zim"
        write_articles(made, articles, max_chars)
        for path in [*(str(ZIMS / f"{name}.zim") for name in ARCHIVES), str(made)]:
            subprocess.run([sys.executable, __file__, "--scan", path], check=True)


def own_memory() -> float:
    """Return the memory of this process in MB, without the files that it has mapped."""
    _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text(encoding="utf-8").split())
    return (resident - shared) * os.sysconf("SC_PAGE_SIZE") / 1e6


def report_memory(articles: int) -> None:
    """Print how much memory the job takes at each tenth of its pages, above what the process had before."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        made = Path(folder) / "made.zim"
        write_articles(made, articles, max_chars=1500)
        subprocess.run([sys.executable, __file__, "--memory-of", str(made)], check=True)


def measure_memory(path: str) -> None:
    """Scan an archive in this process, and print its memory meanwhile."""
    return_large_blocks()  # as a worker does
    before, levels = own_memory(), []

    def note_memory(done: int, of: int) -> None:
        if done % max(1, of // 10) == 0:
            levels.append(own_memory() - before)

    scan_pages([path], ScanPages(), note_memory)
    print("MB at each tenth of the pages:", " ".join(f"{level:.0f}" for level in levels))
    print(f"MB at the end: {own_memory() - before:.0f}")


def scan_for_ever(path: str) -> None:
    """Scan an archive again and again, as a job does: at low priority."""
    os.nice(10)
    while True:
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache
            scan_pages([path], ScanPages(), lambda *_: None)


def report_beside() -> None:
    """Print the median time of a question while a job runs, and while it is stopped, in turns."""
    archive = str(ZIMS / "built/wiki_real_pub.zim")
    words = [title for _, title in Archive("archive", [archive]).article_titles]
    topics = random.Random(1).sample(words, BESIDE_TURNS * QUESTIONS_PER_TURN)
    job = subprocess.Popen([sys.executable, __file__, "--scan-for-ever", str(ZIMS / "built/dictionary_pub.zim")])
    server = Server.start([*OURS, archive], INDEX__ENABLED="false")
    seconds: dict[bool, list[float]] = {True: [], False: []}
    try:
        server.initialize()
        for turn in range(BESIDE_TURNS):
            job.send_signal(signal.SIGCONT if turn % 2 else signal.SIGSTOP)
            for topic in topics[turn * QUESTIONS_PER_TURN : (turn + 1) * QUESTIONS_PER_TURN]:
                start = time.perf_counter()
                server.call("zim_query", query=f"what is {topic}?")
                seconds[bool(turn % 2)].append(time.perf_counter() - start)
    finally:
        job.kill()
        job.wait()
        server.stop()
    alone, beside = (1e3 * statistics.median(seconds[is_beside]) for is_beside in (False, True))
    print(f"median of a question: {alone:.1f} ms alone, {beside:.1f} ms beside the job: {beside / alone:.2f} times")


def draw_links(archive: Archive) -> list[tuple[str, str]]:
    """Return the texts and the targets of some links, each pair once."""
    paths = [path for path, _ in archive.article_titles]
    drawn: dict[tuple[str, str], None] = {}
    for path in random.Random(1).sample(paths, min(len(paths), 20 * DRAWN_LINKS)):
        item = archive.find_entry(path)
        links = read_document(archive, item).links if item else ()
        inner = [link for link in links if link.kind == "internal" and len(link.text) >= SUGGESTED_LETTERS]
        for link in random.Random(path).sample(inner, min(1, len(inner))):
            target = find_link_target(archive, link.target)
            if target is not None and is_page(target.mime_type) and target.path != path:
                drawn[link.text, target.path] = None
        if len(drawn) == DRAWN_LINKS:
            break
    return list(drawn)


def first_hits(parts: list[str], drawn: list[tuple[str, str]]) -> tuple[float, float]:
    """Return for how many links the target is the first title and the first suggestion."""
    archive = Archive("archive", parts)
    titles = suggestions = 0
    for text, target in drawn:
        hits = find_titles(archive, FindTitles(text, 0, 1)).results
        titles += any(hit.path == target for hit in hits)
        rows = suggest_titles(archive, SuggestTitles(text[:SUGGESTED_LETTERS], 0, 1)).suggestions
        suggestions += any(row.path == target for row in rows)
    return titles / max(1, len(drawn)), suggestions / max(1, len(drawn))


def report_importance() -> None:
    """Print the share of links whose target is found first by their text, without and with the index."""
    print("| archive | links | title: without / with | suggestion: without / with |")
    print("| --- | --: | --: | --: |")
    for name in JUDGED_ARCHIVES:
        parts = [str(ZIMS / f"{name}.zim")]
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache
            drawn = draw_links(Archive("archive", parts))
            before = first_hits(parts, drawn)
            scan_pages(parts, ScanPages(), lambda *_: None)
            after = first_hits(parts, drawn)
        shares = " | ".join(f"{old:.3f} / {new:.3f}" for old, new in zip(before, after, strict=True))
        print(f"| {Path(name).name} | {len(drawn)} | {shares} |")


def linked_names(archive: Archive, path: str) -> tuple[set[str], set[str]]:
    """Return the pages and the categories that a page links to."""
    number = archive.number_of(path)
    page = archive.read_page(number, 1 << 30) if number is not None else None
    if page is None:
        return set(), set()
    base, hrefs = parse_hrefs(page.content)
    resolver = LinkResolver(path, base)
    links = {link[1] for href in hrefs if (link := resolver.resolve(href)) and link[0] == "internal"}
    return links, {link for link in links if "ategory:" in link}


def judge(archive: Archive, path: str) -> float:
    """Return the share of the first related articles that the rule accepts."""
    links, categories = linked_names(archive, path)
    rows = find_related(archive, FindRelated(path, 0, RELATED)).related
    accepted = 0
    for row in rows:
        other_links, other_categories = linked_names(archive, row.path)
        accepted += bool(categories & other_categories) or len(links & other_links) >= MIN_SHARED_LINKS
    return accepted / max(1, len(rows))


def report_related() -> None:
    """Print how many of the related articles the rule accepts, without and with the index."""
    print("| archive | articles | by links of pages | by the index |")
    print("| --- | --: | --: | --: |")
    for name in JUDGED_ARCHIVES:
        parts = [str(ZIMS / f"{name}.zim")]
        with tempfile.TemporaryDirectory() as cache:
            os.environ["XDG_CACHE_HOME"] = cache
            archive = Archive("archive", parts)
            paths = [path for path, _ in archive.article_titles if len(linked_names(archive, path)[0]) >= MIN_LINKS]
            chosen = random.Random(1).sample(paths, min(JUDGED_ARTICLES, len(paths)))
            before = sum(judge(archive, path) for path in chosen) / max(1, len(chosen))
            scan_pages(parts, ScanPages(), lambda *_: None)
            after = sum(judge(archive, path) for path in chosen) / max(1, len(chosen))
        print(f"| {Path(name).name} | {len(chosen)} | {before:.3f} | {after:.3f} |")


PARTS = {
    "memory": lambda: report_memory(MEMORY_ARTICLES),
    "beside": report_beside,
    "importance": report_importance,
    "related": report_related,
}
PROCESSES = {"--scan": measure_scan, "--memory-of": measure_memory, "--scan-for-ever": scan_for_ever}
"""What this file runs in a process of its own."""


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["cost", *PARTS], help="run one part")
    parser.add_argument("--articles", type=int, default=3000, help="articles of the made archive")
    parser.add_argument("--chars", type=int, default=60_000, help="characters of an article of it")
    for name in PROCESSES:
        parser.add_argument(name, help=argparse.SUPPRESS)
    options = parser.parse_args()
    for name, run in PROCESSES.items():
        if path := getattr(options, name.strip("-").replace("-", "_")):
            run(path)
            return
    if options.only in {None, "cost"}:
        report_cost(options.articles, options.chars)
    for part, report in PARTS.items():
        if options.only in {None, part}:
            report()


if __name__ == "__main__":
    main()
