from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import config, errors
from openzim_mcp.app.app import Backend, Markdown
from openzim_mcp.library.scan import Library
from openzim_mcp.protocol import direct
from support.stdio_server import StdioServer

pytestmark = pytest.mark.anyio

CALLS = [
    ("zim_query", {"query": "who founded Ravenport?"}),
    ("zim_search", {"query": "herring", "limit": 2}),
    ("zim_get", {"entry_path": "Ravenport"}),
    ("zim_get", {"entry_path": "Ravenport", "view": "toc"}),
    ("zim_get_section", {"entry_path": "Ravenport", "section_id": "History"}),
    ("zim_metadata", {}),
    ("zim_health", {"zim_file_path": "isles_en_all"}),
]


@pytest.mark.parametrize(("tool", "arguments"), CALLS)
async def test_a_tool_says_the_same_as_over_the_wire(
    open_server: Callable[..., StdioServer], isles_zim: Path, tool: str, arguments: dict[str, Any]
) -> None:
    served = open_server(isles_zim).request("tools/call", {"name": tool, "arguments": arguments})
    async with Backend.running(config.load_settings(), Library([isles_zim]), 1) as backend:
        found = await direct.run(backend, tool, **arguments)

    if isinstance(found, Markdown):
        assert found.text == served["content"][0]["text"]
    else:
        assert found == served["structuredContent"]


async def test_an_error_is_raised(isles_zim: Path) -> None:
    raised: list[errors.OpenZimMcpError] = []
    async with Backend.running(config.load_settings(), Library([isles_zim]), 1) as backend:
        for arguments in ({"entry_path": "Nowhere at all"}, {"entry_pth": "x"}):
            try:
                await direct.run(backend, "zim_get", **arguments)
            except errors.OpenZimMcpError as error:
                raised.append(error)

    assert [type(error) for error in raised] == [errors.EntryNotFound, errors.OpenZimMcpValidationError]
