"""Reading: pages to Markdown, calls beside openzim-mcp from PyPI, links that lead somewhere, tokens."""

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
from openzim_mcp.worker.readers.html import reader
from openzim_mcp.worker.reading import links
from openzim_mcp.worker.zim import Archive

SIZES = {"up to 10 KB": 10_000, "10 to 100 KB": 100_000, "100 KB to 1 MB": 1_000_000, "over 1 MB": 10**12}
WIKI = ZIMS / "built" / "wiki_real_pub.zim"
PEER = f"openzim-mcp {PEER_VERSION}"


def archives() -> list[Path]:
    """Return the sound archives at hand."""
    return sorted([*ZIMS.glob("real/*.zim"), *ZIMS.glob("built/*.zim")])


def pages(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every HTML page of an archive."""
    archive = ZimArchive(path)
    for number in range(archive.all_entry_count):
        entry = archive._get_entry_by_id(number)  # noqa: SLF001
        if not entry.is_redirect and entry.get_item().mimetype.lower().startswith("text/html"):
            yield entry.path, bytes(entry.get_item().content)


def every_page(share: int) -> str:
    """Turn pages into Markdown and say how long it takes, by size."""
    took: dict[str, list[float]] = {name: [] for name in SIZES}
    size: dict[str, int] = dict.fromkeys(SIZES, 0)
    for file in archives():
        for number, (path, raw) in enumerate(pages(file)):
            if number % share and len(raw) < 100_000:
                continue
            started = time.perf_counter()
            _ = reader.parse(raw, path).body
            name = next(name for name, most in SIZES.items() if len(raw) <= most)
            took[name].append((time.perf_counter() - started) * 1000)
            size[name] += len(raw)
    rows = [
        [
            name,
            str(len(found)),
            f"{statistics.median(found):.2f}",
            f"{sorted(found)[int(len(found) * 0.95)]:.2f}",
            f"{size[name] / 1e3 / sum(found):.0f}",
        ]
        for name, found in took.items()
        if found
    ]
    return table(["bytes to Markdown", "pages, no exception", "median ms", "95 % ms", "MB/s"], rows)


def against_bare_parse() -> str:
    """Compare with what lexbor alone needs for the largest pages of a wiki."""
    largest = sorted(pages(WIKI), key=lambda page: -len(page[1]))[:5]
    rows = []
    for path, raw in largest:
        bare, ours = [], []
        for _ in range(15):
            started = time.perf_counter()
            LexborHTMLParser(raw)
            middle = time.perf_counter()
            _ = reader.parse(raw, path).body
            bare.append(middle - started)
            ours.append(time.perf_counter() - middle)
        ratio = statistics.median(ours) / statistics.median(bare)
        row = [
            f"{len(raw) / 1000:.0f}",
            f"{statistics.median(bare) * 1000:.1f}",
            f"{statistics.median(ours) * 1000:.1f}",
        ]
        rows.append([f"`{path}`", *row, f"{ratio:.1f}"])
    return table(["largest wiki pages", "KB", "lexbor alone, ms", "to Markdown, ms", "times"], rows)


def calls(path: str, section: str) -> dict[str, tuple[str, dict[str, object]]]:
    """Return the calls that are compared, on one article."""
    base = {"zim_file_path": str(WIKI), "entry_path": path}
    return {
        "article": ("zim_get", base),
        "toc": ("zim_get", base | {"view": "toc"}),
        "summary": ("zim_get", base | {"view": "summary"}),
        "section": ("zim_get_section", base | {"section_id": section}),
        "links": ("zim_links", base),
    }


def cpu_per_call(count: int) -> str:
    """Measure the CPU of calls, each on an article that this server process was never asked for before."""
    every = {path: (len(raw), reader.parse(raw, path)) for path, raw in pages(WIKI)}
    readable = [path for path, (_, document) in every.items() if len(document.sections) > 2]
    small = [path for path in readable if every[path][0] < 10_000]
    random.Random(3).shuffle(small)
    kinds = {"over 100 KB": [p for p in readable if every[p][0] > 100_000], "up to 10 KB": small[:count]}
    servers = {"this project": OURS, PEER: peer_command()}
    rows = []
    for kind, chosen in kinds.items():
        for operation in ("article", "toc", "summary", "section", "links"):
            cost = {}
            for name, command in servers.items():
                server = Server.start([*command, "--mode", "advanced", str(WIKI.parent)])
                server.initialize()
                server.call("zim_get", zim_file_path=str(WIKI), entry_path="Main_Page")
                before = server.cpu()
                for path in chosen:
                    tool, arguments = calls(path, every[path][1].sections[1].id)[operation]
                    server.request("tools/call", {"name": tool, "arguments": arguments})
                cost[name] = (server.cpu() - before) / len(chosen)
                server.stop()
            ours, theirs = cost["this project"], cost[PEER]
            label = f"{len(chosen)} pages {kind}, {operation}"
            rows.append([label, f"{ours:.1f}", f"{theirs:.1f}", f"{theirs / ours:.0f}"])
    return table(["CPU ms per call, cold cache", "this project", PEER, "times less"], rows)


def links_that_lead_somewhere(most: int) -> str:
    """Resolve internal links against their archive, per archive."""
    rows = []
    for file in archives():
        archive = Archive(file.stem, [str(file)])
        there = missing = 0
        for number, (path, raw) in enumerate(pages(file)):
            if number >= most:
                break
            targets = {link.target for link in reader.parse(raw, path).links if link.kind == "internal"}
            found = sum(links.resolve(archive, target) is not None for target in targets)
            there += found
            missing += len(targets) - found
        if there + missing:
            rows.append([f"`{file.name}`", str(there + missing), f"{there / (there + missing):.1%}"])
    return table(["archive", "internal links", "lead to an entry"], rows)


def token_counts(count: int) -> str:
    """Compare the length of whole articles."""
    chosen = [path for path, raw in pages(WIKI) if len(raw) > 5000]
    random.Random(5).shuffle(chosen)
    chosen = ["Dog", "Hermitian_matrix", "Python_(programming_language)", *chosen[:count]]
    total = {}
    for name, command in {"this project": OURS, PEER: peer_command()}.items():
        server = Server.start([*command, "--mode", "advanced", str(WIKI.parent)])
        server.initialize()
        texts = []
        for path in chosen:
            result = server.call("zim_get", zim_file_path=str(WIKI), entry_path=path, max_content_length=1_000_000)
            text = result["content"][0]["text"]
            texts.append(json.loads(text)["content"] if text.startswith("{") else text)
        server.stop()
        total[name] = [tokens.estimate(text) for text in texts]
    ours, theirs = total["this project"], total[PEER]
    shorter = sum(own <= other for own, other in zip(ours, theirs, strict=True))
    rows = [
        ["tokens in all (estimated)", f"{sum(ours):.0f}", f"{sum(theirs):.0f}"],
        ["median article", f"{statistics.median(ours):.0f}", f"{statistics.median(theirs):.0f}"],
        ["articles not longer than the other's", f"{shorter} of {len(chosen)}", ""],
    ]
    return table([f"{len(chosen)} whole articles", "this project", PEER], rows)


def main() -> None:
    """Run all and write the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--share", type=int, default=1, help="take every n-th small page")
    parser.add_argument("--calls", type=int, default=80, help="small articles of each kind of call")
    given = parser.parse_args()
    body = [
        every_page(given.share),
        against_bare_parse(),
        cpu_per_call(given.calls),
        token_counts(60),
        links_that_lead_somewhere(400),
    ]
    report("reading", "python benchmarks/reading.py", "\n\n".join(body))


if __name__ == "__main__":
    main()
