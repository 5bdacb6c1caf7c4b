"""Progress of long calls, over pipes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.stdio_server import StdioServer


@pytest.fixture(scope="module")
def server(zims: Path) -> Iterator[StdioServer]:
    with StdioServer("--mode", "advanced", zims / "built", CACHE__ENABLED="false") as server:
        yield server


@pytest.mark.parametrize(
    ("tool", "arguments", "total"),
    [
        ("zim_search", {"query": "water", "cross_file": True}, 14),
        ("zim_get", {"zim_file_path": "se_coffee", "entry_paths": ["index", "nope", "about"]}, 3),
        ("zim_health", {}, 14),
    ],
)
def test_a_client_that_asks_for_it_is_told_how_far_a_call_is(
    server: StdioServer, tool: str, arguments: dict[str, Any], total: int
) -> None:
    server.request("tools/call", {"name": tool, "arguments": arguments, "_meta": {"progressToken": tool}})

    told = [note["params"] for note in server.notifications if note["params"].get("progressToken") == tool]
    assert [note["progress"] for note in told] == list(range(1, total + 1))
    assert {note["total"] for note in told} == {total}


def test_others_are_not_told(server: StdioServer) -> None:
    server.notifications.clear()

    server.call("zim_search", query="water", cross_file=True)

    assert server.notifications == []
