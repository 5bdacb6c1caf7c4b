"""Progress notifications of long calls, over stdio."""

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
def test_progress_is_reported_if_requested(
    server: StdioServer, tool: str, arguments: dict[str, Any], total: int
) -> None:
    server.request("tools/call", {"name": tool, "arguments": arguments, "_meta": {"progressToken": tool}})

    notes = [note["params"] for note in server.notifications if note["params"].get("progressToken") == tool]
    progress = [note for note in notes if "total" in note]  # not signs of life before the first report
    assert [note["progress"] for note in progress] == list(range(1, total + 1))
    assert {note["total"] for note in progress} == {total}


def test_progress_is_not_reported_otherwise(server: StdioServer) -> None:
    server.notifications.clear()

    server.call("zim_search", query="water", cross_file=True)

    assert server.notifications == []
