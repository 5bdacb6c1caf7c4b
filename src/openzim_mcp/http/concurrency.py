"""Limits per client: concurrent requests, sessions, and the time to send a body. Streams end on shutdown."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio
from cachetools import TTLCache
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from openzim_mcp.app.caller import get_caller
from openzim_mcp.http.errors import ErrorResponse
from openzim_mcp.http.middleware import SESSION_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_REQUESTS = 1024
MAX_REQUESTS_PER_CLIENT = 64
MAX_SESSIONS = 1000
MAX_SESSIONS_PER_CLIENT = 100
SESSION_IDLE_SECONDS = 1800
MAX_BODY_BYTES = 1024 * 1024
BODY_TIMEOUT_SECONDS = 15.0
_MAX_SESSION_OWNERS = 10 * MAX_SESSIONS


class _BodyTimeout(Exception):
    """The body of a request did not arrive in time."""


class _ClientDisconnected(Exception):
    """The client disconnected before its request was complete."""


class ConcurrencyMiddleware:
    """Count the requests and sessions of each client, and refuse those above the limits."""

    def __init__(self, app: ASGIApp, shutdown: Shutdown, *, body_timeout: float = BODY_TIMEOUT_SECONDS) -> None:
        self._app = app
        self._shutdown = shutdown
        self._body_timeout = body_timeout
        self._requests: Counter[str] = Counter()
        # Requests that may start a session and have no response yet: they count as sessions.
        self._initializing: Counter[str] = Counter()
        self._session_owners: TTLCache[bytes, str] = TTLCache(_MAX_SESSION_OWNERS, SESSION_IDLE_SECONDS)

    @property
    def in_flight(self) -> int:
        """The number of requests in progress."""
        return self._requests.total()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, unless its client has too many in progress."""
        client = get_caller(scope).client
        if error := self._check_limits(scope, client):
            await error(scope, receive, send)
            return
        with _counted(self._requests, client), contextlib.ExitStack() as until_response:
            if _may_open_session(scope):
                until_response.enter_context(_counted(self._initializing, client))
            await self._serve(scope, receive, send, until_response)

    def _check_limits(self, scope: Scope, client: str) -> ErrorResponse | None:
        if self.in_flight >= MAX_REQUESTS:
            return ErrorResponse(503, "The server is busy.", retry_after=1)
        if self._requests[client] >= MAX_REQUESTS_PER_CLIENT:
            description = f"A client may have up to {MAX_REQUESTS_PER_CLIENT} requests in progress."
            return ErrorResponse(429, description, retry_after=1)
        session = _get_header(scope["headers"], SESSION_ID)
        if session is not None and session in self._session_owners:
            self._session_owners[session] = self._session_owners[session]  # restarts its time to live
        if _may_open_session(scope) and self._count_sessions(client) >= MAX_SESSIONS_PER_CLIENT:
            description = f"A client may have up to {MAX_SESSIONS_PER_CLIENT} sessions; end one (DELETE)."
            return ErrorResponse(429, description, retry_after=60)
        return None

    def _count_sessions(self, client: str) -> int:
        return self._initializing[client] + sum(owner == client for owner in self._session_owners.values())

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, until_response: contextlib.ExitStack[bool | None]
    ) -> None:
        body = TimedBody(receive, self._body_timeout)
        is_response_open = False

        async def send_response(message: Message) -> None:
            nonlocal is_response_open
            is_response_open = message["type"] == "http.response.start" or message.get("more_body", False)
            if message["type"] == "http.response.start":
                self._record_session(scope, message)
                until_response.close()
                if not body.is_complete:
                    # The next bytes on this connection are the rest of the request.
                    message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        try:
            with self._shutdown.stream(is_idle=scope["method"] == "GET"):
                await self._app(scope, body.receive, send_response)
            if is_response_open:
                # On shutdown the SDK's streams stop without their last message.
                await send({"type": "http.response.body", "body": b""})
        except _BodyTimeout:
            await ErrorResponse(408, "The request did not arrive in time.")(scope, receive, send)
        except _ClientDisconnected:
            pass

    def _record_session(self, scope: Scope, response: Message) -> None:
        requested = _get_header(scope["headers"], SESSION_ID)
        created = _get_header(response["headers"], SESSION_ID)
        if requested is None and created is not None:
            self._session_owners[created] = get_caller(scope).client
        if requested is not None and (scope["method"] == "DELETE" or response["status"] == HTTPStatus.NOT_FOUND):
            self._session_owners.pop(requested, None)


class TimedBody:
    """A request body that has to arrive in time."""

    def __init__(self, receive: Receive, timeout: float) -> None:
        self._receive = receive
        self._deadline = time.monotonic() + timeout
        self.is_complete = False

    async def receive(self) -> Message:
        """Return the next message; after the body, wait without a limit."""
        if self.is_complete:
            return await self._receive()
        with anyio.move_on_after(max(0.0, self._deadline - time.monotonic())):
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise _ClientDisconnected
            self.is_complete = not message.get("more_body", False)
            return message
        raise _BodyTimeout


def _may_open_session(scope: Scope) -> bool:
    """Whether a request can be an `initialize`: it has no session id, and no other protocol version."""
    if _get_header(scope["headers"], SESSION_ID) is not None:
        return False
    version = _get_header(scope["headers"], b"mcp-protocol-version")
    return version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


@contextlib.contextmanager
def _counted(counter: Counter[str], client: str) -> Iterator[None]:
    counter[client] += 1
    try:
        yield
    finally:
        counter[client] -= 1
        if not counter[client]:
            del counter[client]


def _get_header(headers: list[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    return next((value for key, value in headers if key.lower() == name), None)


class Shutdown:
    """Ends the streams that only wait for events; calls in progress are completed."""

    def __init__(self, *callbacks: Callable[[], None]) -> None:
        self._callbacks = callbacks
        self._idle_streams: set[anyio.CancelScope] = set()

    def begin(self) -> None:
        """End all idle streams."""
        for callback in self._callbacks:
            callback()
        for scope in list(self._idle_streams):
            scope.cancel()

    @contextlib.contextmanager
    def stream(self, *, is_idle: bool) -> Iterator[None]:
        """Serve a request in this block; on shutdown the block is cancelled if the request is an idle stream."""
        with anyio.CancelScope() as scope:
            if is_idle:
                self._idle_streams.add(scope)
            try:
                yield
            finally:
                self._idle_streams.discard(scope)
