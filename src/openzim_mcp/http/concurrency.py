"""Limits per client: concurrent requests, event streams, sessions, unread responses, and the time to send a body."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING

import anyio

from openzim_mcp.http.errors import ErrorResponse
from openzim_mcp.http.middleware import SESSION_ID, client_key, get_header, is_event_stream
from openzim_mcp.http.sessions import Session, SessionTable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openzim_mcp.http.exchange import ByteBudget

# One client may have half of everything: many may share a token and an address, and the others still have the rest.
MAX_REQUESTS, MAX_REQUESTS_PER_CLIENT = 1024, 512
MAX_STREAMS, MAX_STREAMS_PER_CLIENT = 2000, 1000
BODY_TIMEOUT_SECONDS = 15.0


class _BodyTimeout(Exception):
    """The body of a request did not arrive in time."""


class _ClientDisconnected(Exception):
    """The client disconnected before its request was complete."""


@dataclass
class _Limit:
    """How many requests of a kind may be in progress, for each client and in total."""

    what: str
    per_client: int
    total: int
    counts: Counter[str]

    def check(self, client: str) -> ErrorResponse | None:
        if self.counts.total() >= self.total:
            return ErrorResponse(503, "The server is busy.", retry_after=1)
        if self.counts[client] >= self.per_client:
            return ErrorResponse(429, f"A client may have up to {self.per_client} {self.what}.", retry_after=1)
        return None

    @contextlib.contextmanager
    def counted(self, client: str) -> Iterator[None]:
        self.counts[client] += 1
        try:
            yield
        finally:
            self.counts[client] -= 1
            if not self.counts[client]:
                del self.counts[client]


class ConcurrencyMiddleware:
    """Count the requests, streams and sessions of each client, and refuse requests above the limits."""

    def __init__(
        self,
        app: ASGIApp,
        unread: ByteBudget,
        *,
        sessions: SessionTable | None = None,
        body_timeout: float = BODY_TIMEOUT_SECONDS,
    ) -> None:
        self._app = app
        self._unread = unread
        self._body_timeout = body_timeout
        self._requests = _Limit("requests in progress", MAX_REQUESTS_PER_CLIENT, MAX_REQUESTS, Counter())
        self._streams = _Limit("event streams", MAX_STREAMS_PER_CLIENT, MAX_STREAMS, Counter())
        self._sessions = sessions or SessionTable()

    @property
    def in_flight(self) -> int:
        """The number of requests in progress, without event streams."""
        return self._requests.counts.total()

    @property
    def stream_count(self) -> int:
        """The number of event streams."""
        return self._streams.counts.total()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, unless its client has too many in progress."""
        client = client_key(scope)
        limit = self._streams if is_event_stream(scope) else self._requests
        error = limit.check(client)
        if self._unread.is_exhausted(client):
            error = ErrorResponse(429, "A client has to read its responses first.", retry_after=1)
        if error:
            await error(scope, receive, send)
            return
        with limit.counted(client), self._sessions.using(get_header(scope["headers"], SESSION_ID)):
            await self._serve(scope, receive, send)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = TimedBody(receive, self._body_timeout)

        async def send_response(message: Message) -> None:
            if message["type"] == "http.response.start":
                await self._record_session(scope, message)
                if not body.is_complete:
                    # The next bytes on this connection are the rest of the request.
                    message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        try:
            await self._app(scope, body.receive, send_response)
        except _BodyTimeout:
            await ErrorResponse(408, "The request did not arrive in time.")(scope, receive, send)
        except _ClientDisconnected:
            pass

    async def _record_session(self, scope: Scope, response: Message) -> None:
        requested = get_header(scope["headers"], SESSION_ID)
        created = get_header(response["headers"], SESSION_ID)
        if requested is None and created is not None and response["status"] == HTTPStatus.OK:
            client = client_key(scope)
            self._sessions.add(created, Session(client, scope.get("user")))
            while surplus := self._sessions.surplus(client):
                await self._end_session(scope, surplus)
        if requested is not None and (scope["method"] == "DELETE" or response["status"] == HTTPStatus.NOT_FOUND):
            self._sessions.remove(requested)

    async def _end_session(self, scope: Scope, session_id: bytes) -> None:
        """End a session as its client would, which is told so (404) when it uses the session again."""
        session = self._sessions.remove(session_id)
        user = session.user if session else None
        request = {**scope, "method": "DELETE", "headers": [(SESSION_ID, session_id)], "user": user}

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(_message: Message) -> None:
            pass

        await self._app(request, receive, send)


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
