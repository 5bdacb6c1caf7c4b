"""JSON-RPC over real pipes: invalid messages, requests in progress at the end of input, and batches."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_types import JSONRPCResponse

from openzim_mcp.protocol.jsonrpc import encode_message
from support.frames import random_frames
from support.stdio_server import (
    CLIENT_INFO,
    COMMAND,
    DEFAULT_VERSION,
    PROTOCOL_VERSIONS,
    REQUEST_META,
    STATELESS_VERSION,
    TIMEOUT_SECONDS,
    StdioServer,
    resident_mib,
    server_environment,
)


def initialize(version: str = DEFAULT_VERSION, request_id: int = 0) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT_INFO}
    return {"jsonrpc": "2.0", "id": request_id, "method": "initialize", "params": params}


def request(request_id: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params}


def run_server(zim: Path, raw: bytes, *arguments: str) -> list[Any]:
    """Run a server on some input until it exits, and return its messages."""
    server = subprocess.run(
        [*COMMAND, *arguments, str(zim)],
        input=raw,
        capture_output=True,
        env=server_environment({}),
        check=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert b"Traceback" not in server.stderr
    return [json.loads(line) for line in server.stdout.splitlines()]


def lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


INVALID_LINES: list[tuple[bytes, int, Any]] = [
    (b"not json", -32700, None),
    (b'{"jsonrpc": "2.0", "id": 1, "method"', -32700, None),
    (b"\xff\xfe\x00", -32700, None),
    (b"[" * 100_000, -32700, None),
    (b"{}", -32600, None),
    (b"[]", -32600, None),
    (b"42", -32600, None),
    (b'"text"', -32600, None),
    (b"null", -32600, None),
    (b'{"jsonrpc": "1.0", "id": 7, "method": "ping"}', -32600, 7),
    (b'{"jsonrpc": "2.0", "id": "x", "method": 5}', -32600, "x"),
    (b'{"jsonrpc": "2.0", "id": 8, "method": "ping", "params": [1]}', -32600, 8),
    (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600, None),
    (b'{"jsonrpc": "2.0", "method": 5}', -32600, None),
    (b'[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', -32600, None),
]


@pytest.fixture(scope="module")
def server(town_zim: Path) -> Iterator[StdioServer]:
    with StdioServer(town_zim) as server:
        yield server


@pytest.mark.parametrize(("line", "code", "request_id"), INVALID_LINES)
def test_invalid_message_gets_a_jsonrpc_error(server: StdioServer, line: bytes, code: int, request_id: Any) -> None:
    server.write(line + b"\n")
    response = server.read_message()

    assert (response["error"]["code"], response["id"]) == (code, request_id)
    assert server.request("ping") == {}


@pytest.mark.parametrize("params", [{}, {"requestId": None}, {"requestId": []}, {"requestId": {}}, {"requestId": 99}])
def test_cancelling_an_unknown_request_is_ignored(server: StdioServer, params: dict[str, Any]) -> None:
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    assert server.request("ping") == {}


def test_invalid_messages_before_initialize_get_errors(town_zim: Path) -> None:
    raw = b"".join(line + b"\n" for line, _, _ in INVALID_LINES) + lines(initialize(request_id=99))

    responses = run_server(town_zim, raw)

    assert [response["error"]["code"] for response in responses[:-1]] == [code for _, code, _ in INVALID_LINES]
    assert responses[-1]["id"] == 99


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_calls_in_progress_at_the_end_of_input_are_answered(town_zim: Path, version: str) -> None:
    calls = [request(n, "tools/call", name="zim_browse", arguments={"namespace": "C"}) for n in range(1, 9)]
    if version == STATELESS_VERSION:
        for call in calls:
            call["params"]["_meta"] = REQUEST_META
        raw = lines(*calls)
    else:
        raw = lines(initialize(version), {"jsonrpc": "2.0", "method": "notifications/initialized"}, *calls)

    responses = {response["id"]: response for response in run_server(town_zim, raw, "--mode", "advanced")}

    assert [responses[n]["result"]["structuredContent"]["total"] for n in range(1, 9)] == [7] * 8


def test_last_line_may_lack_a_newline(town_zim: Path) -> None:
    (response,) = run_server(town_zim, lines(initialize()).rstrip(b"\n"))

    assert response["result"]["protocolVersion"] == DEFAULT_VERSION


def test_blank_lines_and_carriage_returns_are_ignored(town_zim: Path) -> None:
    raw = b"\r\n\n  \n" + lines(initialize()).replace(b"\n", b"\r\n") + b"\n\n"

    assert [response["id"] for response in run_server(town_zim, raw)] == [0]


def test_endless_call_does_not_keep_the_server_running(town_zim: Path) -> None:
    server = StdioServer("--mode", "advanced", town_zim, WORKER__DEADLINE_SECONDS="5")
    server.__enter__()
    server.call("zim_metadata")
    for pid in server.worker_pids:
        os.kill(pid, signal.SIGSTOP)
    request_id = server.start_call("zim_browse", namespace="C")

    assert server.process.stdin is not None
    server.process.stdin.close()
    response = server.read_message()

    assert response["id"] == request_id
    assert server.process.wait(TIMEOUT_SECONDS) == 0
    server.close()


def test_open_stream_does_not_keep_the_server_running(town_zim: Path) -> None:
    # At the end of input the server waits for calls, at most for this deadline; it is longer than `close` waits.
    server = StdioServer(town_zim, WORKER__DEADLINE_SECONDS="600")
    server.connect(STATELESS_VERSION)
    server.send_request("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
    assert server.wait_for_notification("notifications/subscriptions/acknowledged")

    assert server.close() == 0


def test_batch_gets_one_response_in_the_version_with_batches(town_zim: Path) -> None:
    with StdioServer("--mode", "advanced", town_zim).with_version("2025-03-26") as server:
        server.send(
            [
                request(101, "ping"),
                {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
                request(102, "tools/call", name="zim_browse", arguments={"namespace": "C", "limit": 1}),
                {"nonsense": True},
                request(103, "nonsense"),
            ]
        )
        responses = server.read_message()
        server.send([{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}])
        server.send([])
        empty = server.read_message()
        server.send([1, 2])
        invalid = server.read_message()

    by_id = {response["id"]: response for response in responses}
    assert set(by_id) == {101, 102, 103, None}
    assert by_id[101]["result"] == {}
    assert by_id[102]["result"]["structuredContent"]["total"] == 7
    assert by_id[103]["error"]["code"] == -32601
    assert by_id[None]["error"]["code"] == -32600
    assert empty["error"]["code"] == -32600
    assert [response["error"]["code"] for response in invalid] == [-32600, -32600]


@pytest.mark.parametrize("version", ["2025-03-26", DEFAULT_VERSION, STATELESS_VERSION])
def test_server_survives_frames_of_any_shape(town_zim: Path, version: str) -> None:
    with StdioServer(town_zim).with_version(version) as server:
        for number, frame in enumerate(random_frames(300)):
            server.write(frame + b"\n")
            if number % 10 == 0:
                ping = json.dumps(request(10_000 + number, "ping", _meta=REQUEST_META)).encode()
                server.write(ping + b"\n")
                while True:
                    message = server.read_message()
                    if isinstance(message, dict) and message.get("id") == 10_000 + number:
                        break

        assert server.process.poll() is None


def test_result_that_cannot_be_encoded_is_an_error() -> None:
    response = JSONRPCResponse(jsonrpc="2.0", id=7, result={"text": "\ud800"})

    assert json.loads(encode_message(response))["error"]["code"] == -32603


def test_oversized_message_is_refused_in_little_memory(town_zim: Path) -> None:
    with StdioServer(town_zim) as server:
        before = resident_mib(server.process.pid)
        server.write(b'{"jsonrpc":"2.0","id":5,"method":"ping","params":{"x":"' + b"x" * 100_000_000 + b'"}}\n')
        response = server.read_message()

        assert response["error"]["code"] == -32600
        assert "1 MiB" in response["error"]["message"]
        assert resident_mib(server.process.pid) - before < 20
        assert server.request("ping") == {}
