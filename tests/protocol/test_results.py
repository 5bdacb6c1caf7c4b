"""Results as clients get them: schemas, structured answers and links, for clients that want them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from support.stdio_server import CLIENT_INFO, REQUEST_META, STATELESS_VERSION, StdioServer

UI = {"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}}
QUESTION = {"name": "zim_query", "arguments": {"query": "what kind of town is Ravenport?"}}
STRUCTURED_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("zim_search", {"query": "harbour"}),
    ("zim_search", {"query": "Raven", "mode": "suggest"}),
    ("zim_search", {"query": "harbour", "cross_file": True}),
    ("zim_get_section", {"entry_path": "Ravenport", "section_id": "0"}),
    ("zim_browse", {"namespace": "C"}),
    ("zim_browse", {"namespace": "C", "mode": "walk"}),
    ("zim_metadata", {}),
    ("zim_links", {"entry_path": "Ravenport"}),
    ("zim_links", {"entry_path": "Ravenport", "direction": "related"}),
    ("zim_health", {}),
    ("zim_health", {"zim_file_path": "towns"}),
]


@pytest.fixture(scope="module")
def server(town_zim: Path) -> Iterator[StdioServer]:
    with StdioServer("--mode", "advanced", town_zim) as server:
        yield server


def connect(server: StdioServer, version: str, capabilities: dict[str, Any]) -> dict[str, Any]:
    """Connect as a client with these capabilities, ask a question and return the result."""
    server.version = version
    if version == STATELESS_VERSION:
        meta = REQUEST_META | {"io.modelcontextprotocol/clientCapabilities": capabilities}
        return server.request("tools/call", QUESTION | {"_meta": meta})
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": CLIENT_INFO}
    server.request("initialize", params)
    server.notify("notifications/initialized")
    return server.request("tools/call", QUESTION)


@pytest.mark.parametrize(("tool", "arguments"), STRUCTURED_CALLS)
def test_result_fits_the_schema_of_the_tool(server: StdioServer, tool: str, arguments: dict[str, Any]) -> None:
    schemas = {row["name"]: row.get("outputSchema") for row in server.request("tools/list")["tools"]}
    result = server.call(tool, **arguments)

    jsonschema.Draft202012Validator.check_schema(schemas[tool])
    if result.get("status") != "error":
        jsonschema.validate(result, schemas[tool])
        assert set(schemas[tool].get("properties", result)) & set(result)


def test_tools_that_may_return_text_have_no_schema(server: StdioServer) -> None:
    rows = server.request("tools/list")["tools"]

    assert {row["name"] for row in rows if "outputSchema" not in row} == {"zim_query", "zim_get"}
    assert all(row["title"] and row["annotations"]["readOnlyHint"] for row in rows)


@pytest.mark.parametrize("version", ["2025-06-18", STATELESS_VERSION])
def test_answer_is_text_only_by_default(town_zim: Path, version: str) -> None:
    server = StdioServer(town_zim)
    result = connect(server, version, {})
    server.close()

    assert "structuredContent" not in result
    assert [block["type"] for block in result["content"]] == ["text"]
    assert result["_meta"]["openzim/answered"] is True


@pytest.mark.parametrize(
    ("version", "capabilities", "setting"),
    [("2025-11-25", UI, "auto"), (STATELESS_VERSION, UI, "auto"), ("2025-06-18", {}, "always")],
)
def test_answer_is_structured_for_clients_that_want_it(
    town_zim: Path, version: str, capabilities: dict[str, Any], setting: str
) -> None:
    server = StdioServer(town_zim, CONTENT__STRUCTURED_ANSWERS=setting)
    result = connect(server, version, capabilities)
    server.close()

    text, *links = result["content"]
    value = result["structuredContent"]
    assert value["text"] == text["text"]
    assert value["answered"] is True
    assert value["sources"] == result["_meta"]["openzim/sources"]
    assert [link["uri"] for link in links] == ["zim://towns_en_all_2026-01/entry/Ravenport"]
    assert links[0]["annotations"]["audience"] == ["user"]


@pytest.mark.parametrize(("version", "setting"), [("2025-03-26", "always"), ("2025-11-25", "never")])
def test_answer_stays_text_where_it_must(town_zim: Path, version: str, setting: str) -> None:
    server = StdioServer(town_zim, CONTENT__STRUCTURED_ANSWERS=setting)
    result = connect(server, version, UI)
    server.close()

    assert "structuredContent" not in result
    assert len(result["content"]) == 1
