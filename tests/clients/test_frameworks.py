"""The examples for LangChain and LlamaIndex run with the real packages."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from clients import tools

ROOT = Path(__file__).parent.parent.parent
_TIMEOUT_SECONDS = 120
_AWAITED = """
import asyncio, sys
from langchain_retriever import ZimRetriever
from openzim_mcp import Library
with Library(sys.argv[1]) as library:
    documents = asyncio.run(ZimRetriever(library=library, archive="isles").ainvoke("Who founded Ravenport?"))
print(documents[0].page_content, documents[0].metadata["source"], documents[0].metadata["section"])
"""


@pytest.fixture(scope="module")
def python() -> str:
    return tools.python_with("frameworks")


def run(python: str, *arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT / 'examples'}"}
    process = subprocess.run(
        [python, *arguments], env=environment, capture_output=True, text=True, timeout=_TIMEOUT_SECONDS, check=False
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def test_langchain_retriever_fills_a_prompt(python: str, isles_zim: Path) -> None:
    prompt = run(python, f"{ROOT}/examples/langchain_retriever.py", str(isles_zim), "Who founded Ravenport?")

    assert (
        "shipwright Ada Quill, who came from Alderwick.\nSource: zim://isles_en_all_2026-01/entry/Ravenport" in prompt
    )
    assert prompt.endswith("Question: Who founded Ravenport?\n")


def test_langchain_retriever_returns_nothing_if_not_answered(python: str, isles_zim: Path) -> None:
    prompt = run(python, f"{ROOT}/examples/langchain_retriever.py", str(isles_zim), "How fast does a swallow fly?")

    assert "(no passage)" in prompt


def test_langchain_retriever_can_be_awaited(python: str, isles_zim: Path) -> None:
    output = run(python, "-c", _AWAITED, str(isles_zim))

    assert output.endswith("who came from Alderwick. zim://isles_en_all_2026-01/entry/Ravenport History\n")


def test_llamaindex_reader_loads_all_articles(python: str, isles_zim: Path) -> None:
    output = run(python, f"{ROOT}/examples/llamaindex_reader.py", str(isles_zim))

    assert "zim://isles_en_all_2026-01/entry/Ravenport: '## History" in output
    assert output.endswith("16 articles, 19 nodes\n")
