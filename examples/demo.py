"""Start the real server, connect a real client, ask a few things: what a model sees, and what it costs.

Serves the handbook that ships with the package.
"""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters

CALLS = [
    ("What is here?", "zim_health", {}),
    ("What is it about?", "zim_metadata", {}),
    ("What is in it?", "zim_browse", {"namespace": "C", "limit": 3}),
    ("Ask a question:", "zim_query", {"query": "what if an archive makes libzim crash?", "compact_budget": 150}),
    ("Search:", "zim_search", {"query": "what if an archive makes libzim crash?", "limit": 1}),
    ("Read an article, found in spite of the typo:", "zim_get", {"entry_path": "safty", "max_content_length": 500}),
    ("What are its sections?", "zim_get", {"entry_path": "safety", "view": "toc"}),
    ("Read one of them:", "zim_get_section", {"entry_path": "safety", "section_id": "A bad name"}),
    ("Where does an article lead?", "zim_links", {"entry_path": "index", "limit": 3}),
    ("Is the file sound?", "zim_health", {"zim_file_path": "handbook"}),
    ("A wrong word gets an answer that helps:", "zim_browse", {"namespce": "C"}),
]


def shorten(text: str, width: int = 600) -> str:
    """Return the start of a long answer."""
    return text if len(text) <= width else f"{text[:width]}… ({len(text)} characters)"


async def show() -> None:
    """Run every call through one connection."""
    beside = Path(sys.executable).with_name("openzim-mcp")
    command = str(beside) if beside.exists() else shutil.which("openzim-mcp") or "openzim-mcp"
    arguments = ["--mode", "advanced", "--log-level", "WARNING"]
    started = time.perf_counter()
    async with Client(StdioServerParameters(command=command, args=arguments)) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        print(f"$ openzim-mcp {' '.join(arguments)}")
        print(f"connected in {time.perf_counter() - started:.1f} s; tools: {', '.join(tools)}\n")
        for question, tool, given in CALLS:
            began = time.perf_counter()
            result = await client.call_tool(tool, given)
            took = (time.perf_counter() - began) * 1000
            print(f"{question}\n> {tool} {json.dumps(given)}   ({took:.0f} ms)")
            print(shorten(result.content[0].text), "\n")


if __name__ == "__main__":
    anyio.run(show)
