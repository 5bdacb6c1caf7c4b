"""Nothing but results and errors made for others leaves a handler."""

from __future__ import annotations

import logging
from typing import Any

import mcp_types as types
import pytest
from mcp import Client, MCPError
from mcp.server import Server

from openzim_mcp import errors
from openzim_mcp.protocol.errors import as_jsonrpc_error

pytestmark = pytest.mark.anyio
FAULTS: dict[str, Exception] = {
    "zim://bug": RuntimeError("/srv/private is not for clients"),
    "zim://key": KeyError("secret"),
    "zim://known": errors.ArchiveUnusable("'x' is damaged.", hint="Replace it.", archive="x.zim"),
    "zim://missing": errors.EntryNotFound("No such entry."),
    "zim://own": MCPError(-32000, "as it is"),
}


@as_jsonrpc_error
async def fail(_context: Any, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    raise FAULTS[params.uri]


async def refusal(uri: str, era: str) -> types.ErrorData:
    async with Client(Server("test", on_read_resource=fail), mode=era) as client:
        with pytest.raises(MCPError) as caught:
            await client.read_resource(uri)
    return caught.value.error


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("uri", ["zim://bug", "zim://key"])
async def test_a_failure_that_nobody_foresaw_is_logged_and_not_shown(
    uri: str, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR):
        error = await refusal(uri, era)

    assert (error.code, error.message) == (-32603, "resources/read failed unexpectedly.")
    assert "private" not in error.model_dump_json()
    assert "secret" not in error.model_dump_json()
    assert type(FAULTS[uri]).__name__ in caplog.text


@pytest.mark.parametrize(
    ("uri", "era", "code"),
    [
        ("zim://known", "legacy", -32603),
        ("zim://known", "2026-07-28", -32603),
        ("zim://missing", "legacy", -32002),
        ("zim://missing", "2026-07-28", -32602),
        ("zim://own", "legacy", -32000),
    ],
)
async def test_an_error_has_the_code_of_the_revision(uri: str, era: str, code: int) -> None:
    assert (await refusal(uri, era)).code == code


async def test_an_error_says_what_to_do_and_what_it_is_about() -> None:
    error = await refusal("zim://known", "legacy")

    assert error.message == "'x' is damaged."
    assert error.data == {
        "uri": "zim://known", "operation": "archive_unusable", "hint": "Replace it.", "archive": "x.zim",
    }  # fmt: skip
