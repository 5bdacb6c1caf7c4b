"""No handler may hold up the event loop, which serves all clients."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from support.archives import TOWNS, write_zim
from support.http_server import TOKEN, HttpServer, McpClient
from support.stdio_server import DEFAULT_VERSION, STATELESS_VERSION

# Python imports this before the server: it reports every callback of the event loop that takes longer than 100 ms.
REPORT_SLOW_CALLBACKS = """
import asyncio.events, sys, time

run = asyncio.events.Handle._run

def timed_run(handle):
    start = time.monotonic()
    run(handle)
    seconds = time.monotonic() - start
    if seconds > 0.1:
        print(f"slow callback: {seconds:.3f} s {handle!r}", file=sys.stderr, flush=True)

asyncio.events.Handle._run = timed_run
"""
SLOW_CALLBACK = "slow callback: "
# On a busy machine any callback may take long, but not every time.
ATTEMPTS = 8
ARCHIVES = 200


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    directory = tmp_path_factory.mktemp("archives")
    archive = write_zim(directory / "towns.zim", {**TOWNS, "Long": "<p>A long page.</p>" * 20_000})
    for number in range(ARCHIVES):
        (directory / f"copy_{number}.zim").hardlink_to(archive)
    tokens = tmp_path_factory.mktemp("secrets") / "tokens"
    tokens.write_text(TOKEN)
    modules = tmp_path_factory.mktemp("modules")
    (modules / "sitecustomize.py").write_text(REPORT_SLOW_CALLBACKS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(modules))
        settings = {"TOOL_MODE": "advanced", "AUTH_TOKEN_FILE": str(tokens), "WATCH_INTERVAL_SECONDS": "1"}
        with HttpServer((directory,), settings) as server:
            yield server


CALLS: dict[str, dict[str, Any]] = {
    "zim_query": {"query": "who founded Ravenport?"},
    "zim_search": {"query": "harbour", "cross_file": True},
    "zim_get": {"entry_path": "Long", "zim_file_path": "towns.zim", "max_content_length": 100_000},
    "zim_get_section": {"entry_path": "Long", "zim_file_path": "towns.zim", "section_id": "1"},
    "zim_browse": {"zim_file_path": "towns.zim"},
    "zim_metadata": {"zim_file_path": "towns.zim"},
    "zim_links": {"entry_path": "Ravenport", "zim_file_path": "towns.zim"},
    "zim_health": {},
}
METHODS: dict[str, dict[str, Any]] = {
    "tools/list": {},
    "resources/list": {},
    "resources/templates/list": {},
    "resources/read": {"uri": "zim://files"},
    "prompts/list": {},
    "completion/complete": {
        "ref": {"type": "ref/resource", "uri": "zim://{name}"},
        "argument": {"name": "name", "value": "c"},
    },
}
REQUESTS: dict[str, Callable[[HttpServer, McpClient], object]] = {
    **{path: lambda server, _, path=path: server.get(path) for path in ("/healthz", "/readyz", "/metrics", "/other")},
    **{tool: lambda _, client, tool=tool: client.call(tool, **CALLS[tool]) for tool in CALLS},
    **{method: lambda _, client, method=method: client.post(method, METHODS[method]) for method in METHODS},
    "initialize": lambda _, client: client.initialize(),
    "large body": lambda _, client: client.post("ping", {"a": ["b"] * 150_000}),
}


@pytest.mark.parametrize("version", [DEFAULT_VERSION, STATELESS_VERSION])
@pytest.mark.parametrize("name", REQUESTS)
def test_no_handler_blocks_the_event_loop(server: HttpServer, name: str, version: str) -> None:
    slow: list[list[str]] = []
    with McpClient(server.url, version, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        for _ in range(ATTEMPTS):
            before = len(server.lines)
            REQUESTS[name](server, client)
            server.get("/healthz")
            time.sleep(0.05)  # until the log is read
            slow.append([line for line in server.lines[before:] if SLOW_CALLBACK in line])
            if not slow[-1]:
                break

    assert not slow[-1], slow
