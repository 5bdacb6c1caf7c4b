"""Resources as clients see them, over stdio, in every protocol version."""

from __future__ import annotations

import base64
import json
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from openzim_mcp import cursors
from support.archives import write_zim
from support.stdio_server import (
    INITIALIZE_VERSIONS,
    PROTOCOL_VERSIONS,
    STATELESS_VERSION,
    StdioServer,
    server_environment,
)

OpenServer = Callable[..., StdioServer]
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(100)


def read(server: StdioServer, uri: str) -> dict[str, Any]:
    (content,) = server.request("resources/read", {"uri": uri})["contents"]
    return dict(content)


def read_json(server: StdioServer, uri: str) -> Any:
    content = read(server, uri)
    assert content["mimeType"] == "application/json"
    return json.loads(content["text"])


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory, zims: Path) -> Path:
    folder = tmp_path_factory.mktemp("directory")
    pages = {
        "Main": "<h1>Welcome</h1><p>The main page.</p>",
        "A/slash": "<p>slash</p>",
        "what?": "<p>question</p>",
        "C#": "<p>sharp</p>",
        "50%25": "<p>percent</p>",
        "Schrödinger's cat": "<p>cat</p>",
        "notes.txt": "plain",
        "maps/x.png": "not really a picture",
        "big.png": "x" * (10 * 2**20 + 1),
    }
    metadata: dict[str, str | bytes] = {"Title": "Odd Things", "Description": "All sorts", "Date": "2026-01-02"}
    write_zim(folder / "odd.zim", pages, redirects={"Cat": "Schrödinger's cat"}, metadata=metadata)
    shutil.copy(zims / "built/badmain.zim", folder)
    shutil.copy(zims / "real/wikibooks_aa_2014-11.zim", folder / "old.zim")
    shutil.copy(zims / "damaged/not_a_zim.zim", folder)
    write_zim(folder / "files.zim", {"Main": "<p>An archive named files.</p>"}, metadata={"Title": "Files"})
    tokyo = {"東\u3000京": "<p>Tokyo, written with an ideographic space.</p>"}
    write_zim(folder / "one two@three.zim", {"Main": "<p>x</p>", **tokyo})
    return folder


def list_described(server: StdioServer) -> dict[str, Any]:
    """The list, after all archives were described: by itself it waits for that for a few seconds only."""
    read(server, "zim://files")
    return dict(server.request("resources/list"))


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[StdioServer]:
    with StdioServer(directory) as server:
        yield server


def test_list_has_each_readable_archive(server: StdioServer) -> None:
    page = list_described(server)

    assert [row["uri"] for row in page["resources"]] == [
        "zim://files",
        "zim://badmain",
        "zim://files.zim",
        "zim://odd",
        "zim://old",
        "zim://one%20two%40three",
    ]
    assert "nextCursor" not in page
    odd = page["resources"][3]
    modified = odd["annotations"].pop("lastModified")
    assert odd == {
        "uri": "zim://odd",
        "name": "odd",
        "title": "Odd Things",
        "description": odd["description"],
        "mimeType": "application/json",
        "annotations": {"audience": ["user", "assistant"], "priority": 0.5},
    }
    assert odd["description"].startswith("“All sorts” — eng, 2026-01-02, ")
    assert modified.endswith("Z")


def test_listed_uris_can_be_read(server: StdioServer) -> None:
    resources = server.request("resources/list")["resources"]

    names = [read_json(server, row["uri"])["name"] for row in resources[1:]]

    assert names == [row["name"] for row in resources[1:]]


def test_templates_have_titles_and_descriptions(server: StdioServer) -> None:
    templates = server.request("resources/templates/list")["resourceTemplates"]

    assert [row["uriTemplate"] for row in templates] == [
        "zim://{name}",
        "zim://{name}/entry/{path}",
        "zim://{name}/text/{path}",
    ]
    assert all(row["title"] and row["description"] for row in templates)


def test_long_list_has_pages_without_repetition(open_server: OpenServer, zims: Path, tmp_path: Path) -> None:
    for number in range(205):
        shutil.copy(zims / "built/empty.zim", tmp_path / f"a{number:03}.zim")
    server = open_server(tmp_path)

    uris: list[str] = []
    cursor: dict[str, str] = {}
    pages = 0
    while True:
        page = server.request("resources/list", cursor)
        uris += [row["uri"] for row in page["resources"]]
        pages += 1
        if pages == 1:
            (tmp_path / "a000.zim").unlink()  # a removed archive must not shift the following pages
        if "nextCursor" not in page:
            break
        cursor = {"cursor": page["nextCursor"]}

    assert pages == 3
    assert uris == ["zim://files", *(f"zim://a{number:03}" for number in range(205))]


@pytest.mark.parametrize("cursor", ["nonsense", cursors.encode("zim_browse", "u", 1, {})])
def test_cursor_of_another_method_is_refused(server: StdioServer, cursor: str) -> None:
    error = server.request_error("resources/list", {"cursor": cursor})

    assert error["code"] == -32602
    assert error["data"]["operation"] == "invalid_cursor"


def test_list_of_files_has_the_rows_of_health(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory)

    rows = read_json(server, "zim://files")

    assert rows == server.call("zim_health")["loaded_archives"]
    assert {row["name"]: row["status"] for row in rows}["not_a_zim.zim"] == "unusable"
    assert str(directory) not in str(rows)


def test_overview_describes_an_archive(server: StdioServer) -> None:
    overview = read_json(server, "zim://odd")

    assert overview["path"] == "...odd.zim"
    assert overview["metadata"]["Title"] == "Odd Things"
    assert overview["namespaces"]["C"]["count"] == 10
    assert overview["main_page"] == "Main"
    assert overview["main_page_preview"] == "The main page."
    assert not [name for name in overview if name.endswith("_error")]


def test_overview_names_unreadable_parts(server: StdioServer) -> None:
    damaged = read_json(server, "zim://not_a_zim")
    no_main_page = read_json(server, "zim://badmain")

    assert set(damaged) == {
        "name", "path", "size", "modified", "metadata_error", "namespaces_error", "main_page_error",
    }  # fmt: skip
    assert "first bytes" in damaged["metadata_error"]
    assert no_main_page["metadata"]["Title"]
    assert no_main_page["main_page_preview"] is None


def test_overview_survives_a_decompression_bomb(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "damaged/decompression_bomb.zim")

    overview = read_json(server, "zim://decompression_bomb")

    assert any(name.endswith("_error") for name in overview)
    assert overview["name"] == "decompression_bomb"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Main", "<h1>Welcome</h1><p>The main page.</p>"),
        ("A%2Fslash", "<p>slash</p>"),
        ("A/slash", "<p>slash</p>"),
        ("what?", "<p>question</p>"),
        ("what%3F", "<p>question</p>"),
        ("C#", "<p>sharp</p>"),
        ("C%23", "<p>sharp</p>"),
        ("50%2525", "<p>percent</p>"),
        ("50%25", "<p>percent</p>"),
        ("Schrödinger's cat", "<p>cat</p>"),
        ("Schr%C3%B6dinger's%20cat", "<p>cat</p>"),
        ("Cat", "<p>cat</p>"),
        ("A/Main", "<h1>Welcome</h1><p>The main page.</p>"),
        ("C%2FMain", "<h1>Welcome</h1><p>The main page.</p>"),
    ],
)
def test_entry_is_found_with_and_without_escapes(server: StdioServer, path: str, text: str) -> None:
    uri = f"zim://odd/entry/{path}"

    content = read(server, uri)

    assert (content["uri"], content["mimeType"], content["text"]) == (uri, "text/html", text)


def test_source_of_an_answer_can_be_read(directory: Path) -> None:
    with StdioServer(directory) as server:
        arguments = {"query": "ideographic space", "zim_file_path": "one two@three"}
        answer = server.request("tools/call", {"name": "zim_query", "arguments": arguments})
        uri = answer["content"][0]["text"].rpartition(" — ")[2].strip()

        assert uri == "zim://one%20two%40three/entry/東%E3%80%80京"
        assert "ideographic" in read(server, uri)["text"]


def test_entries_are_text_or_bytes_by_type(server: StdioServer) -> None:
    text = read(server, "zim://odd/entry/notes.txt")
    picture = read(server, "zim://odd/entry/maps%2Fx.png")

    assert (text["mimeType"], text["text"]) == ("text/plain", "plain")
    assert (picture["mimeType"], base64.b64decode(picture["blob"])) == ("image/png", b"not really a picture")
    assert picture["_meta"] == {
        "openzim-mcp/path": "maps/x.png", "openzim-mcp/title": "maps/x.png", "openzim-mcp/size": 20,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("Main", "# Main\n\nThe main page."),
        ("A%2Fslash", "# A/slash\n\nslash"),
        ("what?", "# what?\n\nquestion"),
        ("C%23", "# C#\n\nsharp"),
        ("Cat", "# Schrödinger's cat\n\ncat"),
        ("notes.txt", "# notes.txt\n\nplain"),
    ],
)
def test_text_of_an_entry_is_markdown(server: StdioServer, path: str, text: str) -> None:
    uri = f"zim://odd/text/{path}"

    content = read(server, uri)

    assert (content["uri"], content["mimeType"], content["text"]) == (uri, "text/markdown", text)
    assert set(content["_meta"]) == {"openzim-mcp/path", "openzim-mcp/title"}


def test_text_of_a_picture_says_what_it_is(server: StdioServer) -> None:
    assert "image/png" in read(server, "zim://odd/text/maps/x.png")["text"]


def test_long_text_says_where_zim_get_continues(open_server: OpenServer, tmp_path: Path) -> None:
    paragraphs = "".join(f"<p>Paragraph {number} of a long book.</p>" for number in range(20_000))
    server = open_server(write_zim(tmp_path / "book.zim", {"Book": paragraphs}, index=False))

    text = read(server, "zim://book/text/Book")["text"]
    offset = int(text.rpartition("[content_offset=")[2].partition(" ")[0])
    arguments = {"entry_path": "zim://book/text/Book", "content_offset": offset, "max_content_length": 200}
    page = server.request("tools/call", {"name": "zim_get", "arguments": arguments})["content"][0]["text"]

    last = int(text.rpartition(" of a long book.")[0].rpartition("Paragraph ")[2])
    assert f"## Content\n\nParagraph {last + 1} of a long book." in page


def test_namespace_of_an_old_archive_is_optional(server: StdioServer) -> None:
    main = read_json(server, "zim://old")["main_page"]

    with_namespace = read(server, f"zim://old/entry/{main}")
    without = read(server, f"zim://old/entry/{main.removeprefix('A/')}")

    assert main.startswith("A/")
    assert with_namespace["text"] == without["text"]


def test_archive_named_files_is_found_by_file_name(server: StdioServer) -> None:
    assert isinstance(read_json(server, "zim://files"), list)
    assert read_json(server, "zim://files.zim")["metadata"]["Title"] == "Files"
    assert read(server, "zim://files/entry/Main")["text"] == "<p>An archive named files.</p>"


def test_entry_over_10_mib_is_refused(server: StdioServer) -> None:
    error = server.request_error("resources/read", {"uri": "zim://odd/entry/big.png"})

    assert error["code"] == -32603
    assert error["message"] == "'big.png' has 10485761 bytes; at most 10485760 are sent."
    assert (error["data"]["size"], error["data"]["cap"]) == (10485761, 10485760)


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_unknown_uri_has_the_error_code_of_the_version(directory: Path, version: str) -> None:
    uris = [
        "zim://nope",
        "zim://odd/entry/nope",
        "zim://odd/text/nope",
        "zim://odd/text/",
        "zim://nope/entry/Main",
        "zim://",
        "zim:///etc/passwd",
        "zim://%2Fetc%2Fpasswd",
        "zim://odd/entry/",
        "file:///etc/passwd",
        "nonsense",
        "zim://odd/other",
    ]
    with StdioServer(directory).with_version(version) as server:
        replies = [server.request_error("resources/read", {"uri": uri}) for uri in uris]

    assert {error["code"] for error in replies} == {-32602 if version == STATELESS_VERSION else -32002}
    assert [error["data"]["uri"] for error in replies] == uris
    assert str(directory) not in str(replies)


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_resources_are_served_in_every_version(directory: Path, version: str) -> None:
    with StdioServer(directory).with_version(version) as server:
        page = server.request("resources/list")
        content = read(server, "zim://odd/entry/Main")
        files = server.request("resources/read", {"uri": "zim://files"})

    assert [row["name"] for row in page["resources"]][:2] == ["files", "badmain"]
    assert content["text"].startswith("<h1>")
    assert ("ttlMs" in page) is ("ttlMs" in files) is (version == STATELESS_VERSION)


def test_icons_are_sent_in_versions_that_have_them(directory: Path) -> None:
    icons = {}
    for version in (INITIALIZE_VERSIONS[0], INITIALIZE_VERSIONS[-1], STATELESS_VERSION):
        with StdioServer(directory).with_version(version) as server:
            rows = list_described(server)["resources"]
            icons[version] = {row["name"]: row["icons"] for row in rows if "icons" in row}

    assert icons["2024-11-05"] == {}
    assert icons["2025-11-25"] == icons[STATELESS_VERSION]
    assert set(icons[STATELESS_VERSION]) == {"badmain", "old"}
    (icon,) = icons[STATELESS_VERSION]["old"]
    assert base64.b64decode(icon["src"].removeprefix("data:image/png;base64,")).startswith(b"\x89PNG")
    assert (icon["mimeType"], icon["sizes"]) == ("image/png", ["48x48"])


def test_listing_and_reading_resources_is_charged(open_server: OpenServer, town_zim: Path) -> None:
    limits = {"RATE_LIMIT__ENABLED": "true", "RATE_LIMIT__BURST_SIZE": "3", "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01"}
    server = open_server(town_zim, **limits)

    read(server, f"zim://{town_zim.stem}/entry/Ravenport")
    server.request("resources/list")
    read(server, f"zim://{town_zim.stem}")
    error = server.request_error("resources/read", {"uri": f"zim://{town_zim.stem}"})

    assert (error["code"], error["data"]["operation"]) == (-32603, "rate_limited")
    assert error["data"]["retry_after"] > 50


@pytest.mark.parametrize("uri", ["zim://nowhere", "zim://nowhere/entry/x", "http://not.ours"])
def test_reading_an_unknown_resource_is_charged(open_server: OpenServer, town_zim: Path, uri: str) -> None:
    limits = {"RATE_LIMIT__ENABLED": "true", "RATE_LIMIT__BURST_SIZE": "2", "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01"}
    server = open_server(town_zim, **limits)

    replies = [server.request_error("resources/read", {"uri": uri}) for _ in range(3)]

    operations = [reply["data"]["operation"] for reply in replies]
    assert operations[2] == "rate_limited"
    assert "rate_limited" not in operations[:2]


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_sdk_client_reads_resources(directory: Path, mode: str) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "openzim_mcp", str(directory)], env=server_environment({})
    )
    async with Client(server, mode=mode) as client:
        resources = (await client.list_resources()).resources
        result = await client.read_resource("zim://odd/entry/A/slash")

    assert resources[0].uri == "zim://files"
    assert result.contents[0].text == "<p>slash</p>"  # type: ignore[union-attr]
