"""How much one client may have under way, and for how long it may let the server wait: nobody is served less for it."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from typing import TYPE_CHECKING

import anyio
from cachetools import TTLCache
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from openzim_mcp.app.caller import get_caller
from openzim_mcp.http.errors import Refusal
from openzim_mcp.http.middleware import SESSION_ID

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

IN_FLIGHT = 1024
IN_FLIGHT_EACH = 64
SESSIONS = 1000
SESSIONS_EACH = 100
SESSION_IDLE_SECONDS = 1800
BODY_BYTES = 1024 * 1024
_BODY_SECONDS = 15.0
_SESSIONS_REMEMBERED = 10 * SESSIONS


class _TooSlow(Exception):
    """A client lets the server wait."""


class _Gone(Exception):
    """A client has left before its request was there."""


class Bounds:
    """Counts what each client has under way, and refuses what is too much of it."""

    def __init__(self, app: ASGIApp, closing: Shutdown, *, body_seconds: float = _BODY_SECONDS) -> None:
        self._app = app
        self._closing = closing
        self._body_seconds = body_seconds
        self._busy: Counter[str] = Counter()
        self._owners: TTLCache[bytes, str] = TTLCache(_SESSIONS_REMEMBERED, SESSION_IDLE_SECONDS)

    @property
    def in_flight(self) -> int:
        """How many requests are being served."""
        return self._busy.total()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, if its client has not too many under way already."""
        visitor = get_caller(scope).client
        if refusal := self._refusal(scope, visitor):
            await refusal(scope, receive, send)
            return
        self._busy[visitor] += 1
        try:
            await self._serve(scope, receive, send, visitor)
        finally:
            self._busy[visitor] -= 1
            if not self._busy[visitor]:
                del self._busy[visitor]

    def _refusal(self, scope: Scope, visitor: str) -> Refusal | None:
        if self.in_flight >= IN_FLIGHT:
            return Refusal(503, "The server is busy.", retry_after=1)
        if self._busy[visitor] >= IN_FLIGHT_EACH:
            return Refusal(429, f"A client may have {IN_FLIGHT_EACH} requests under way.", retry_after=1)
        session = _header(scope["headers"], SESSION_ID)
        if session is not None and session in self._owners:
            self._owners[session] = self._owners[session]  # which keeps it from expiring
        has_many = session is None and _may_open_session(scope) and self._sessions_of(visitor) >= SESSIONS_EACH
        if has_many:
            return Refusal(429, f"A client may have {SESSIONS_EACH} sessions; end one (DELETE).", retry_after=60)
        return None

    def _sessions_of(self, visitor: str) -> int:
        return sum(owner == visitor for owner in self._owners.values())

    async def _serve(self, scope: Scope, receive: Receive, send: Send, visitor: str) -> None:
        arriving = _Arriving(receive, self._body_seconds)
        is_under_way = False

        async def told(message: Message) -> None:
            nonlocal is_under_way
            is_under_way = message["type"] == "http.response.start" or message.get("more_body", False)
            if message["type"] == "http.response.start":
                self._note_session(scope, message, visitor)
                if not arriving.is_complete:
                    # What follows on this connection is the rest of the request.
                    message = {**message, "headers": [*message["headers"], (b"connection", b"close")]}
            await send(message)

        try:
            with self._closing.stream(is_idle=scope["method"] == "GET"):
                await self._app(scope, arriving.receive, told)
            if is_under_way:
                # Streams notice a signal by themselves, and stop in the middle.
                await send({"type": "http.response.body", "body": b""})
        except _TooSlow:
            await Refusal(408, "The request did not arrive in time.")(scope, receive, send)
        except _Gone:
            pass

    def _note_session(self, scope: Scope, message: Message, visitor: str) -> None:
        """Keep count of who has which sessions: the answer to the first request names a new one."""
        asked = _header(scope["headers"], SESSION_ID)
        named = _header(message["headers"], SESSION_ID)
        if asked is None and named is not None:
            self._owners[named] = visitor
        if asked is not None and (scope["method"] == "DELETE" or message["status"] == 404):  # noqa: PLR2004
            self._owners.pop(asked, None)


class _Arriving:
    """A request that has to arrive in time."""

    def __init__(self, receive: Receive, seconds: float) -> None:
        self._receive = receive
        self._deadline = time.monotonic() + seconds
        self.is_complete = False

    async def receive(self) -> Message:
        """Return the next part of the request; what comes after it may take for ever."""
        if self.is_complete:
            return await self._receive()
        with anyio.move_on_after(max(0.0, self._deadline - time.monotonic())):
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise _Gone
            self.is_complete = not message.get("more_body", False)
            return message
        raise _TooSlow


def _may_open_session(scope: Scope) -> bool:
    """Say whether a request can be the first one of a session, which there are in the handshake revisions."""
    version = _header(scope["headers"], b"mcp-protocol-version")
    return version is None or version.decode("latin-1") in HANDSHAKE_PROTOCOL_VERSIONS


def _header(headers: list[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    return next((value for given, value in headers if given.lower() == name), None)


class Shutdown:
    """Knows the streams that wait for something to happen, and ends them when the server does."""

    def __init__(self, *also: Callable[[], None]) -> None:
        self._also = also
        self._idle: set[anyio.CancelScope] = set()

    def begin(self) -> None:
        """End what only waits."""
        for end in self._also:
            end()
        for scope in list(self._idle):
            scope.cancel()

    @contextlib.contextmanager
    def stream(self, *, is_idle: bool) -> Iterator[None]:
        """Serve a request, which is ended at the end if it is an idle one."""
        with anyio.CancelScope() as scope:
            if is_idle:
                self._idle.add(scope)
            try:
                yield
            finally:
                self._idle.discard(scope)
