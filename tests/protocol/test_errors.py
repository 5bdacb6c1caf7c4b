"""Handlers raise only JSON-RPC errors that clients may see."""

from __future__ import annotations

import json
import logging
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.server import Server

from openzim_mcp import errors, tokens
from openzim_mcp.protocol.errors import as_jsonrpc_error, fit_payload

pytestmark = pytest.mark.anyio
ERRORS: dict[str, Exception] = {
    "zim://bug": RuntimeError("/srv/private is not for clients"),
    "zim://key": KeyError("secret"),
    "zim://damaged": errors.ArchiveUnusable("'x' is damaged.", hint="Replace it.", archive="x.zim"),
    "zim://missing": errors.EntryNotFound("No such entry."),
    "zim://mcp": MCPError(-32000, "unchanged"),
}


@as_jsonrpc_error
async def fail(_context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    raise ERRORS[params.uri]


async def read_error(uri: str, mode: str) -> types.ErrorData:
    async with Client(Server("test", on_read_resource=fail), mode=mode) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    return caught.value.error


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("uri", ["zim://bug", "zim://key"])
async def test_unexpected_error_is_logged_and_hidden(uri: str, mode: str, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        error = await read_error(uri, mode)

    assert (error.code, error.message) == (-32603, "resources/read failed unexpectedly.")
    assert "private" not in error.model_dump_json()
    assert "secret" not in error.model_dump_json()
    assert type(ERRORS[uri]).__name__ in caplog.text


@pytest.mark.parametrize(
    ("uri", "mode", "code"),
    [
        ("zim://damaged", "legacy", -32603),
        ("zim://damaged", "2026-07-28", -32603),
        ("zim://missing", "legacy", -32002),
        ("zim://missing", "2026-07-28", -32602),
        ("zim://mcp", "legacy", -32000),
    ],
)
async def test_error_code_depends_on_the_protocol_version(uri: str, mode: str, code: int) -> None:
    assert (await read_error(uri, mode)).code == code


async def test_error_data_has_hint_and_archive() -> None:
    error = await read_error("zim://damaged", "legacy")

    assert error.message == "'x' is damaged."
    assert error.data == {
        "uri": "zim://damaged", "operation": "archive_unusable", "hint": "Replace it.", "archive": "x.zim",
    }  # fmt: skip


@pytest.mark.parametrize(
    "error",
    [
        errors.EntryNotFound("No entry " + "猫" * 200, hint="Take one of these: " + "犬" * 200),
        errors.ArchiveNotFound("Which one?", hint="One of them.", available_archives=[f"a{n}.zim" for n in range(50)]),
        errors.SectionNotFound("No section.", available_sections=[{"id": "x" * 90, "title": "y" * 90}] * 9, total=9),
    ],
)
async def test_error_costs_150_tokens_at_most(error: errors.OpenZimMcpError) -> None:
    payload = fit_payload(error.payload("zim_get"))

    assert tokens.estimate(json.dumps(payload, ensure_ascii=False, separators=(",", ":"))) <= 150
    assert payload["operation"] == error.operation
    lists = [(name, value) for name, value in error.details.items() if isinstance(value, list)]
    for name, rows in lists:
        shown = payload.get(name, [])
        assert shown == rows[: len(shown)]
        assert len(shown) + payload["not_shown"] == len(rows)
        assert 1 <= len(shown) <= 10


async def test_short_error_is_unchanged() -> None:
    payload = errors.EntryNotFound("No such entry.", hint="Look.", did_you_mean=["a"]).payload("zim_get")

    assert fit_payload(payload) == payload
