from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.stdio_server import StdioServer, child_pids

OpenServer = Callable[..., StdioServer]


@pytest.fixture
def shelf(tmp_path: Path, isles_zim: Path, town_zim: Path) -> Path:
    """A directory with two sound archives."""
    for archive in (isles_zim, town_zim):
        shutil.copy(archive, tmp_path / archive.name)
    return tmp_path


@pytest.fixture(scope="module")
def searcher(isles_zim: Path) -> Iterator[StdioServer]:
    """One server for many calls."""
    with StdioServer("--mode", "advanced", isles_zim) as server:
        yield server


def test_one_archive_is_searched(open_server: OpenServer, isles_zim: Path) -> None:
    found = open_server(isles_zim).call("zim_search", query="Who founded Ravenport?", limit=1)

    assert found["results"][0]["snippet"].startswith("The town was **founded** in 1743")
    assert (found["mode"], found["limit"], found["offset"]) == ("fulltext", 1, 0)
    assert {"query", "archive", "total", "next_cursor", "done"} <= found.keys()


def test_a_cursor_alone_goes_on(open_server: OpenServer, isles_zim: Path) -> None:
    server = open_server(isles_zim)
    for mode, rows in (("fulltext", "results"), ("title", "results"), ("suggest", "suggestions")):
        query = "harbour" if mode == "fulltext" else "merc"
        whole = server.call("zim_search", query=query, mode=mode)
        first = server.call("zim_search", query=query, mode=mode, limit=1)
        second = server.call("zim_search", cursor=first["next_cursor"])

        assert [*first[rows], *second[rows]] == whole[rows][:2]
        assert (second["query"], second["mode"], second["limit"]) == (query, mode, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "query: required, but not given; say what to look for"),
        ({"query": "  "}, "query is empty."),
        ({"query": "\x00\x07"}, "query is empty."),
        ({"query": "x" * 10_000}, "query: String should have at most 1000 characters"),
        ({"query": "x", "limit": 0}, "limit: should be greater than or equal to 1, not 0"),
        ({"query": "x", "limit": 101}, "limit: should be less than or equal to 100, not 101"),
        (
            {"query": "x", "limit": 51, "mode": "suggest"},
            "limit: should be 1 to 50 with mode='suggest', not 51",
        ),
        ({"query": "x", "mode": "regex"}, "mode: should be 'fulltext', 'title' or 'suggest', not 'regex'"),
        (
            {"query": "x", "mode": "title", "namespace": "C"},
            "namespace and content_type belong to mode='fulltext'",
        ),
        (
            {"query": "x", "cross_file": True, "zim_file_path": "isles"},
            "cross_file and zim_file_path exclude each other: leave one out",
        ),
        ({"query": "x", "cursor": "nonsense"}, "This cursor is not one of this server's."),
    ],
)
def test_a_wrong_call_is_explained(searcher: StdioServer, arguments: dict[str, Any], message: str) -> None:
    error = searcher.call("zim_search", **arguments)

    assert error["status"] == "error"
    assert error["message"].startswith(message)


def test_all_archives_are_searched_at_once(open_server: OpenServer, shelf: Path) -> None:
    found = open_server(shelf).call("zim_search", query="harbour town", cross_file=True)

    assert {row["archive"] for row in found["results"]} == {"isles_en_all_2026-01.zim", "towns_en_all_2026-01.zim"}
    assert [row["score"] for row in found["results"]] == sorted(
        (row["score"] for row in found["results"]), reverse=True
    )
    assert [row["archive"] for row in found["per_file_results"]] == [
        "isles_en_all_2026-01.zim",
        "towns_en_all_2026-01.zim",
    ]
    assert all(row["total"] >= len(row["results"]) > 0 for row in found["per_file_results"])
    assert (found["archives_searched"], found["archives_failed"]) == (2, 0)
    assert (found["query"], found["mode"], found["done"]) == ("harbour town", "fulltext", True)


@pytest.mark.parametrize("query", ["harbour", "who founded Ravenport"])
def test_pages_over_all_archives_joined_are_the_whole_list(open_server: OpenServer, shelf: Path, query: str) -> None:
    server = open_server(shelf)
    whole = server.call("zim_search", query=query, cross_file=True, limit=100)["results"]
    page = server.call("zim_search", query=query, cross_file=True, limit=2)
    rows = page["results"]
    while page["next_cursor"]:
        page = server.call("zim_search", cursor=page["next_cursor"])
        rows += page["results"]

    assert rows == whole
    assert page["done"]
    assert len({(row["archive"], row["path"]) for row in rows}) == len(rows)


def test_a_broken_archive_is_named_and_the_others_answer(open_server: OpenServer, shelf: Path, zims: Path) -> None:
    for name in ("not_a_zim.zim", "decompression_bomb.zim"):
        shutil.copy(zims / "damaged" / name, shelf / name)

    found = open_server(shelf).call("zim_search", query="Ravenport", cross_file=True)

    broken = {row["archive"]: row["error"] for row in found["per_file_results"] if "error" in row}
    assert "not_a_zim.zim" in broken
    assert found["results"][0]["path"] == "Ravenport"
    assert found["archives_failed"] == len(broken)


def test_an_archive_whose_index_crashes_is_read_without_it(open_server: OpenServer, shelf: Path, zims: Path) -> None:
    shutil.copy(zims / "damaged/zeroed_index_aborts_search.zim", shelf / "aborts.zim")

    found = open_server(shelf).call("zim_search", query="create table", cross_file=True)

    (row,) = [row for row in found["per_file_results"] if row["archive"] == "aborts.zim"]
    assert row["reason"] == "index_closed"


def test_an_archive_that_is_late_is_named_and_the_others_answer(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf, WORKER__DEADLINE_SECONDS="5", CACHE__ENABLED="false")
    server.call("zim_search", query="harbour", zim_file_path="towns_en_all")
    for worker in child_pids(server.process.pid):
        os.kill(worker, signal.SIGSTOP)

    found = server.call("zim_search", query="harbour", cross_file=True)

    late = [row["archive"] for row in found["per_file_results"] if "error" in row]
    assert (found["archives_searched"], found["archives_failed"], len(late)) == (1, 1, 1)
    assert {row["archive"] for row in found["results"]}.isdisjoint(late)
    assert found["results"]


def test_where_the_index_is_closed_the_texts_are_read(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "damaged/zeroed_index_aborts_search.zim")

    found = server.call("zim_search", query="foreign key")

    assert found["reason"] == "index_closed"
    assert found["results"][0]["path"] == "foreignkeys"


def test_titles_and_suggestions_of_all_archives_are_merged(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf)

    titles = server.call("zim_search", query="zurich", mode="title", cross_file=True)
    suggestions = server.call("zim_search", query="raven", mode="suggest", cross_file=True)

    assert [(row["archive"], row["match"]) for row in titles["results"]] == [
        ("isles_en_all_2026-01.zim", "exact"),
        ("towns_en_all_2026-01.zim", "exact"),
    ]
    assert [row["path"] for row in suggestions["results"]] == ["Ravenport", "Ravenport"]
    assert suggestions["per_file_results"][0]["suggestions"] == [{"path": "Ravenport", "title": "Ravenport"}]


def test_a_search_of_all_archives_is_charged_for_each(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(
        shelf, RATE_LIMIT__ENABLED="true", RATE_LIMIT__REQUESTS_PER_SECOND="1", RATE_LIMIT__BURST_SIZE="5"
    )

    server.call("zim_search", query="harbour", cross_file=True)
    error = server.call("zim_search", query="harbour", cross_file=True)

    assert error["operation"] == "rate_limited"
    assert error["retry_after"] > 0


def test_a_cursor_over_all_archives_ends_with_a_change_of_them(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf)
    cursor = server.call("zim_search", query="harbour", cross_file=True, limit=1)["next_cursor"]
    (shelf / "towns_en_all_2026-01.zim").unlink()

    error = server.call("zim_search", cursor=cursor)

    assert error["message"] == "This cursor continues a listing of another archive."


def test_the_length_of_snippets_and_of_pages_is_a_setting(open_server: OpenServer, isles_zim: Path) -> None:
    server = open_server(isles_zim, CONTENT__SNIPPET_LENGTH="100", CONTENT__DEFAULT_SEARCH_LIMIT="2")

    found = server.call("zim_search", query="harbour")

    assert len(found["results"]) == found["limit"] == 2
    assert all(len(row["snippet"]) < 130 for row in found["results"])
