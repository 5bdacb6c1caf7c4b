"""`search` and `fetch` as connectors call them, over stdio and HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.archives import write_zim
from support.http_server import HttpServer, McpClient, read_reply
from support.stdio_server import STATELESS_VERSION, StdioServer

CANONICAL = '<link rel="canonical" href="https://tea.example/assam.html"><p>Assam is a black tea.</p>'


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("connector")
    pages = {"Darjeeling": "<p>Darjeeling is a black tea from India.</p>"}
    write_zim(folder / "wikipedia_en_tea_2026-01.zim", pages)
    write_zim(
        folder / "teas.zim", {"Assam": CANONICAL, "Oolong": "<p>Oolong is a tea between green and black tea.</p>"}
    )
    write_zim(folder / "web.zim", {"tea.example/sencha": "<p>Sencha is a green tea, not a black tea.</p>"})
    return folder


@pytest.fixture(scope="module")
def server(directory: Path) -> Iterator[StdioServer]:
    with StdioServer("--connector-tools", directory) as server:
        yield server


def test_tools_are_offered_on_request_only(server: StdioServer, directory: Path) -> None:
    with StdioServer("--mode", "advanced", directory) as other:
        others = [tool["name"] for tool in other.request("tools/list")["tools"]]

    assert [tool["name"] for tool in server.request("tools/list")["tools"]] == ["zim_query", "search", "fetch"]
    assert not {"search", "fetch"} & set(others)


def test_search_returns_ids_and_urls_to_cite(server: StdioServer) -> None:
    results = server.call("search", query="black tea")["results"]

    assert {row["id"]: row["url"] for row in results} == {
        "zim://wikipedia_en_tea_2026-01/entry/Darjeeling": "https://en.wikipedia.org/wiki/Darjeeling",
        "zim://teas/entry/Assam": "https://tea.example/assam.html",
        "zim://teas/entry/Oolong": "zim://teas/entry/Oolong",
        "zim://web/entry/tea.example/sencha": "https://tea.example/sencha",
    }
    assert all(set(row) == {"id", "title", "url", "text"} for row in results)
    assert "**" not in str(results)


def test_fetch_returns_the_document_of_an_id(server: StdioServer) -> None:
    for row in server.call("search", query="black tea")["results"]:
        document = server.call("fetch", id=row["id"])

        assert set(document) == {"id", "title", "text", "url", "metadata"}
        assert {name: document[name] for name in ("id", "title", "url")} == {
            name: row[name] for name in ("id", "title", "url")
        }
        assert "tea" in document["text"]
        assert all(isinstance(value, str) for value in document["metadata"].values())


def test_result_has_one_text_block_with_the_same_json(server: StdioServer) -> None:
    result = server.request("tools/call", {"name": "search", "arguments": {"query": "nothing like zorblax"}})

    assert result["structuredContent"] == {"results": []}
    assert [block["text"] for block in result["content"]] == ['{"results":[]}']


def test_unknown_id_is_explained(server: StdioServer) -> None:
    answer = server.call("fetch", id="zim://teas/entry/Zorblax")

    assert answer["operation"] == "entry_not_found"


def test_urls_lead_to_the_page_over_http(directory: Path) -> None:
    def call(client: McpClient, name: str, **arguments: Any) -> dict[str, Any]:
        reply = read_reply(client.post("tools/call", {"name": name, "arguments": arguments}))
        return dict(reply["result"]["structuredContent"])

    with HttpServer((directory,), {"CONNECTOR_TOOLS": "true"}) as server, McpClient(server.url) as client:
        (row,) = [row for row in call(client, "search", query="oolong")["results"] if row["title"] == "Oolong"]
        document = call(client, "fetch", id=row["id"])

    assert row["url"] == document["url"] == f"{server.root}/read/teas/Oolong"


def test_stateless_client_uses_them(directory: Path) -> None:
    with StdioServer("--connector-tools", directory).with_version(STATELESS_VERSION) as server:
        assert server.call("search", query="Darjeeling")["results"][0]["title"] == "Darjeeling"
