from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import Library
from support.archives import write_languages, write_zim
from support.http_server import HttpServer
from support.stdio_server import StdioServer, wait_until

GERMAN_TOWER = {"archive": "wikipedia_de_all.zim", "path": "Eiffelturm", "title": "Eiffelturm", "language": "de"}
GUIDE = {"archive": "wikivoyage_en_all.zim", "path": "Eiffel_Tower", "title": "Eiffel Tower", "language": "en"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    write_languages(tmp_path)
    return tmp_path


@pytest.fixture
def server(directory: Path) -> Iterator[StdioServer]:
    """A server that has opened all archives: what is not known in time is left out."""
    with StdioServer("--mode", "advanced", directory) as server:
        wait_until(lambda: len(view(server, "Eiffel_Tower").get("elsewhere", ())) == 2)
        yield server


def view(server: StdioServer, path: str, name: str = "summary", archive: str = "wikipedia_en_all") -> dict[str, Any]:
    return server.call("zim_get", entry_path=path, zim_file_path=archive, view=name)


@pytest.mark.parametrize("name", ["summary", "toc", "structure"])
def test_summary_and_outline_tell_where_else(server: StdioServer, name: str) -> None:
    assert view(server, "Eiffel Tower", name)["elsewhere"] == [GERMAN_TOWER, GUIDE]


def test_nothing_elsewhere_is_not_mentioned(server: StdioServer) -> None:
    assert "elsewhere" not in view(server, "Gift")
    assert "elsewhere" not in server.call(
        "zim_get", entry_path="Eiffel_Tower", zim_file_path="wikipedia_en_all", find="in"
    )


def test_budget_leaves_out_elsewhere_first(server: StdioServer) -> None:
    entry = {"entry_path": "Eiffel_Tower", "zim_file_path": "wikipedia_en_all", "view": "summary"}
    whole, small = (server.call("zim_get", **entry, compact_budget=budget) for budget in (4000, 100))

    assert "elsewhere" in whole
    assert "elsewhere" not in small
    assert small["summary"] == whole["summary"]


def test_dictionary_of_the_same_word_is_not_the_same(directory: Path, server: StdioServer) -> None:
    metadata: dict[str, str | bytes] = {"Name": "wiktionary_en_all", "Title": "Wiktionary", "Language": "eng"}
    write_zim(directory / "wiktionary_en_all.zim", {"Ada Lovelace": "<p>A name.</p>"}, metadata=metadata)

    rows = view(server, "Ada Lovelace")["elsewhere"]

    assert [row["archive"] for row in rows] == ["wikipedia_de_all.zim"]


def test_api_and_python_tell_where_else(directory: Path) -> None:
    parameters = {"ref": "Eiffel_Tower", "archive": "wikipedia_en_all"}
    with HttpServer((directory,)) as server:
        url = "/api/v1/read"
        wait_until(lambda: len(server.get(url, params=parameters | {"view": "toc"}).json().get("elsewhere", ())) == 2)
        summary = server.get(url, params=parameters | {"view": "summary"}).json()
        text = server.get(url, params=parameters).json()
        page = server.get("/related/wikipedia_en_all/Eiffel_Tower").text
    with Library(directory) as library:
        wait_until(lambda: bool(library.read_outline("Eiffelturm").elsewhere))

    assert summary["elsewhere"] == [GERMAN_TOWER, GUIDE]
    assert "elsewhere" not in text
    assert '<a href="/read/wikipedia_de_all/Eiffelturm">Eiffelturm</a>' in page
