from __future__ import annotations

import contextlib
import itertools
import socket
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from openzim_mcp.app.caller import Caller, set_caller
from openzim_mcp.http.concurrency import MAX_REQUESTS_PER_CLIENT, ConcurrencyMiddleware
from openzim_mcp.http.exchange import ByteBudget
from openzim_mcp.http.sessions import SessionTable
from support.http_server import TOKEN, HttpServer, McpClient, read_reply

CLIENTS = 500


class SessionApp:
    """An application that starts a session for each request without one, once a test allows it."""

    def __init__(self) -> None:
        self.may_respond = anyio.Event()
        self.sessions: set[bytes] = set()
        self._numbers = itertools.count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await self.may_respond.wait()
        session = next((value for name, value in scope["headers"] if name == b"mcp-session-id"), None)
        status = 200 if session is None or session in self.sessions else 404
        if session is None:
            session = b"%032x" % next(self._numbers)
            self.sessions.add(session)
        elif scope["method"] == "DELETE":
            self.sessions.discard(session)
        await send({"type": "http.response.start", "status": status, "headers": [(b"mcp-session-id", session)]})
        await send({"type": "http.response.body", "body": b""})


def limited_app(app: SessionApp, per_client: int = 3, total: int = 5) -> ConcurrencyMiddleware:
    return ConcurrencyMiddleware(app, ByteBudget(100, 200), sessions=SessionTable(per_client, total))


async def post(
    app: ConcurrencyMiddleware, client: str = "192.0.2.1", *, session: bytes | None = None, method: str = "POST"
) -> int:
    """Send a request, which may start a session; return the status of the response."""
    statuses: list[int] = []
    headers = [(b"mcp-session-id", session)] if session else []
    scope: Scope = {"type": "http", "method": method, "path": "/mcp", "headers": headers}
    set_caller(scope, Caller(client, address="192.0.2.9"))

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    return statuses[0]


@pytest.mark.anyio
async def test_oldest_unused_session_of_a_client_makes_room() -> None:
    session_app = SessionApp()
    session_app.may_respond.set()
    app = limited_app(session_app)
    statuses = [await post(app) for _ in range(3)]
    first, second, third = sorted(session_app.sessions)
    await post(app, session=first)
    statuses += [await post(app, client="192.0.2.2"), await post(app)]

    assert statuses == [200] * 5
    assert {first, third} <= session_app.sessions
    assert second not in session_app.sessions


@pytest.mark.anyio
async def test_client_with_most_sessions_makes_room_for_others() -> None:
    session_app = SessionApp()
    session_app.may_respond.set()
    app = limited_app(session_app, per_client=5, total=5)
    for _ in range(4):
        await post(app)
    oldest = min(session_app.sessions)
    statuses = [await post(app, client="192.0.2.2") for _ in range(2)]

    assert statuses == [200, 200]
    assert oldest not in session_app.sessions
    assert len(session_app.sessions) == 5


@pytest.mark.anyio
async def test_requests_in_progress_are_limited_and_counted_down() -> None:
    session_app = SessionApp()
    app = limited_app(session_app, 1000, 1000)
    statuses: Counter[int] = Counter()

    async def post_concurrently() -> None:
        statuses[await post(app)] += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(MAX_REQUESTS_PER_CLIENT + 5):
            tasks.start_soon(post_concurrently)
        await anyio.wait_all_tasks_blocked()
        session_app.may_respond.set()

    assert statuses == {200: MAX_REQUESTS_PER_CLIENT, 429: 5}
    assert app.in_flight == 0


@pytest.mark.anyio
async def test_event_streams_do_not_count_as_requests() -> None:
    session_app = SessionApp()
    app = limited_app(session_app, 2000, 2000)
    statuses: Counter[int] = Counter()

    async def open_stream() -> None:
        statuses[await post(app, method="GET")] += 1

    async with anyio.create_task_group() as tasks:
        for _ in range(MAX_REQUESTS_PER_CLIENT + 5):
            tasks.start_soon(open_stream)
        await anyio.wait_all_tasks_blocked()
        counts = app.stream_count, app.in_flight
        session_app.may_respond.set()

    assert counts == (MAX_REQUESTS_PER_CLIENT + 5, 0)
    assert statuses == {200: MAX_REQUESTS_PER_CLIENT + 5}


@pytest.mark.anyio
async def test_client_with_unread_responses_has_to_read_them_first() -> None:
    session_app = SessionApp()
    session_app.may_respond.set()
    unread = ByteBudget(100, 200)
    app = ConcurrencyMiddleware(session_app, unread)
    unread.add("192.0.2.1 192.0.2.9", 100)
    statuses = [await post(app), await post(app, client="192.0.2.2")]
    unread.remove("192.0.2.1 192.0.2.9", 100)

    assert [*statuses, await post(app)] == [429, 200, 200]


@contextlib.contextmanager
def event_stream(server: HttpServer, session: str) -> Iterator[socket.socket]:
    """Open the event stream of a session."""
    with server.connect() as connection:
        connection.sendall(
            f"GET /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"
            f"Authorization: Bearer {TOKEN}\r\nMcp-Session-Id: {session}\r\n\r\n".encode()
        )
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        yield connection


def test_many_clients_behind_one_token_and_address_are_served(town_zim: Path) -> None:
    headers = {"Authorization": f"Bearer {TOKEN}"}
    with (
        HttpServer((town_zim,), {"AUTH_TOKEN": TOKEN}) as server,
        McpClient(server.url, headers=headers) as client,
        contextlib.ExitStack() as stack,
    ):
        sessions = []
        for _ in range(CLIENTS):
            client.session = None
            assert client.initialize().status_code == 200
            sessions.append(str(client.session))
            stack.enter_context(event_stream(server, sessions[-1]))
        answered = 0
        for client.session in sessions:
            reply = read_reply(
                client.post("tools/call", {"name": "zim_query", "arguments": {"query": "list archives"}})
            )
            answered += not reply["result"].get("isError")

    assert answered == CLIENTS
