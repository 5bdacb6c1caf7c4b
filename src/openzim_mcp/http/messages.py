"""The message in a request: checked before the SDK sees it, and answered until the end of a shutdown.

The SDK's transport describes an invalid message by a dump, lets requests with the same id wait for ever, and has no
batches, which one protocol version requires.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Literal

import anyio
import mcp_types as types
import msgspec
from mcp.server.streamable_http import check_accept_headers
from starlette.requests import Request
from starlette.responses import Response

from openzim_mcp.http.bodies import BodyTooLarge, Replay, body_parts
from openzim_mcp.http.errors import ErrorResponse, InvalidMessageResponse
from openzim_mcp.http.exchange import ByteBudget, Exchange, TooManyBytes
from openzim_mcp.http.middleware import SESSION_ID, client_key, get_header, is_event_stream, is_stateless_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openzim_mcp.http.shutdown import Shutdown

    _RequestId = str | int
    _Part = tuple["_RpcMessage", bytes]

MAX_BODY_BYTES = 1024 * 1024
MAX_BODIES_BYTES = 64 * 1024 * 1024
MAX_BODIES_BYTES_PER_CLIENT = 16 * 1024 * 1024
_MAX_BATCH_MESSAGES = 50
# Each response of a batch is complete in memory before it is sent.
_MAX_CONCURRENT_PARTS = 4
# A client of this version sends no header with its version.
_BATCH_VERSION = b"2025-03-26"
_EVENT_STREAM = [(b"content-type", b"text/event-stream"), (b"cache-control", b"no-cache, no-transform")]
_NOT_A_MESSAGE = InvalidMessageResponse(
    types.INVALID_REQUEST, "Invalid request: the body is JSON, but not a JSON-RPC 2.0 message."
)
_ID_IN_USE = InvalidMessageResponse(
    types.INVALID_REQUEST, "Invalid request: another request of this session with the same id is in progress."
)
_INITIALIZE_IN_BATCH = InvalidMessageResponse(types.INVALID_REQUEST, "Invalid request: initialize in a batch.")
_BATCH_LENGTH = InvalidMessageResponse(
    types.INVALID_REQUEST, f"Invalid request: a batch has 1 to {_MAX_BATCH_MESSAGES} messages."
)
_NOT_JSON = InvalidMessageResponse(types.PARSE_ERROR, "Parse error: the body is not JSON in UTF-8.")
_TOO_LARGE = ErrorResponse(413, f"The body of a request may have up to {MAX_BODY_BYTES} bytes.")
_POST_ONLY = ErrorResponse(405, "This protocol version uses POST only.", headers={"Allow": "POST"})
_ENDING = "The server is shutting down; send the request again in a moment."
_UNREAD = "Too many answers to this client have not been read; read them first."


class _RpcMessage(msgspec.Struct):
    jsonrpc: Literal["2.0"]
    id: str | int | msgspec.UnsetType | None = msgspec.UNSET
    method: str | msgspec.UnsetType = msgspec.UNSET
    params: dict[str, msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET
    result: dict[str, msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET
    error: dict[str, msgspec.Raw] | msgspec.UnsetType = msgspec.UNSET

    @property
    def request_id(self) -> _RequestId | None:
        return self.id if self.method is not msgspec.UNSET and isinstance(self.id, str | int) else None

    @property
    def is_valid(self) -> bool:
        if self.method is not msgspec.UNSET:
            return self.id is not None
        return (self.result is msgspec.UNSET) != (self.error is msgspec.UNSET) and self.id is not msgspec.UNSET


_message_decoder = msgspec.json.Decoder(_RpcMessage)
_batch_decoder = msgspec.json.Decoder(list[msgspec.Raw])


class _InvalidMessage(Exception):
    """A body is not a message; `response` says why."""

    def __init__(self, response: InvalidMessageResponse) -> None:
        super().__init__()
        self.response = response


class MessageMiddleware:
    """Check the message of a request, and see to it that a request gets one response."""

    def __init__(self, app: ASGIApp, shutdown: Shutdown, unread: ByteBudget) -> None:
        self._app = app
        self._shutdown = shutdown
        self._unread = unread
        self._bodies = ByteBudget(MAX_BODIES_BYTES_PER_CLIENT, MAX_BODIES_BYTES)
        self._ids_in_use: set[tuple[bytes, str]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        scope = {**scope, "headers": [_normalize_header(*header) for header in scope["headers"]]}
        if error := _check_headers(scope):
            await error(scope, receive, send)
        elif scope["method"] == "POST":
            await self._serve_post(scope, receive, send)
        else:
            await self._serve(scope, receive, send, None)

    async def _serve_post(self, scope: Scope, receive: Receive, send: Send) -> None:
        client = client_key(scope)
        body = bytearray()
        try:
            async for part in body_parts(scope, receive, MAX_BODY_BYTES):
                self._bodies.add(client, len(part))
                body += part
            await self._serve_body(scope, receive, send, bytes(body))
        except TooManyBytes:
            await ErrorResponse(429, "Too many large requests are in progress.", retry_after=1)(scope, receive, send)
        except BodyTooLarge:
            await _TOO_LARGE(scope, receive, send)
        except _InvalidMessage as error:
            await error.response(scope, receive, send)
        finally:
            self._bodies.remove(client, len(body))

    async def _serve_body(self, scope: Scope, receive: Receive, send: Send, body: bytes) -> None:
        if body.lstrip()[:1] == b"[":
            await self._serve_batch(scope, receive, send, _parse_batch(scope, body))
        else:
            await self._serve(scope, receive, send, _parse_message(body), body)

    async def _serve(
        self, scope: Scope, receive: Receive, send: Send, message: _RpcMessage | None, body: bytes = b""
    ) -> None:
        """Serve one message, or a request without one."""
        exchange = Exchange(send, self._unread, client_key(scope))
        request_id = message.request_id if message is not None else None
        is_stream = is_event_stream(scope)
        try:
            with self._reserved_id(scope, request_id), self._shutdown.request(is_stream=is_stream) as ending:
                await self._app(scope, Replay(receive, body).receive, exchange.send)
                await exchange.finish()
            if ending.cancelled_caught and not is_stream:
                await exchange.fail(scope, receive, request_id, _ENDING)
            elif exchange.is_refused:
                await exchange.fail(scope, receive, request_id, _UNREAD)
            elif ending.cancelled_caught:
                await exchange.finish()
        finally:
            exchange.discard()

    @contextlib.contextmanager
    def _reserved_id(self, scope: Scope, request_id: _RequestId | None) -> Iterator[None]:
        """Refuse a request whose id another one of its session has, which is still in progress."""
        session = get_header(scope["headers"], SESSION_ID)
        if session is None or request_id is None:
            yield
            return
        # The SDK does not tell 1 from "1".
        key = (session, str(request_id))
        if key in self._ids_in_use:
            raise _InvalidMessage(_ID_IN_USE)
        self._ids_in_use.add(key)
        try:
            yield
        finally:
            self._ids_in_use.discard(key)

    async def _serve_batch(self, scope: Scope, receive: Receive, send: Send, parts: list[_Part]) -> None:
        """Serve the messages of a batch, some at once; the response is a stream of their responses."""
        events = _Events(send)
        places = anyio.CapacityLimiter(_MAX_CONCURRENT_PARTS)

        async def serve_part(part: _Part) -> None:
            async with places:
                await self._serve_part(scope, receive, events, part)

        async with anyio.create_task_group() as tasks:
            for part in parts:
                tasks.start_soon(serve_part, part)
        await events.finish(scope, receive)

    async def _serve_part(self, scope: Scope, receive: Receive, events: _Events, part: _Part) -> None:
        message, body = part
        response = _Collected()
        try:
            await self._serve(scope, receive, response.send, message, body)
            await events.send(response.as_events())
        except _InvalidMessage as error:
            await events.send(_as_event(bytes(error.response.body)))


class _Events:
    """The response to a batch: a stream, or nothing if there is no event."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._lock = anyio.Lock()
        self._is_started = False

    async def send(self, events: bytes) -> None:
        if not events:
            return
        async with self._lock:
            if not self._is_started:
                self._is_started = True
                await self._send({"type": "http.response.start", "status": 200, "headers": _EVENT_STREAM})
            await self._send({"type": "http.response.body", "body": events, "more_body": True})

    async def finish(self, scope: Scope, receive: Receive) -> None:
        if self._is_started:
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await Response(status_code=202)(scope, receive, self._send)


class _Collected:
    """The whole response to one message of a batch."""

    def __init__(self) -> None:
        self._is_stream = False
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            content_type = get_header(message["headers"], b"content-type") or b""
            self._is_stream = content_type.startswith(b"text/event-stream")
        self._body += message.get("body", b"")

    def as_events(self) -> bytes:
        return bytes(self._body) if self._is_stream or not self._body else _as_event(bytes(self._body))


def _parse_message(body: bytes) -> _RpcMessage:
    try:
        message = _message_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _InvalidMessage(_NOT_A_MESSAGE if _is_json(body) else _NOT_JSON) from None
    if not message.is_valid:
        raise _InvalidMessage(_NOT_A_MESSAGE)
    return message


def _parse_batch(scope: Scope, body: bytes) -> list[_Part]:
    if get_header(scope["headers"], b"mcp-protocol-version") not in {None, _BATCH_VERSION}:
        raise _InvalidMessage(_NOT_A_MESSAGE)
    try:
        bodies = [bytes(part) for part in _batch_decoder.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _InvalidMessage(_NOT_JSON) from None
    if not 0 < len(bodies) <= _MAX_BATCH_MESSAGES:
        raise _InvalidMessage(_BATCH_LENGTH)
    parts = [(_parse_message(part), part) for part in bodies]
    if any(message.method == "initialize" for message, _ in parts):
        raise _InvalidMessage(_INITIALIZE_IN_BATCH)
    return parts


def _is_json(body: bytes) -> bool:
    try:
        msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _as_event(data: bytes) -> bytes:
    return b"event: message\r\ndata: " + data + b"\r\n\r\n"


def _check_headers(scope: Scope) -> ErrorResponse | None:
    headers = scope["headers"]
    if len({value for name, value in headers if name == SESSION_ID}) > 1:
        return ErrorResponse(400, "A request may have one Mcp-Session-Id.")
    if scope["method"] != "POST":
        return _POST_ONLY if is_stateless_version(scope) else None
    if (get_header(headers, b"content-type") or b"").partition(b";")[0].strip() != b"application/json":
        return ErrorResponse(415, "The Content-Type of a message is application/json.")
    if not all(check_accept_headers(Request(scope))):
        return ErrorResponse(406, "Accept has to list application/json and text/event-stream.")
    return None


def _normalize_header(name: bytes, value: bytes) -> tuple[bytes, bytes]:
    """Write media types in lower case, as the SDK compares them so."""
    return name, value.lower() if name in {b"content-type", b"accept"} else value
