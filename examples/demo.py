"""Start the server with the handbook, connect a client, and show the answer and time of some tool calls."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("Which archives are there?", "zim_health", {}),
    ("What is this archive?", "zim_metadata", {}),
    ("What does it contain?", "zim_browse", {"namespace": "C", "limit": 3}),
    ("Ask a question:", "zim_query", {"query": "are symbolic links followed?", "compact_budget": 150}),
    ("Search:", "zim_search", {"query": "what if an archive makes libzim crash?", "limit": 1}),
    ("Read an article, in spite of a typo:", "zim_get", {"entry_path": "safty", "max_content_length": 500}),
    ("What are its sections?", "zim_get", {"entry_path": "safety", "view": "toc"}),
    ("Read one of them:", "zim_get_section", {"entry_path": "safety", "section_id": "Names and paths"}),
    ("Which links does an article have?", "zim_links", {"entry_path": "index", "limit": 3}),
    ("Is the file intact?", "zim_health", {"zim_file_path": "handbook"}),
    ("A wrong argument gets a helpful error:", "zim_browse", {"namespce": "C"}),
]


def shorten_answer(text: str, max_chars: int = 600) -> str:
    """Return the start of a long answer."""
    return text if len(text) <= max_chars else f"{text[:max_chars]}… ({len(text)} characters)"


async def run_demo() -> None:
    """Run all calls over one connection."""
    installed = Path(sys.executable).with_name("openzim-mcp")
    command = str(installed) if installed.exists() else shutil.which("openzim-mcp") or "openzim-mcp"
    server_arguments = ["--mode", "advanced", "--log-level", "WARNING"]
    start = time.perf_counter()
    # A library that does not exist: the demo is about the handbook, whatever was downloaded on this machine.
    no_library = {"OPENZIM_MCP_LIBRARY": str(Path(sys.prefix) / "no-library")}
    server = StdioServerParameters(command=command, args=server_arguments, env=no_library)
    async with Client(server) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        print(f"$ openzim-mcp {' '.join(server_arguments)}")
        print(f"connected in {time.perf_counter() - start:.1f} s; tools: {', '.join(tools)}\n")
        for question, tool, arguments in CALLS:
            call_start = time.perf_counter()
            result = await client.call_tool(tool, arguments)
            milliseconds = (time.perf_counter() - call_start) * 1000
            print(f"{question}\n> {tool} {json.dumps(arguments)}   ({milliseconds:.0f} ms)")
            answer = result.content[0]
            assert isinstance(answer, TextContent)
            print(shorten_answer(answer.text), "\n")


if __name__ == "__main__":
    anyio.run(run_demo)
