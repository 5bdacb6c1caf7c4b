"""Tokens: what the tools and ten typical results cost a model, by what its client passes on of a result.

Some clients pass on only the text, some only the structured content if there is one, some both. `--save FILE` keeps the
counts, and `--before FILE` compares with those of an earlier version.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from measure import OURS, ZIMS, Server, report, table

from openzim_mcp import tokens

ARCHIVES = [ZIMS / "built" / f"{name}.zim" for name in ("wiki_real_pub", "se_coffee", "dictionary_pub")]
WIKI = "wiki_real_pub"
CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "question": ("zim_query", {"query": "when was the Python programming language first released?"}),
    "question that is not answered": ("zim_query", {"query": "who won the Zorblax cup in 2031?"}),
    "list of the archives": ("zim_query", {"query": "list archives"}),
    "summary of an article": ("zim_query", {"query": "summary of Dog"}),
    "search": ("zim_search", {"query": "how dogs were domesticated", "zim_file_path": WIKI}),
    "search of all archives": ("zim_search", {"query": "water temperature", "cross_file": True}),
    "article": ("zim_get", {"entry_path": "Dog", "zim_file_path": WIKI, "compact_budget": "large"}),
    "outline": ("zim_get", {"entry_path": "Dog", "zim_file_path": WIKI, "view": "toc"}),
    "section": ("zim_get_section", {"entry_path": "Dog", "section_id": "Taxonomy", "zim_file_path": WIKI}),
    "links": ("zim_links", {"entry_path": "Dog", "zim_file_path": WIKI, "limit": 20}),
}
CLIENTS = ("text only", "JSON only", "both")

Counts = dict[str, list[int]]
"""The tokens of a row, one for each client."""


def estimate(value: object) -> int:
    """Estimate the tokens of a text, or of a value as JSON."""
    compact = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return round(tokens.estimate(value if isinstance(value, str) else compact))


def count_result(result: dict[str, Any]) -> list[int]:
    """Return what a result costs the three clients; a link is a block that the last one passes on too."""
    text = sum(estimate(block["text"]) for block in result["content"] if block["type"] == "text")
    links = sum(estimate(block) for block in result["content"] if block["type"] == "resource_link")
    structured = result.get("structuredContent")
    in_json = 0 if structured is None else estimate(structured)
    return [text, in_json or text, text + in_json + links]


def count_tokens() -> Counts:
    """Count the tokens of the tool lists, of the instructions and of every call."""
    counts: Counts = {}
    for mode in ("simple", "advanced"):
        server = Server.start([*OURS, "--mode", mode, *map(str, ARCHIVES)], PASSAGE_INDEX_ENABLED="false")
        client = {"name": "benchmark", "version": "1"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client}
        instructions = server.request("initialize", params)["result"]["instructions"]
        counts[f"instructions of {mode} mode"] = [estimate(instructions)] * len(CLIENTS)
        listed = server.request("tools/list")["result"]["tools"]
        counts[f"tools of {mode} mode"] = [estimate(listed)] * len(CLIENTS)
        if mode == "advanced":
            for name, (tool, arguments) in CALLS.items():
                counts[name] = count_result(server.call(tool, **arguments))
        server.stop()
    command = [*OURS, *map(str, ARCHIVES)]
    server = Server.start(command, PASSAGE_INDEX_ENABLED="false", CONTENT__STRUCTURED_ANSWERS="always")
    server.initialize()
    tool, arguments = CALLS["question"]
    counts["question, structured"] = count_result(server.call(tool, **arguments))
    server.stop()
    return counts


def compare(counts: Counts, before: Counts) -> str:
    """Return a table of the counts, and how each differs from before."""
    rows = []
    for name, row in counts.items():
        old = before.get(name, row)
        cells = [f"{b} → {a}" if a != b else str(a) for a, b in zip(row, old, strict=True)]
        rows.append([name, *cells, f"{row[0] / old[0]:.2f}"])
    return table(["estimated tokens", *CLIENTS, "text only, times"], rows)


def main() -> None:
    """Count, and write the report or a file to compare with later."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=Path, help="keep the counts in this file, and write no report")
    parser.add_argument("--before", type=Path, help="compare with the counts in this file")
    options = parser.parse_args()
    counts = count_tokens()
    if options.save:
        options.save.write_text(json.dumps(counts, indent=1), encoding="utf-8")
        return
    before = json.loads(options.before.read_text(encoding="utf-8")) if options.before else counts
    report("client tokens", " ".join(["python benchmarks/client_tokens.py", *sys.argv[1:]]), compare(counts, before))


if __name__ == "__main__":
    main()
