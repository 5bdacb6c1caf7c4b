from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openzim_mcp import files
from openzim_mcp.library.facts import MAX_BYTES_ON_DISK
from support import command_line
from support.archives import write_zim
from support.stdio_server import TIMEOUT_SECONDS, StdioServer

OpenServer = Callable[..., StdioServer]
ARTICLES = 2100
"""More than are scanned."""
QUERY = "rare xylophone"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive without an index, and one with an index."""
    folder = tmp_path_factory.mktemp("library")
    pages = {f"Page {number}": f"<p>A lantern, number {number}.</p>" for number in range(ARTICLES)}
    write_zim(folder / "pages.zim", pages | {"Fog": "<p>Of a rare xylophone.</p>"}, index=False)
    write_zim(folder / "towns.zim", {"Ravenport": "<p>A harbour town.</p>"})
    return folder


def index_state(server: StdioServer, archive: str = "pages") -> object:
    return server.call("zim_health", zim_file_path=archive)["passage_index"]


def wait_until_complete(server: StdioServer, archive: str = "pages") -> None:
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while index_state(server, archive) != "complete":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def search(server: StdioServer) -> list[str]:
    return [row["path"] for row in server.call("zim_search", query=QUERY, zim_file_path="pages")["results"]]


def ask(server: StdioServer, question: str = f"Where is the {QUERY}?") -> str:
    result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": question}})
    return str(result["content"][0]["text"])


def test_index_is_built_when_an_archive_is_first_searched(open_server: OpenServer, library: Path) -> None:
    server = open_server(library, INDEX__ENABLED="true")
    assert index_state(server) == "not built"

    first = search(server)
    wait_until_complete(server)

    assert (first, search(server)) == ([], ["Fog"])


def test_index_is_built_when_a_question_is_asked(open_server: OpenServer, library: Path) -> None:
    server = open_server(library, INDEX__ENABLED="true")

    first = ask(server)
    wait_until_complete(server)

    assert "zim://pages/entry/Fog" not in first
    assert "zim://pages/entry/Fog" in ask(server)


def test_search_with_the_index_of_the_archive_builds_none(open_server: OpenServer, library: Path) -> None:
    server = open_server(library, INDEX__ENABLED="true")

    server.call("zim_search", query="harbour", cross_file=True)
    wait_until_complete(server)  # requested after that of the other archive

    assert index_state(server, "towns") == "not built"


def test_question_lets_all_archives_be_indexed(open_server: OpenServer, library: Path) -> None:
    server = open_server(library, INDEX__ENABLED="true")

    ask(server)
    wait_until_complete(server, "towns")

    assert "harbour town" in ask(server, "Which town has a harbour?")


def test_full_cache_gets_no_more_indexes(open_server: OpenServer, library: Path) -> None:
    facts = Path(files.archives_directory()) / "another" / "passages.sqlite"
    facts.parent.mkdir(parents=True)
    with facts.open("wb") as file:
        file.truncate(MAX_BYTES_ON_DISK + 1)  # sparse: it takes no space
    server = open_server(library, INDEX__ENABLED="true")

    ask(server)
    server.wait_for_log("no index of passages of towns: the cache holds 4.0 GB")

    assert index_state(server, "towns") == "not built"


def test_commands_use_an_index_but_build_none(open_server: OpenServer, library: Path) -> None:
    ask = ("search", QUERY, library / "pages.zim", "--json")
    before = command_line.run(*ask).json
    server = open_server(library, INDEX__ENABLED="true")
    assert index_state(server) == "not built"
    search(server)
    wait_until_complete(server)

    after = command_line.run(*ask).json

    assert before["results"] == []
    assert [row["path"] for row in after["results"]] == ["Fog"]


def test_setting_switches_building_off(open_server: OpenServer, library: Path) -> None:
    server = open_server(library, INDEX__ENABLED="true", PASSAGE_INDEX_ENABLED="false")

    search(server)
    server.call("zim_search", query=QUERY, cross_file=True)

    assert index_state(server) == "not built"
