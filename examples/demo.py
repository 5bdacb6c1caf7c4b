"""Build a small library with one damaged archive, connect a client to the server, and ask it in plain words."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

QUESTIONS = [
    (
        "A plain question is answered by the passage that holds the answer, with its source:",
        "can the police search my house?",
    ),
    ("An article is found by any of its names:", "what does the fourth amendment say?"),
    ("A source can be handed back:", "outline of zim://founding-documents/entry/Article_II"),
    ("What the archives do not hold is said:", "how deep is the ocean?"),
    ("The damaged archive is reported, and everything else works:", "list archives"),
]


def build_library(directory: Path) -> None:
    """Write an archive, and a copy of which the second half is missing, as after an interrupted download."""
    archive = directory / "founding-documents.zim"
    # In a process of its own, because libzim's writer reports its steps on the standard output.
    builder = [sys.executable, str(Path(__file__).with_name("founding_documents.py")), str(archive)]
    subprocess.run(builder, stdout=subprocess.DEVNULL, check=True)  # noqa: S603  our own program
    whole = archive.read_bytes()
    (directory / "half-a-download.zim").write_bytes(whole[: len(whole) // 2])


async def ask_questions(directory: Path) -> None:
    """Ask all questions over one connection, through the one tool that a model gets by default."""
    installed = Path(sys.executable).with_name("openzim-mcp")
    command = str(installed) if installed.exists() else shutil.which("openzim-mcp") or "openzim-mcp"
    start = time.perf_counter()
    server = StdioServerParameters(command=command, args=["--log-level", "ERROR", str(directory)])
    async with Client(server) as client:
        tools = [tool.name for tool in (await client.list_tools()).tools]
        print(f"$ openzim-mcp {directory.name}")
        print(f"A client has connected in {time.perf_counter() - start:.1f} s; it is offered {', '.join(tools)}.\n")
        for remark, question in QUESTIONS:
            question_start = time.perf_counter()
            result = await client.call_tool("zim_query", {"query": question, "compact_budget": 200})
            milliseconds = (time.perf_counter() - question_start) * 1000
            answer = result.content[0]
            assert isinstance(answer, TextContent)
            print(f"{remark}\n> {question}   ({milliseconds:.0f} ms)\n{answer.text}\n")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        library = Path(temporary) / "library"
        library.mkdir()
        print("Building an archive from the Constitution of the United States …", flush=True)
        build_library(library)
        anyio.run(ask_questions, library)
