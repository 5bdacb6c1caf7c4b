"""The index of links: what it costs, whether its lists are right, and what `related` makes of it.

    python benchmarks/graph.py                     everything, printed
    python benchmarks/graph.py --only related      one part
    python benchmarks/graph.py --only cost --articles 3000

- cost: the job on archives of ../shared/zims and on a made one (the texts of `wiki_real_pub`, repeated, each with 100
  links by a power law): CPU per page, MB of pages per second, bytes per link on disk, peak memory (in brackets: before
  the job). Each archive in a process of its own.
- related: of 40 articles with at least ten links, the share of the first ten related articles that are in a category of
  the article, or share three or more links with it; by links of pages (without the index), and by the index.

That the lists are right is tested: tests/worker/jobs/test_link_collector.py compares all entries of five archives, and
of made ones, with a slow reference, a parser and libzim's look-ups.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from libzim.writer import Creator
from search import Page

from openzim_mcp import page_index
from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.calls.reading import FindRelated
from openzim_mcp.worker.jobs.page_scan import scan_pages
from openzim_mcp.worker.link_index import load_in_degrees
from openzim_mcp.worker.readers.html.hrefs import parse_hrefs
from openzim_mcp.worker.readers.html.links import LinkResolver
from openzim_mcp.worker.reading.links import find_related
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


def main() -> None:
    """Run the parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["cost", "related"], help="run one part")
    parser.add_argument("--articles", type=int, default=3000, help="articles of the made archive")
    parser.add_argument("--chars", type=int, default=60_000, help="characters of an article of it")
    parser.add_argument("--scan", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.scan:
        measure_scan(options.scan)
        return
    if options.only != "related":
        report_cost(options.articles, options.chars)
    if options.only != "cost":
        report_related()


if __name__ == "__main__":
    main()
