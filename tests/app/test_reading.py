"""`zim_get`, `zim_get_section` and `zim_links` as clients call them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from support.archives import SHARED
from support.stdio_server import PROTOCOL_VERSIONS, StdioServer

OpenServer = Callable[..., StdioServer]


@pytest.fixture(scope="module")
def wiki() -> Iterator[StdioServer]:
    if not SHARED.is_dir():
        pytest.skip("the archives of ../shared/zims are missing")
    with StdioServer("--mode", "advanced", SHARED / "built/wiki_real_pub.zim") as server:
        yield server


def read_markdown(server: StdioServer, **arguments: Any) -> str:
    """Call `zim_get` and return the one text block of its result."""
    result = server.wait_for_response(server.start_call("zim_get", **arguments))["result"]
    (block,) = result["content"]
    assert "structuredContent" not in result
    return str(block["text"])


def test_article_is_one_block_of_markdown(wiki: StdioServer) -> None:
    assert read_markdown(wiki, entry_path="Hermitian_matrix").startswith(
        "# Hermitian matrix\n\nTitle: Hermitian matrix\nPath: Hermitian_matrix\nType: text/html\n\n## Content\n\n"
    )


def test_typo_shows_requested_and_actual_path(wiki: StdioServer) -> None:
    markdown = read_markdown(wiki, entry_path="hermitan matrix", max_content_length=100)

    assert "Requested Path: hermitan matrix\nActual Path: Hermitian_matrix\n" in markdown


def test_missing_entry_suggests_the_closest_titles(wiki: StdioServer) -> None:
    answer = wiki.call("zim_get", entry_path="Hermitian operators in physics")

    assert answer["operation"] == "entry_not_found"
    assert {"title": "Hermitian matrix", "uri": "zim://wiki_real_pub/entry/Hermitian_matrix"} in answer["did_you_mean"]
    assert len(answer["did_you_mean"]) <= 3


def test_pages_joined_are_the_whole_article(wiki: StdioServer) -> None:
    whole = read_markdown(wiki, entry_path="Dog").partition("## Content\n\n")[2]
    parts, offset = [], 0
    while offset >= 0:
        page = read_markdown(wiki, entry_path="Dog", max_content_length=5000, content_offset=offset).partition(
            "## Content\n\n"
        )[2]
        body, mark, line = page.rpartition("\n\n[content_offset=")
        parts.append(body if mark else page)
        offset = int(line.partition(" ")[0]) if mark else -1

    assert "".join(parts) == whole
    assert len(parts) > 8


def test_main_page_is_read(wiki: StdioServer) -> None:
    assert "Path: Main_Page\n" in read_markdown(wiki, main_page=True)


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"entry_path": "Dog", "entry_paths": ["Dog"]},
        {"entry_path": "Dog", "main_page": True},
        {"entry_paths": ["Dog"], "main_page": True},
        {"binary": True},
        {"main_page": True, "view": "summary"},
        {"entry_paths": ["Dog"], "binary": True},
        {"entry_paths": []},
        {"entry_paths": ["Dog"] * 51},
        {"find": "wolf"},
        {"entry_path": "Dog", "find": "wolf", "view": "toc"},
        {"entry_path": "Dog", "find": "wolf", "binary": True},
        {"main_page": True, "find": "wolf"},
        {"entry_paths": ["Dog"], "find": "wolf"},
    ],
)
def test_conflicting_arguments_are_refused(wiki: StdioServer, arguments: dict[str, Any]) -> None:
    assert wiki.call("zim_get", **arguments)["operation"] == "invalid_path_combination"


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({"max_content_length": 99}, "max_content_length"),
        ({"content_offset": -1}, "content_offset"),
        ({"compact_budget": "tiny"}, "compact_budget"),
        ({"compact_budget": 5}, "compact_budget"),
        ({"view": "everything"}, "view"),
        ({"find": " "}, "find"),
        ({"find": "x" * 201}, "find"),
        ({"entry_pth": "Dog"}, "entry_pth"),
    ],
)
def test_invalid_argument_is_named(wiki: StdioServer, arguments: dict[str, Any], argument: str) -> None:
    answer = wiki.call("zim_get", entry_path="Dog", **arguments)

    assert answer["operation"] == "invalid_arguments"
    assert answer["arguments"] == [argument]


@pytest.mark.parametrize("options", [{}, {"compact": True}])
def test_offsets_of_found_lines_read_from_there(wiki: StdioServer, options: dict[str, Any]) -> None:
    found = wiki.call("zim_get", entry_path="Dog", find="domesticated wolf", **options)

    assert (found["path"], found["archive"], found["find"]) == ("Dog", "wiki_real_pub.zim", "domesticated wolf")
    assert found["total"] == len(found["matches"]) > 1
    for match in found["matches"]:
        offset = match["content_offset"]
        page = read_markdown(wiki, entry_path="Dog", content_offset=offset, max_content_length=2000, **options)
        assert page.partition("## Content\n\n")[2].startswith(match["text"].strip("… "))


@pytest.mark.parametrize("options", [{}, {"compact_budget": 100}, {"compact_budget": 300}, {"max_content_length": 100}])
def test_pages_of_found_lines_are_all_lines(wiki: StdioServer, options: dict[str, Any]) -> None:
    offset, sections, total = 0, 0, None
    while offset is not None:
        page = wiki.call("zim_get", entry_path="Dog", find="dogs", content_offset=offset, **options)
        assert page["matches"]
        sections, total, offset = sections + len(page["matches"]), page["total"], page.get("next_offset")

    assert sections == total > 20


def test_nothing_found_is_a_result(wiki: StdioServer) -> None:
    assert wiki.call("zim_get", entry_path="Dog", find="xyzzy") == {
        "path": "Dog",
        "title": "Dog",
        "archive": "wiki_real_pub.zim",
        "find": "xyzzy",
        "matches": [],
        "total": 0,
    }


def test_batch_keeps_the_order_and_reports_errors(wiki: StdioServer) -> None:
    paths = ["Dog", "zzz no such thing", "Hermitian matrix", "Dog"]

    answer = wiki.call("zim_get", entry_paths=paths, max_content_length=200)

    assert [result["path"] for result in answer["results"]] == paths
    assert [result["success"] for result in answer["results"]] == [True, False, True, True]
    assert (answer["succeeded"], answer["failed"]) == (3, 1)
    assert set(answer["results"][0]) >= {"title", "mime_type", "content"}
    assert "no entry" in answer["results"][1]["error"]


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_bytes_are_sent_once(town_zim: Path, version: str) -> None:
    with StdioServer("--mode", "advanced", town_zim).with_version(version) as server:
        arguments = {"entry_path": "maps/ravenport.png", "binary": True}
        result = server.request("tools/call", {"name": "zim_get", "arguments": arguments})

    data = base64.b64encode(b"not really a picture").decode()
    (block,) = result["content"]
    payload = result.get("structuredContent") or json.loads(block["text"])
    assert json.dumps(result).count(data) == 1
    assert payload == json.loads(block["text"]) | {"data": data}
    assert set(payload) == {"path", "title", "mime_type", "size", "encoding", "data"}
    assert ("structuredContent" in result) is (version >= "2025-06-18")


@pytest.mark.parametrize("view", ["summary", "toc", "structure"])
def test_view_names_its_article(wiki: StdioServer, view: str) -> None:
    answer = wiki.call("zim_get", entry_path="Dog", view=view)

    assert (answer["path"], answer["title"], answer["archive"]) == ("Dog", "Dog", "wiki_real_pub.zim")
    assert answer["headings" if view == "structure" else view]


def test_section_names_its_neighbours(wiki: StdioServer) -> None:
    answer = wiki.call("zim_get_section", entry_path="dog", section_id="Senses")

    assert answer["content"].startswith("#### Senses\n\n")
    assert answer["parent"] == {"id": "Anatomy", "title": "Anatomy"}
    assert answer["previous"] == {"id": "Size_and_weight", "title": "Size and weight"}


def test_links_continue_with_only_a_cursor(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "real")
    first = server.call("zim_links", zim_file_path="devdocs_en_sqlite", entry_path="pragma", limit=40)

    second = server.call("zim_links", cursor=first["next_cursor"])

    assert len(second["outbound_links"]) == 40
    assert second["path"] == "pragma"
    assert first["outbound_links"] != second["outbound_links"]


def test_related_and_batches_cost_more(open_server: OpenServer, zims: Path) -> None:
    server = open_server(
        zims / "built/wiki_real_pub.zim",
        RATE_LIMIT__ENABLED="true",
        RATE_LIMIT__BURST_SIZE="6",
        RATE_LIMIT__REQUESTS_PER_SECOND="0.01",
    )

    related = server.call("zim_links", entry_path="Dog", direction="related")
    batch = server.call("zim_get", entry_paths=["Dog", "Dog", "Dog"])
    last = server.call("zim_links", entry_path="Dog", direction="related")

    assert (related.get("status"), batch.get("status"), last["operation"]) == (None, None, "rate_limited")


def test_damaged_index_does_not_prevent_reading(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "damaged/index_bytes_segfault_suggest.zim")

    missing = server.call("zim_get", entry_path="no such page at all")

    assert missing["operation"] == "entry_not_found"
    assert "Path: wal\n" in read_markdown(server, entry_path="wal", max_content_length=200)


def test_hostile_pages_are_read_in_time(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "built/nasty_pub.zim", WORKER__DEADLINE_SECONDS="10")
    rows = server.call("zim_browse", namespace="C", limit=500)["entries"]
    rows += server.call("zim_browse", namespace="C", limit=500, offset=500)["entries"]

    numbers = {row["path"]: server.start_call("zim_get", entry_path=row["path"]) for row in rows if "error" not in row}
    for path, number in numbers.items():
        result = server.wait_for_response(number)["result"]
        assert not result.get("isError"), (path, result)
