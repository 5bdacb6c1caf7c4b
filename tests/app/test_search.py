from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.archives import write_zim
from support.stdio_server import StdioServer, child_pids

OpenServer = Callable[..., StdioServer]


@pytest.fixture
def directory(tmp_path: Path, isles_zim: Path, town_zim: Path) -> Path:
    """A directory with two archives."""
    for archive in (isles_zim, town_zim):
        shutil.copy(archive, tmp_path / archive.name)
    return tmp_path


@pytest.fixture(scope="module")
def server(isles_zim: Path) -> Iterator[StdioServer]:
    """A server for calls that change nothing."""
    with StdioServer("--mode", "advanced", isles_zim) as server:
        yield server


def test_search_returns_a_page_of_results(open_server: OpenServer, isles_zim: Path) -> None:
    page = open_server(isles_zim).call("zim_search", query="Who founded Ravenport?", limit=1)

    assert page["results"][0]["snippet"].startswith("The town was **founded** in 1743")
    assert (page["mode"], page["limit"], page["offset"]) == ("fulltext", 1, 0)
    assert {"query", "archive", "total", "next_cursor", "done"} <= page.keys()


def test_search_continues_with_only_a_cursor(open_server: OpenServer, isles_zim: Path) -> None:
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
def test_invalid_search_is_explained(server: StdioServer, arguments: dict[str, Any], message: str) -> None:
    error = server.call("zim_search", **arguments)

    assert error["status"] == "error"
    assert error["message"].startswith(message)


def test_results_of_all_archives_are_merged(open_server: OpenServer, directory: Path) -> None:
    page = open_server(directory).call("zim_search", query="harbour town", cross_file=True)

    assert {row["archive"] for row in page["results"]} == {"isles_en_all_2026-01.zim", "towns_en_all_2026-01.zim"}
    assert [row["score"] for row in page["results"]] == sorted((row["score"] for row in page["results"]), reverse=True)
    assert [row["archive"] for row in page["per_file_results"]] == [
        "isles_en_all_2026-01.zim",
        "towns_en_all_2026-01.zim",
    ]
    assert all(row["total"] >= len(row["results"]) > 0 for row in page["per_file_results"])
    assert (page["archives_searched"], page["archives_failed"]) == (2, 0)
    assert (page["query"], page["mode"], page["done"]) == ("harbour town", "fulltext", True)


def test_archive_without_a_rare_word_is_only_counted(open_server: OpenServer, tmp_path: Path) -> None:
    histories = {f"History_of_{n}": f"<p>The history of number {n} is long.</p>" for n in range(30)}
    music = {"Jazz": "<p>The history of jazz began in New Orleans.</p>", "Blues": "<p>Blues is older than jazz.</p>"}
    for name, pages in {"histories": histories, "music": music, "towns": {"Town": "<p>A town.</p>"}}.items():
        write_zim(tmp_path / f"{name}.zim", pages)

    page = open_server(tmp_path).call("zim_search", query="history of jazz", cross_file=True)

    assert {row["archive"] for row in page["results"]} == {"music.zim"}
    assert [row["archive"] for row in page["per_file_results"]] == ["music.zim"]
    assert (page["archives_searched"], page["archives_without_results"]) == (3, 2)


def test_passage_of_a_result_stands_in_one_list(open_server: OpenServer, directory: Path) -> None:
    page = open_server(directory).call("zim_search", query="harbour town", cross_file=True)

    assert all("snippet" in row for row in page["results"])
    assert not [hit for row in page["per_file_results"] for hit in row["results"] if "snippet" in hit]


@pytest.mark.parametrize("arguments", [{}, {"limit": 20}, {"mode": "title"}, {"mode": "suggest", "limit": 20}])
def test_answer_is_short_with_any_number_of_archives(
    open_server: OpenServer, town_zim: Path, tmp_path: Path, arguments: dict[str, Any]
) -> None:
    for number in range(60):
        shutil.copy(town_zim, tmp_path / f"towns{number}.zim")
    for number in range(40):
        (tmp_path / f"broken{number}.zim").write_bytes(b"not an archive" * 100)
    page = open_server(tmp_path).call("zim_search", query="Ravenport", cross_file=True, **arguments)

    assert (page["archives_searched"], page["archives_failed"]) == (60, 40)
    assert len(page["per_file_results"]) == 25
    assert page["archives_not_listed"] == 75
    assert len(json.dumps(page)) < 12_000


def test_list_of_many_archives_ends_earlier(open_server: OpenServer, town_zim: Path, tmp_path: Path) -> None:
    for number in range(60):
        shutil.copy(town_zim, tmp_path / f"towns{number}.zim")
    error = open_server(tmp_path).call("zim_search", query="Ravenport", cross_file=True, offset=900)

    assert "has 333 results at most" in error["message"]


@pytest.mark.parametrize("query", ["harbour", "who founded Ravenport"])
def test_merged_pages_joined_are_the_whole_list(open_server: OpenServer, directory: Path, query: str) -> None:
    server = open_server(directory)
    whole = server.call("zim_search", query=query, cross_file=True, limit=100)["results"]
    page = server.call("zim_search", query=query, cross_file=True, limit=2)
    rows = page["results"]
    while page["next_cursor"]:
        page = server.call("zim_search", cursor=page["next_cursor"])
        rows += page["results"]

    assert rows == whole
    assert page["done"]
    assert len({(row["archive"], row["path"]) for row in rows}) == len(rows)


def test_damaged_archive_is_named_among_results(open_server: OpenServer, directory: Path, zims: Path) -> None:
    for name in ("not_a_zim.zim", "decompression_bomb.zim"):
        shutil.copy(zims / "damaged" / name, directory / name)

    page = open_server(directory).call("zim_search", query="Ravenport", cross_file=True)

    failed = {row["archive"]: row["error"] for row in page["per_file_results"] if "error" in row}
    assert "not_a_zim.zim" in failed
    assert page["results"][0]["path"] == "Ravenport"
    assert page["archives_failed"] == len(failed)


def test_archive_with_a_crashing_index_is_scanned(open_server: OpenServer, directory: Path, zims: Path) -> None:
    shutil.copy(zims / "damaged/zeroed_index_aborts_search.zim", directory / "aborts.zim")

    page = open_server(directory).call("zim_search", query="create table", cross_file=True)

    (row,) = [row for row in page["per_file_results"] if row["archive"] == "aborts.zim"]
    assert row["reason"] == "index_closed"


def test_slow_archive_is_named_among_results(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory, WORKER__DEADLINE_SECONDS="5", CACHE__ENABLED="false", PASSAGE_INDEX_ENABLED="false")
    server.call("zim_search", query="harbour", zim_file_path="towns_en_all")
    for worker in child_pids(server.process.pid):
        os.kill(worker, signal.SIGSTOP)

    page = server.call("zim_search", query="harbour", cross_file=True)

    failed = [row["archive"] for row in page["per_file_results"] if "error" in row]
    assert (page["archives_searched"], page["archives_failed"], len(failed)) == (1, 1, 1)
    assert {row["archive"] for row in page["results"]}.isdisjoint(failed)
    assert page["results"]


def test_archive_with_a_quarantined_index_is_scanned(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "damaged/zeroed_index_aborts_search.zim")

    page = server.call("zim_search", query="foreign key")

    assert page["reason"] == "index_closed"
    assert page["results"][0]["path"] == "foreignkeys"


def test_titles_and_suggestions_are_merged(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory)

    titles = server.call("zim_search", query="zurich", mode="title", cross_file=True)
    suggestions = server.call("zim_search", query="raven", mode="suggest", cross_file=True)

    assert [(row["archive"], row["match"]) for row in titles["results"]] == [
        ("isles_en_all_2026-01.zim", "exact"),
        ("towns_en_all_2026-01.zim", "exact"),
    ]
    assert [row["path"] for row in suggestions["results"]] == ["Ravenport", "Ravenport"]
    assert suggestions["per_file_results"][0]["suggestions"] == [{"path": "Ravenport", "title": "Ravenport"}]


def test_search_of_all_archives_costs_more(open_server: OpenServer, directory: Path) -> None:
    server = open_server(
        directory, RATE_LIMIT__ENABLED="true", RATE_LIMIT__REQUESTS_PER_SECOND="0.01", RATE_LIMIT__BURST_SIZE="5"
    )

    server.call("zim_search", query="harbour", cross_file=True)
    error = server.call("zim_search", query="harbour", cross_file=True)

    assert error["operation"] == "rate_limited"
    assert error["retry_after"] > 0


def test_cursor_is_refused_after_an_archive_is_removed(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory)
    cursor = server.call("zim_search", query="harbour", cross_file=True, limit=1)["next_cursor"]
    (directory / "towns_en_all_2026-01.zim").unlink()

    error = server.call("zim_search", cursor=cursor)

    assert error["message"] == "This cursor continues a listing of another archive."


def test_settings_limit_snippets_and_pages(open_server: OpenServer, isles_zim: Path) -> None:
    server = open_server(isles_zim, CONTENT__SNIPPET_LENGTH="100", CONTENT__DEFAULT_SEARCH_LIMIT="2")

    page = server.call("zim_search", query="harbour")

    assert len(page["results"]) == page["limit"] == 2
    assert all(len(row["snippet"]) < 130 for row in page["results"])
