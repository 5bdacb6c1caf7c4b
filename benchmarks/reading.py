"""Reading: HTML to Markdown, CPU per call and tokens compared with openzim-mcp from PyPI, resolved links."""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

from libzim.reader import Archive as ZimArchive
from measure import OURS, PEER_VERSION, ZIMS, Server, peer_command, report, table
from selectolax.lexbor import LexborHTMLParser

from openzim_mcp import tokens
from openzim_mcp.worker.readers.html.reader import read_html
from openzim_mcp.worker.reading.resolve import find_link_target
from openzim_mcp.worker.zim import Archive

SIZES = {"up to 10 KB": 10_000, "10 to 100 KB": 100_000, "100 KB to 1 MB": 1_000_000, "over 1 MB": 10**12}
WIKI = ZIMS / "built" / "wiki_real_pub.zim"
PEER = f"openzim-mcp {PEER_VERSION}"


def archives() -> list[Path]:
    """Return the undamaged archives in ../shared/zims."""
    return sorted([*ZIMS.glob("real/*.zim"), *ZIMS.glob("built/*.zim")])


def pages(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every HTML page of an archive."""
    archive = ZimArchive(path)
    for number in range(archive.all_entry_count):
        entry = archive._get_entry_by_id(number)  # noqa: SLF001
        if not entry.is_redirect and entry.get_item().mimetype.lower().startswith("text/html"):
            yield entry.path, bytes(entry.get_item().content)


def convert_pages(share: int) -> str:
    """Measure the conversion of pages to Markdown, by size."""
    durations: dict[str, list[float]] = {name: [] for name in SIZES}
    size: dict[str, int] = dict.fromkeys(SIZES, 0)
    for file in archives():
        for number, (path, raw) in enumerate(pages(file)):
            if number % share and len(raw) < 100_000:
                continue
            started = time.perf_counter()
            _ = read_html(raw, path).body
            name = next(name for name, limit in SIZES.items() if len(raw) <= limit)
            durations[name].append((time.perf_counter() - started) * 1000)
            size[name] += len(raw)
    rows = [
        [
            name,
            str(len(times)),
            f"{statistics.median(times):.2f}",
            f"{sorted(times)[int(len(times) * 0.95)]:.2f}",
            f"{size[name] / 1e3 / sum(times):.0f}",
        ]
        for name, times in durations.items()
        if times
    ]
    return table(["bytes to Markdown", "pages, no exception", "median ms", "95 % ms", "MB/s"], rows)


def compare_with_parser() -> str:
    """Compare with lexbor's parser alone, on the largest pages of a wiki."""
    largest = sorted(pages(WIKI), key=lambda page: -len(page[1]))[:5]
    rows = []
    for path, raw in largest:
        parser_times, our_times = [], []
        for _ in range(15):
            started = time.perf_counter()
            LexborHTMLParser(raw)
            parsed = time.perf_counter()
            _ = read_html(raw, path).body
            parser_times.append(parsed - started)
            our_times.append(time.perf_counter() - parsed)
        ratio = statistics.median(our_times) / statistics.median(parser_times)
        row = [
            f"{len(raw) / 1000:.0f}",
            f"{statistics.median(parser_times) * 1000:.1f}",
            f"{statistics.median(our_times) * 1000:.1f}",
        ]
        rows.append([f"`{path}`", *row, f"{ratio:.1f}"])
    return table(["largest wiki pages", "KB", "lexbor alone, ms", "to Markdown, ms", "times"], rows)


def calls_on_article(path: str, section: str) -> dict[str, tuple[str, dict[str, object]]]:
    """Return the calls to compare, for one article."""
    base: dict[str, object] = {"zim_file_path": str(WIKI), "entry_path": path}
    return {
        "article": ("zim_get", base),
        "toc": ("zim_get", base | {"view": "toc"}),
        "summary": ("zim_get", base | {"view": "summary"}),
        "section": ("zim_get_section", base | {"section_id": section}),
        "links": ("zim_links", base),
    }


def cpu_per_call(count: int) -> str:
    """Measure the CPU per call, each on an article that the server process has not read before."""
    documents = {path: (len(raw), read_html(raw, path)) for path, raw in pages(WIKI)}
    readable = [path for path, (_, document) in documents.items() if len(document.sections) > 2]
    small = [path for path in readable if documents[path][0] < 10_000]
    random.Random(3).shuffle(small)
    kinds = {"over 100 KB": [p for p in readable if documents[p][0] > 100_000], "up to 10 KB": small[:count]}
    servers = {"this project": OURS, PEER: peer_command()}
    rows = []
    for kind, sample in kinds.items():
        for operation in ("article", "toc", "summary", "section", "links"):
            cost = {}
            for name, command in servers.items():
                server = Server.start([*command, "--mode", "advanced", str(WIKI.parent)])
                server.initialize()
                server.call("zim_get", zim_file_path=str(WIKI), entry_path="Main_Page")
                before = server.cpu()
                for path in sample:
                    tool, arguments = calls_on_article(path, documents[path][1].sections[1].id)[operation]
                    server.request("tools/call", {"name": tool, "arguments": arguments})
                cost[name] = (server.cpu() - before) / len(sample)
                server.stop()
            ours, theirs = cost["this project"], cost[PEER]
            label = f"{len(sample)} pages {kind}, {operation}"
            rows.append([label, f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.0f}"])
    return table(["CPU ms per call, cold cache", "this project", PEER, "times less"], rows)


def count_resolved_links(max_pages: int) -> str:
    """Count the internal links that lead to an entry, per archive."""
    rows = []
    for file in archives():
        archive = Archive(file.stem, [str(file)])
        resolved = missing = 0
        for number, (path, raw) in enumerate(pages(file)):
            if number >= max_pages:
                break
            targets = {link.target for link in read_html(raw, path).links if link.kind == "internal"}
            entries = sum(find_link_target(archive, target) is not None for target in targets)
            resolved += entries
            missing += len(targets) - entries
        if resolved + missing:
            rows.append([f"`{file.name}`", str(resolved + missing), f"{resolved / (resolved + missing):.1%}"])
    return table(["archive", "internal links", "resolved"], rows)


def token_counts(count: int) -> str:
    """Compare the tokens of whole articles."""
    sample = [path for path, raw in pages(WIKI) if len(raw) > 5000]
    random.Random(5).shuffle(sample)
    sample = ["Dog", "Hermitian_matrix", "Python_(programming_language)", *sample[:count]]
    total = {}
    for name, command in {"this project": OURS, PEER: peer_command()}.items():
        server = Server.start([*command, "--mode", "advanced", str(WIKI.parent)])
        server.initialize()
        texts = []
        for path in sample:
            result = server.call("zim_get", zim_file_path=str(WIKI), entry_path=path, max_content_length=1_000_000)
            text = result["content"][0]["text"]
            texts.append(json.loads(text)["content"] if text.startswith("{") else text)
        server.stop()
        total[name] = [tokens.estimate(text) for text in texts]
    ours, theirs = total["this project"], total[PEER]
    shorter = sum(mine <= their for mine, their in zip(ours, theirs, strict=True))
    rows = [
        ["tokens in all (estimated)", f"{sum(ours):.0f}", f"{sum(theirs):.0f}"],
        ["median article", f"{statistics.median(ours):.0f}", f"{statistics.median(theirs):.0f}"],
        ["articles not longer than the other's", f"{shorter} of {len(sample)}", ""],
    ]
    return table([f"{len(sample)} whole articles", "this project", PEER], rows)


def main() -> None:
    """Measure everything and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=int, default=1, help="convert every n-th small page")
    parser.add_argument("--calls", type=int, default=80, help="small articles per kind of call")
    options = parser.parse_args()
    body = [
        convert_pages(options.share),
        compare_with_parser(),
        cpu_per_call(options.calls),
        token_counts(60),
        count_resolved_links(400),
    ]
    report("reading", "python benchmarks/reading.py", "\n\n".join(body))


if __name__ == "__main__":
    main()
