"""The tools as clients see them: over stdio, in versions with `initialize` and the stateless version."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters

from openzim_mcp import cursors, tokens
from openzim_mcp.protocol import tools
from support.stdio_server import STATELESS_VERSION, StdioServer, is_alive, server_environment

SNAPSHOT = Path(__file__).parent.parent / "snapshots" / "tools.json"
OpenServer = Callable[..., StdioServer]
ADVANCED = [
    "zim_query",
    "zim_search",
    "zim_get",
    "zim_get_section",
    "zim_browse",
    "zim_metadata",
    "zim_links",
    "zim_health",
]


def test_published_tools_match_the_snapshot() -> None:
    """`make snapshot` accepts an intended change."""
    assert publish_tools() == json.loads(SNAPSHOT.read_text(encoding="utf-8"))


def publish_tools() -> dict[str, Any]:
    return {
        mode: [
            tool.to_wire().model_dump(by_alias=True, exclude_none=True, mode="json")
            for tool in tools.offered_tools(mode)
        ]
        for mode in ("simple", "advanced")
    }


def test_mode_decides_which_tools_are_offered(open_server: OpenServer, town_zim: Path) -> None:
    def tool_names(server: StdioServer) -> list[str]:
        return [tool["name"] for tool in server.request("tools/list")["tools"]]

    assert tool_names(open_server(town_zim)) == ADVANCED
    with StdioServer(town_zim) as simple:
        assert tool_names(simple) == ["zim_query"]
        answer = simple.wait_for_response(simple.start_call("zim_metadata"))
        assert answer["error"] == {"code": -32602, "message": "Unknown tool: zim_metadata. There are: zim_query."}


@pytest.mark.parametrize(("mode", "max_tokens"), [("simple", 500), ("advanced", 3000)])
def test_list_is_short_and_the_same_for_all(town_zim: Path, mode: str, max_tokens: int) -> None:
    lists = []
    for version in ("2025-11-25", "2025-11-25", STATELESS_VERSION):
        with StdioServer("--mode", mode, town_zim).with_version(version) as server:
            lists.append(server.request("tools/list")["tools"])

    assert lists[0] == lists[1] == lists[2]
    assert tokens.estimate(json.dumps(lists[0], separators=(",", ":"))) < max_tokens


def test_handbook_is_served_without_directories(open_server: OpenServer) -> None:
    metadata = open_server().call("zim_metadata")

    assert metadata["metadata"]["Title"] == "OpenZIM MCP Handbook"
    assert metadata["main_page"] == "index"


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_sdk_client_calls_tools(town_zim: Path, mode: str) -> None:
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "openzim_mcp", "--mode", "advanced", str(town_zim)],
        env=server_environment({}),
    )
    async with Client(server, mode=mode) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        result = await client.call_tool("zim_browse", {"namespace": "C", "limit": 1})

    assert names == ADVANCED
    assert result.structured_content is not None
    assert result.structured_content["entries"][0]["path"] == "Alderwick"
    assert not result.is_error


def test_browse_page_and_walk_have_their_fields(open_server: OpenServer, town_zim: Path) -> None:
    server = open_server(town_zim)

    page = server.call("zim_browse", namespace="M", limit=2, offset=1)
    walk = server.call("zim_browse", namespace="M", mode="walk", limit=2)

    assert set(page) == {"archive", "namespace", "entries", "total", "offset", "limit", "done"}
    assert set(walk) >= {"namespace", "entries", "next_cursor", "done"}
    assert [entry["path"] for entry in page["entries"]] == ["M/Creator", "M/Language"]


def test_walk_continues_with_only_a_cursor(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "built")
    first = server.call("zim_browse", zim_file_path="se_coffee", namespace="C", mode="walk", limit=400)

    paths: list[str] = []
    cursor = first["next_cursor"]
    while cursor:
        page = server.call("zim_browse", cursor=cursor)
        paths += [entry["path"] for entry in page["entries"]]
        cursor = page["next_cursor"]

    assert page["archive"] == "se_coffee.zim"
    assert len(first["entries"]) + len(paths) == 1025
    assert server.call("zim_browse", cursor=first["next_cursor"], limit=3)["entries"][2]["path"] == paths[2]
    refused = server.call("zim_browse", cursor=first["next_cursor"], zim_file_path="gutenberg_pub")
    assert refused["message"] == "This cursor continues a listing of another archive."
    refused = server.call("zim_browse", cursor=first["next_cursor"], namespace="M")
    assert refused["message"] == "This cursor continues a listing of another namespace."


def test_forged_cursor_is_checked(server: StdioServer) -> None:
    forged = cursors.encode("zim_browse", "u", 0, {"namespace": "C", "limit": 10**9, "zim_file_path": ["x"]})

    answer = server.call("zim_browse", cursor=forged)

    assert answer["operation"] == "invalid_arguments"
    assert answer["arguments"] == ["zim_file_path", "limit"]


@pytest.fixture(scope="module")
def server(town_zim: Path) -> Iterator[StdioServer]:
    """A server for calls that change nothing."""
    with StdioServer("--mode", "advanced", town_zim) as server:
        yield server


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "namespace: required, but not given; namespace='C' lists the content"),
        ({"namespace": "C", "limit": 501}, "limit: should be less than or equal to 500, not 501"),
        ({"namespace": "C", "limit": 0}, "limit: should be greater than or equal to 1, not 0"),
        ({"namespace": "C", "offset": -1}, "offset: should be greater than or equal to 0, not -1"),
        ({"namespace": "C", "mode": "fly"}, "mode: should be 'page' or 'walk', not 'fly'"),
        ({"namespace": "C", "nmaespace": "C"}, "nmaespace: unknown argument, did you mean namespace?"),
        (
            {"namespace": "C", "mode": "walk", "offset": 5},
            "offset belongs to mode='page'; use cursor with mode='walk'",
        ),
        (
            {"cursor": "abc", "offset": 5},
            "cursor and offset exclude each other: a cursor knows where to continue",
        ),
        (
            {"cursor": "abc", "mode": "page"},
            "cursor belongs to mode='walk'; use offset with mode='page'",
        ),
        ({"cursor": "abc"}, "This cursor is not one of this server's."),
        ({"namespace": "Q"}, "'towns_en_all_2026-01' has no namespace or folder 'Q'."),
        ({"namespace": "C", "zim_file_path": "nope"}, "No archive 'nope' in the served directories."),
        ({"namespace": "C", "zim_file_path": 7}, "zim_file_path: should be a valid string, not 7"),
    ],
)
def test_invalid_call_is_explained(server: StdioServer, arguments: dict[str, Any], message: str) -> None:
    answer = server.call("zim_browse", **arguments)

    assert answer["status"] == "error"
    assert answer["message"] == message
    assert answer["hint"]


def test_rate_limit_says_when_to_retry(open_server: OpenServer, town_zim: Path) -> None:
    server = open_server(
        town_zim, RATE_LIMIT__ENABLED="true", RATE_LIMIT__BURST_SIZE="2", RATE_LIMIT__REQUESTS_PER_SECOND="0.01"
    )

    answers = [server.call("zim_metadata") for _ in range(3)]

    assert [answer.get("operation") for answer in answers] == [None, None, "rate_limited"]
    assert 90 < answers[2]["retry_after"] <= 100


def test_results_are_cached_until_the_file_changes(open_server: OpenServer, town_zim: Path, tmp_path: Path) -> None:
    target = tmp_path / "a.zim"
    target.write_bytes(town_zim.read_bytes())
    server = open_server(target)

    for _ in range(3):
        server.call("zim_metadata")
    before = server.call("zim_health")["health"]["cache_performance"]
    target.write_bytes(town_zim.read_bytes())
    server.call("zim_metadata")
    after = server.call("zim_health")["health"]["cache_performance"]

    assert before == {"hits": 2, "misses": 1, "hit_rate": 0.667}
    assert after == {"hits": 2, "misses": 2, "hit_rate": 0.5}


def test_64_concurrent_calls_are_answered(open_server: OpenServer, zims: Path) -> None:
    server = open_server(zims / "built", CACHE__ENABLED="false")

    numbers = [
        server.start_call("zim_browse", zim_file_path="devdocs_python", namespace="C", offset=n) for n in range(64)
    ]

    assert [server.finish_call(number)["offset"] for number in numbers] == list(range(64))


def wait_until(condition: Callable[[], bool], seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="needs /proc")
@pytest.mark.parametrize("version", ["2025-06-18", STATELESS_VERSION])
@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tools/call", {"name": "zim_browse", "arguments": {"namespace": "C"}}),
        ("tools/call", {"name": "zim_query", "arguments": {"query": "where is Ravenport?"}}),
        ("resources/read", {"uri": "zim://towns_en_all_2026-01/entry/Ravenport"}),
    ],
)
def test_cancelled_call_stops_its_worker_without_quarantine(
    town_zim: Path, version: str, method: str, params: dict[str, object]
) -> None:
    with StdioServer("--mode", "advanced", town_zim, CACHE__ENABLED="false").with_version(version) as server:
        server.call("zim_metadata")
        workers = server.worker_pids
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        number = server.send_request(method, params)
        time.sleep(0.5)
        assert all(map(is_alive, workers))

        server.notify("notifications/cancelled", requestId=number, reason="not needed")

        assert wait_until(lambda: not any(map(is_alive, workers)))
        assert server.call("zim_metadata")["metadata"]["Title"] == "Test"
        assert server.call("zim_health", zim_file_path=town_zim.stem)["quarantine"] == []
        assert number not in server._responses


if __name__ == "__main__":
    SNAPSHOT.write_text(json.dumps(publish_tools(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


HUGE = "x" * 900_000
HUGE_REQUESTS: list[tuple[str, dict[str, Any]]] = [
    *(
        ("tools/call", {"name": tool, "arguments": arguments})
        for tool in ("zim_query", "zim_search", "zim_get", "zim_get_section", "zim_browse", "zim_links", "zim_health")
        for arguments in ({HUGE: 1}, {f"argument{n}": 1 for n in range(30_000)}, {"zim_file_path": HUGE})
    ),
    *(("tools/call", {"name": "zim_get", "arguments": {name: HUGE}}) for name in ("entry_path", "view")),
    ("tools/call", {"name": "zim_get", "arguments": {"entry_path": "x" * 60_000}}),
    ("tools/call", {"name": "zim_get", "arguments": {"entry_paths": ["x" * 18_000] * 50}}),
    ("tools/call", {"name": "zim_get", "arguments": {"entry_paths": [5] * 100_000}}),
    ("tools/call", {"name": "zim_search", "arguments": {"query": "x", "cursor": HUGE}}),
    ("tools/call", {"name": HUGE}),
    ("resources/read", {"uri": HUGE}),
    ("resources/read", {"uri": f"zim://{HUGE}"}),
    ("resources/read", {"uri": f"zim://towns_en_all/entry/{HUGE}"}),
    ("resources/subscribe", {"uri": HUGE}),
    ("prompts/get", {"name": HUGE}),
    ("prompts/get", {"name": "research", "arguments": {"topic": HUGE}}),
    ("completion/complete", {"ref": {"type": "ref/resource", "uri": HUGE}, "argument": {"name": "x", "value": "y"}}),
    (HUGE, {}),
]


def test_no_answer_repeats_a_huge_request(open_server: OpenServer, town_zim: Path) -> None:
    server = open_server(town_zim)

    for method, params in HUGE_REQUESTS:
        response = server.wait_for_response(server.send_request(method, params))
        assert len(json.dumps(response)) < 5000, (method[:50], str(params)[:100])
