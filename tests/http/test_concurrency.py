from __future__ import annotations

import itertools

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from openzim_mcp.app.caller import Caller, set_caller
from openzim_mcp.http.concurrency import MAX_SESSIONS_PER_CLIENT, ConcurrencyMiddleware, Shutdown

pytestmark = pytest.mark.anyio


class SessionApp:
    """An application that starts a session for each request, once a test allows it."""

    def __init__(self) -> None:
        self.may_respond = anyio.Event()
        self._numbers = itertools.count()

    async def __call__(self, _scope: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await self.may_respond.wait()
        headers = [(b"mcp-session-id", b"%032x" % next(self._numbers))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b""})


async def post(app: ConcurrencyMiddleware, client: str = "192.0.2.1") -> int:
    """Send a request that may start a session; return the status of the response."""
    statuses: list[int] = []
    scope: Scope = {"type": "http", "method": "POST", "headers": []}
    set_caller(scope, Caller(client))

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    await app(scope, receive, send)
    return statuses[0]


async def test_concurrent_requests_do_not_exceed_the_session_limit() -> None:
    session_app = SessionApp()
    app = ConcurrencyMiddleware(session_app, Shutdown())
    statuses: list[int] = []

    async def post_concurrently() -> None:
        statuses.append(await post(app))

    for _ in range(2):
        async with anyio.create_task_group() as tasks:
            for _ in range(MAX_SESSIONS_PER_CLIENT * 6 // 10):
                tasks.start_soon(post_concurrently)
            await anyio.wait_all_tasks_blocked()
            session_app.may_respond.set()
        session_app.may_respond = anyio.Event()

    assert statuses.count(200) == MAX_SESSIONS_PER_CLIENT
    assert statuses.count(429) == MAX_SESSIONS_PER_CLIENT // 5


async def test_failed_requests_do_not_count_as_sessions() -> None:
    async def fail(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise RuntimeError("no response")

    app = ConcurrencyMiddleware(fail, Shutdown())
    for _ in range(MAX_SESSIONS_PER_CLIENT + 1):
        with pytest.raises(RuntimeError, match="no response"):
            await post(app)
    assert app.in_flight == 0
