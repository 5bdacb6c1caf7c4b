"""Frames over real pipes: what is no message is refused, what was asked is answered, batches where there are any."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.stdio_server import COMMAND, PROTOCOL_VERSIONS, STATELESS_VERSION, StdioServer, server_environment

CLIENT = {"name": "test", "version": "1"}


def initialize(revision: str = "2025-06-18", number: int = 0) -> dict[str, Any]:
    params = {"protocolVersion": revision, "capabilities": {}, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


def ask(number: int, method: str, **params: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def run(zim: Path, raw: bytes, *arguments: str) -> list[Any]:
    """Feed a server some input that ends, and return all that it answers."""
    server = subprocess.run(
        [*COMMAND, *arguments, str(zim)],
        input=raw,
        capture_output=True,
        env=server_environment({}),
        check=True,
        timeout=60,
    )
    assert b"Traceback" not in server.stderr
    return [json.loads(line) for line in server.stdout.splitlines()]


def lines(*messages: Any) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


NONSENSE: list[tuple[bytes, int, Any]] = [
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


@pytest.mark.parametrize(("line", "code", "number"), NONSENSE)
def test_what_is_no_message_gets_the_error_of_json_rpc(
    server: StdioServer, line: bytes, code: int, number: Any
) -> None:
    server.write(line + b"\n")
    answer = server.read_message()

    assert (answer["error"]["code"], answer["id"]) == (code, number)
    assert server.request("ping") == {}


@pytest.mark.parametrize("params", [{}, {"requestId": None}, {"requestId": []}, {"requestId": {}}, {"requestId": 99}])
def test_cancelling_an_unknown_request_is_ignored(server: StdioServer, params: dict[str, Any]) -> None:
    server.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})

    assert server.request("ping") == {}


def test_nonsense_before_the_handshake_gets_its_errors_too(town_zim: Path) -> None:
    raw = b"".join(line + b"\n" for line, _, _ in NONSENSE) + lines(initialize(number=99))

    answers = run(town_zim, raw)

    assert [answer["error"]["code"] for answer in answers[:-1]] == [code for _, code, _ in NONSENSE]
    assert answers[-1]["id"] == 99


@pytest.mark.parametrize("revision", PROTOCOL_VERSIONS)
def test_calls_under_way_at_the_end_of_input_are_answered(town_zim: Path, revision: str) -> None:
    calls = [ask(n, "tools/call", name="zim_browse", arguments={"namespace": "C"}) for n in range(1, 9)]
    if revision == STATELESS_VERSION:
        meta = "io.modelcontextprotocol/"
        envelope = {
            f"{meta}protocolVersion": STATELESS_VERSION,
            f"{meta}clientInfo": CLIENT,
            f"{meta}clientCapabilities": {},
        }
        for call in calls:
            call["params"]["_meta"] = envelope
        raw = lines(*calls)
    else:
        raw = lines(initialize(revision), {"jsonrpc": "2.0", "method": "notifications/initialized"}, *calls)

    answers = {answer["id"]: answer for answer in run(town_zim, raw, "--mode", "advanced")}

    assert [answers[n]["result"]["structuredContent"]["total"] for n in range(1, 9)] == [7] * 8


def test_the_last_line_need_not_end(town_zim: Path) -> None:
    (answer,) = run(town_zim, lines(initialize()).rstrip(b"\n"))

    assert answer["result"]["protocolVersion"] == "2025-06-18"


def test_blank_lines_and_carriage_returns_are_nothing(town_zim: Path) -> None:
    raw = b"\r\n\n  \n" + lines(initialize()).replace(b"\n", b"\r\n") + b"\n\n"

    assert [answer["id"] for answer in run(town_zim, raw)] == [0]


def test_a_call_that_never_ends_does_not_keep_the_server(town_zim: Path) -> None:
    server = StdioServer("--mode", "advanced", town_zim, WORKER__DEADLINE_SECONDS="2")
    server.__enter__()
    server.call("zim_metadata")
    for pid in server.worker_pids:
        os.kill(pid, signal.SIGSTOP)
    number = server.start_call("zim_browse", namespace="C")
    started = time.monotonic()

    assert server.process.stdin is not None
    server.process.stdin.close()
    answer = server.read_message()

    assert answer["id"] == number
    assert server.process.wait(10) == 0
    assert time.monotonic() - started < 8
    server.close()


def test_a_stream_that_never_ends_does_not_keep_the_server(town_zim: Path) -> None:
    server = StdioServer(town_zim)
    server.connect(STATELESS_VERSION)
    server.send_request("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
    assert server.wait_for_notification("notifications/subscriptions/acknowledged")
    started = time.monotonic()

    assert server.close() == 0
    assert time.monotonic() - started < 5


def test_a_batch_is_answered_as_one_in_the_revision_that_has_them(town_zim: Path) -> None:
    with StdioServer("--mode", "advanced", town_zim).with_version("2025-03-26") as server:
        server.send(
            [
                ask(101, "ping"),
                {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"},
                ask(102, "tools/call", name="zim_browse", arguments={"namespace": "C", "limit": 1}),
                {"nonsense": True},
                ask(103, "nonsense"),
            ]
        )
        answers = server.read_message()
        server.send([{"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}])
        server.send([])
        empty = server.read_message()
        server.send([1, 2])
        nonsense = server.read_message()

    by_number = {answer["id"]: answer for answer in answers}
    assert set(by_number) == {101, 102, 103, None}
    assert by_number[101]["result"] == {}
    assert by_number[102]["result"]["structuredContent"]["total"] == 7
    assert by_number[103]["error"]["code"] == -32601
    assert by_number[None]["error"]["code"] == -32600
    assert empty["error"]["code"] == -32600
    assert [answer["error"]["code"] for answer in nonsense] == [-32600, -32600]
