from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from starlette.types import Message, Receive, Scope, Send

from openzim_mcp.app.caller import Caller, set_caller
from openzim_mcp.http.exchange import ByteBudget
from openzim_mcp.http.messages import MessageMiddleware
from openzim_mcp.http.shutdown import Shutdown
from support.http_server import HEADERS, HttpServer, McpClient, read_reply
from support.stdio_server import DEFAULT_VERSION, STATELESS_VERSION

BATCH_VERSION = "2025-03-26"


@pytest.fixture(scope="module")
def server(town_zim: Path) -> Iterator[HttpServer]:
    with HttpServer((town_zim,), {"TOOL_MODE": "advanced", "WORKER__COUNT": "1"}) as server:
        yield server


def call(request_id: Any, **arguments: Any) -> dict[str, Any]:
    params = {"name": "zim_query", "arguments": {"query": "Ravenport", **arguments}}
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


def send(client: McpClient, body: object, **headers: str) -> httpx2.Response:
    """Send any body in the session of a client."""
    sent = {**HEADERS, **({"Mcp-Session-Id": client.session} if client.session else {}), **headers}
    content = body if isinstance(body, bytes) else json.dumps(body)
    return client.http.post(client.url, headers=sent, content=content)


def events(response: httpx2.Response) -> list[dict[str, Any]]:
    return [
        json.loads(line[5:]) for line in response.text.splitlines() if line.startswith("data:") and line[5:].strip()
    ]


NOT_MESSAGES = {
    "number": b"5",
    "object without a version": b'{"method":"ping","id":1}',
    "method that is not text": b'{"jsonrpc":"2.0","id":1,"method":{}}',
    "neither result nor error": b'{"jsonrpc":"2.0","id":1}',
    "list as parameters": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}',
    "id that is a list": b'{"jsonrpc":"2.0","id":[],"method":"ping"}',
}


@pytest.mark.parametrize("body", NOT_MESSAGES.values(), ids=NOT_MESSAGES)
@pytest.mark.parametrize("version", [DEFAULT_VERSION, STATELESS_VERSION])
def test_json_that_is_not_a_message_is_described_in_a_sentence(server: HttpServer, body: bytes, version: str) -> None:
    with McpClient(server.url, version) as client:
        response = send(client, body, **{"MCP-Protocol-Version": version, "Mcp-Method": "ping"})

    assert response.status_code == 400
    assert response.json() == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32600, "message": "Invalid request: the body is JSON, but not a JSON-RPC 2.0 message."},
    }


@pytest.mark.parametrize("version", [DEFAULT_VERSION, STATELESS_VERSION])
def test_media_types_are_compared_without_case(server: HttpServer, version: str) -> None:
    headers = {"Content-Type": "Application/JSON; Charset=UTF-8", "Accept": "APPLICATION/json, Text/Event-Stream"}
    with McpClient(server.url, version) as client:
        response = client.post("tools/list", headers=headers)

    assert len(read_reply(response)["result"]["tools"]) == 8


def test_requests_with_an_id_in_use_are_refused_at_once(server: HttpServer) -> None:
    with McpClient(server.url) as client, ThreadPoolExecutor(8) as pool:
        responses = list(pool.map(lambda _: send(client, call(7)), range(8)))
        after = send(client, call("7"))

    statuses = sorted(response.status_code for response in responses)
    assert statuses[0] == 200
    assert set(statuses) <= {200, 400}
    for response in responses:
        if response.status_code == 400:
            assert response.json()["error"]["message"].endswith("with the same id is in progress.")
        else:
            assert read_reply(response)["result"]
    assert read_reply(after)["result"]


def test_same_id_in_two_sessions_is_served(server: HttpServer) -> None:
    with McpClient(server.url) as first, McpClient(server.url) as second, ThreadPoolExecutor(2) as pool:
        responses = list(pool.map(lambda client: send(client, call(7)), (first, second)))

    assert [response.status_code for response in responses] == [200, 200]


def test_two_session_ids_are_refused(server: HttpServer) -> None:
    with McpClient(server.url) as client:
        headers = [*HEADERS.items(), ("Mcp-Session-Id", str(client.session)), ("Mcp-Session-Id", "other")]
        response = client.http.post(client.url, headers=headers, content=json.dumps(call(1)))
        same = client.http.post(client.url, headers=[*headers[:-1], headers[-2]], content=json.dumps(call(1)))

    assert response.status_code == 400
    assert response.json()["error_description"] == "A request may have one Mcp-Session-Id."
    assert same.status_code != 500


@pytest.mark.parametrize("stateless", ["true", "false"])
def test_batch_is_answered_message_by_message(town_zim: Path, stateless: str) -> None:
    batch = [
        call(1),
        {"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}},
        {"jsonrpc": "2.0", "id": "two", "method": "ping"},
        {"jsonrpc": "2.0", "id": 3, "method": "unknown/method"},
    ]
    initialize = {"jsonrpc": "2.0", "id": 4, "method": "initialize", "params": {}}
    with (
        HttpServer((town_zim,), {"STATELESS": stateless}) as server,
        McpClient(server.url, BATCH_VERSION) as client,
    ):
        response = send(client, batch)
        notifications = send(client, [batch[1]])
        refused = [send(client, part) for part in ([], [*batch, initialize], [*batch, 5], [batch], batch * 20)]
        newer = send(client, batch, **{"MCP-Protocol-Version": DEFAULT_VERSION})

    replies = {event["id"]: event for event in events(response)}
    assert response.status_code == 200
    assert len(events(response)) == 3
    assert "Ravenport" in replies[1]["result"]["content"][0]["text"]
    assert replies["two"]["result"] == {}
    assert replies[3]["error"]["code"] == -32601
    assert (notifications.status_code, newer.status_code) == (202, 400)
    assert [part.status_code for part in refused] == [400] * 5


class SlowApp:
    """An application whose response never ends, as JSON or as a stream of events."""

    def __init__(self, content_type: bytes | None) -> None:
        self._content_type = content_type

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        if self._content_type:
            headers = [(b"content-type", self._content_type)]
            await send({"type": "http.response.start", "status": 200, "headers": headers})
        await anyio.sleep_forever()


@pytest.mark.anyio
@pytest.mark.parametrize("content_type", [None, b"application/json", b"text/event-stream"])
async def test_calls_get_an_error_after_the_grace_period(content_type: bytes | None) -> None:
    shutdown = Shutdown(0.01)
    app = MessageMiddleware(SlowApp(content_type), shutdown, ByteBudget(100, 100))
    headers = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    scope: Scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    set_caller(scope, Caller("192.0.2.1"))
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": json.dumps(call(7)).encode(), "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(app, scope, receive, send)
        await anyio.wait_all_tasks_blocked()
        shutdown.begin()

    body = b"".join(message.get("body", b"") for message in sent)
    assert b"The server is shutting down; send the request again in a moment." in body
    assert sent[0]["status"] == (200 if content_type == b"text/event-stream" else 503)
    assert (b'"id":7' in body) == (content_type == b"text/event-stream")
    assert not sent[-1].get("more_body")
