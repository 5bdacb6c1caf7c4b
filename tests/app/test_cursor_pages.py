"""Lists that are read page by page with cursors, over the stdio server."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.archives import write_zim
from support.stdio_server import StdioServer

OpenServer = Callable[..., StdioServer]
ISLES = "isles_en_all_2026-01"
TOWNS = "towns_en_all_2026-01"
LINKED = {
    "Hub": "<p>See <a href='Near'>near</a>, <a href='Far'>far</a> and <a href='Side'>side</a>.</p>",
    "Near": "<p>Back to the <a href='Hub'>hub</a>, <a href='Far'>far</a> or <a href='Side'>side</a>.</p>",
    "Far": "<p>Nothing here.</p>",
    "Side": "<p>Nothing.</p>",
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, isles_zim: Path, town_zim: Path) -> Iterator[StdioServer]:
    """A server of three archives, for many calls."""
    directory = tmp_path_factory.mktemp("archives")
    for archive in (isles_zim, town_zim):
        shutil.copy(archive, directory / archive.name)
    write_zim(directory / "linked.zim", LINKED)
    with StdioServer("--mode", "advanced", directory) as server:
        yield server


def read_pages(server: StdioServer, tool: str, **arguments: Any) -> list[dict[str, Any]]:
    """Call a tool, then follow the cursors, each without any other argument."""
    pages = [server.call(tool, **arguments)]
    while pages[-1]["next_cursor"]:
        pages.append(server.call(tool, cursor=pages[-1]["next_cursor"]))
    assert [page["done"] for page in pages] == [False] * (len(pages) - 1) + [True]
    return pages


def joined(pages: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
    return [row for page in pages for row in page[key]]


def assert_refused(error: dict[str, Any], message: str) -> None:
    assert error["status"] == "error"
    assert message in error["message"]


def test_single_page_of_results_has_no_cursor(server: StdioServer) -> None:
    page = server.call("zim_search", zim_file_path=ISLES, query="Who founded Ravenport?", limit=10)

    assert (page["query"], page["mode"], page["archive"]) == ("Who founded Ravenport?", "fulltext", f"{ISLES}.zim")
    assert (page["offset"], page["limit"], page["next_cursor"], page["done"]) == (0, 10, None, True)
    assert page.keys().isdisjoint({"corrected", "relaxed", "reason", "hint"})


@pytest.mark.parametrize(("mode", "rows"), [("fulltext", "results"), ("title", "results"), ("suggest", "suggestions")])
def test_empty_search_is_done(server: StdioServer, mode: str, rows: str) -> None:
    page = server.call("zim_search", zim_file_path=ISLES, query="xylophone", mode=mode)

    assert (page[rows], page["total"], page["next_cursor"], page["done"]) == ([], 0, None, True)


@pytest.mark.parametrize("query", ["harbour", "Who founded Ravenport?", "mercury trade"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_fulltext_pages_joined_are_the_whole_list(server: StdioServer, query: str, limit: int) -> None:
    whole = server.call("zim_search", zim_file_path=ISLES, query=query, limit=100)

    pages = read_pages(server, "zim_search", zim_file_path=ISLES, query=query, limit=limit)
    rows = joined(pages, "results")

    assert rows == whole["results"]
    assert whole["total"] == len(rows) == len({row["path"] for row in rows})
    assert [page["offset"] for page in pages] == list(range(0, len(rows), limit))
    by_offset = server.call("zim_search", zim_file_path=ISLES, query=query, limit=1, offset=1)
    assert by_offset["results"] == whole["results"][1:2]


@pytest.mark.parametrize(
    ("mode", "query", "rows"), [("title", "mercury", "results"), ("suggest", "merc", "suggestions")]
)
def test_title_pages_joined_are_the_whole_list(server: StdioServer, mode: str, query: str, rows: str) -> None:
    whole = server.call("zim_search", zim_file_path=ISLES, query=query, mode=mode)

    first, second = read_pages(server, "zim_search", zim_file_path=ISLES, query=query, mode=mode, limit=2)

    assert joined([first, second], rows) == whole[rows]
    assert (first["done"], second["done"], second["next_cursor"], second["offset"]) == (False, True, None, 2)


def test_cursor_is_accepted_with_its_own_query(server: StdioServer) -> None:
    request = {"zim_file_path": ISLES, "query": "harbour", "limit": 1}
    cursor = server.call("zim_search", **request)["next_cursor"]

    page = server.call("zim_search", **request, cursor=cursor)

    assert page == server.call("zim_search", cursor=cursor)


def test_cursor_works_with_another_limit(server: StdioServer) -> None:
    whole = server.call("zim_search", zim_file_path=ISLES, query="harbour", limit=100)["results"]
    cursor = server.call("zim_search", zim_file_path=ISLES, query="harbour", limit=1)["next_cursor"]

    page = server.call("zim_search", cursor=cursor, limit=2)

    assert (page["results"], page["limit"]) == (whole[1:3], 2)


def test_long_search_is_complete(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "built/dictionary_pub.zim")

    pages = read_pages(server, "zim_search", query="bird", limit=100)
    paths = [row["path"] for row in joined(pages, "results")]

    assert len(paths) == len(set(paths)) == pages[-1]["total"] == 158


@pytest.mark.parametrize("limit", [1, 3, 7, 500])
def test_walk_is_the_same_in_any_steps(server: StdioServer, limit: int) -> None:
    whole = server.call("zim_browse", zim_file_path=TOWNS, namespace="C", limit=500)

    pages = read_pages(server, "zim_browse", zim_file_path=TOWNS, namespace="C", mode="walk", limit=limit)

    assert joined(pages, "entries") == whole["entries"]
    assert {page["total"] for page in pages} == {whole["total"]} == {7}


def test_articles_are_browsed_without_redirects(server: StdioServer) -> None:
    request = {"zim_file_path": TOWNS, "namespace": "C", "articles_only": True}
    page = server.call("zim_browse", **request, offset=1)

    pages = read_pages(server, "zim_browse", **request, mode="walk", limit=1)

    assert page["total"] == len(page["entries"]) + 1
    assert [row["path"] for row in [entry for p in pages for entry in p["entries"]]][1:] == [
        row["path"] for row in page["entries"]
    ]
    assert not [row for row in page["entries"] if "redirect_to" in row]


def test_browse_page_says_whether_it_is_the_last(server: StdioServer) -> None:
    middle = server.call("zim_browse", zim_file_path=TOWNS, namespace="C", offset=1, limit=2)
    beyond = server.call("zim_browse", zim_file_path=TOWNS, namespace="C", offset=700, limit=50)

    assert (middle["total"], middle["offset"], middle["limit"], middle["done"]) == (7, 1, 2, False)
    assert (beyond["entries"], beyond["total"], beyond["done"]) == ([], 7, True)


@pytest.mark.parametrize(("direction", "rows"), [("outbound", "outbound_links"), ("related", "related")])
def test_link_pages_joined_are_the_whole_list(open_server: OpenServer, zims: Path, direction: str, rows: str) -> None:
    server = open_server(zims / "real/devdocs_en_sqlite_2025-04.zim")
    request = {"entry_path": "pragma", "direction": direction}
    whole = server.call("zim_links", **request, limit=500)

    pages = read_pages(server, "zim_links", **request, limit=7)

    assert len(pages) > 1
    assert joined(pages, rows) == whole[rows]
    assert server.call("zim_links", **request, limit=5, offset=7)[rows] == whole[rows][7:12]


def test_single_page_of_links_has_no_cursor(server: StdioServer) -> None:
    page = server.call("zim_links", zim_file_path="linked", entry_path="Hub", limit=100)

    assert (len(page["outbound_links"]), page["internal_count"]) == (3, 3)
    assert (page["next_cursor"], page["done"]) == (None, True)


def test_search_cursor_of_another_request_is_refused(server: StdioServer) -> None:
    cursor = server.call("zim_search", zim_file_path=ISLES, query="harbour", limit=1)["next_cursor"]

    assert_refused(server.call("zim_search", query="herring", cursor=cursor), "another query")
    assert_refused(server.call("zim_search", mode="title", cursor=cursor), "another mode")
    assert_refused(server.call("zim_search", zim_file_path=TOWNS, cursor=cursor), "another archive")


def test_walk_cursor_of_another_request_is_refused(server: StdioServer) -> None:
    request = {"zim_file_path": TOWNS, "namespace": "C/maps", "mode": "walk", "limit": 1}
    cursor = server.call("zim_browse", **request)["next_cursor"]

    same_folder = server.call("zim_browse", namespace="maps", cursor=cursor, limit=5)

    assert [entry["path"] for entry in same_folder["entries"]] == ["maps/ravenport.png"]
    assert_refused(server.call("zim_browse", namespace="M", cursor=cursor), "another namespace")


def test_walk_cursor_of_another_archive_is_refused(server: StdioServer) -> None:
    request = {"zim_file_path": TOWNS, "namespace": "C", "mode": "walk", "limit": 1}
    cursor = server.call("zim_browse", **request)["next_cursor"]

    assert_refused(server.call("zim_browse", zim_file_path="linked", cursor=cursor), "another archive")


def test_cursor_of_a_replaced_archive_is_refused(open_server: OpenServer, tmp_path: Path, town_zim: Path) -> None:
    shutil.copy(town_zim, tmp_path / "towns.zim")
    server = open_server(tmp_path)
    cursor = server.call("zim_browse", namespace="C", mode="walk", limit=1)["next_cursor"]

    write_zim(tmp_path / "new.part", {"A": "x", "B": "y"}).replace(tmp_path / "towns.zim")

    assert_refused(server.call("zim_browse", cursor=cursor), "another archive")


def test_links_cursor_of_another_request_is_refused(server: StdioServer) -> None:
    cursor = server.call("zim_links", zim_file_path="linked", entry_path="Hub", limit=1)["next_cursor"]

    assert_refused(server.call("zim_links", entry_path="Near", cursor=cursor), "another article")
    assert_refused(server.call("zim_links", direction="related", cursor=cursor), "another direction")
    assert_refused(server.call("zim_links", zim_file_path=ISLES, cursor=cursor), "another archive")


def test_cursor_of_another_tool_is_refused(server: StdioServer) -> None:
    searched = server.call("zim_search", zim_file_path=ISLES, query="harbour", limit=1)["next_cursor"]
    walked = server.call("zim_browse", zim_file_path=TOWNS, namespace="C", mode="walk", limit=1)["next_cursor"]

    assert_refused(server.call("zim_browse", cursor=searched), "comes from zim_search, not from zim_browse")
    assert_refused(server.call("zim_links", cursor=searched), "comes from zim_search, not from zim_links")
    assert_refused(server.call("zim_search", cursor=walked), "comes from zim_browse, not from zim_search")
