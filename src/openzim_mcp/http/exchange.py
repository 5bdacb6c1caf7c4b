"""One response on its way to a client: in parts, counted by its bytes, and ended with an error if it has to be."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

import msgspec

from openzim_mcp.http.errors import ErrorResponse, jsonrpc_error

if TYPE_CHECKING:
    from starlette.types import Message, Receive, Scope, Send

_PART_BYTES = 64 * 1024
MAX_UNREAD_BYTES = 128 * 1024 * 1024
MAX_UNREAD_BYTES_PER_CLIENT = 32 * 1024 * 1024


class TooManyBytes(Exception):
    """A client, or all clients together, hold more bytes than the limit."""


class ByteBudget:
    """Bytes that the server keeps for clients, limited for each of them and in total."""

    def __init__(self, per_client: int, total: int) -> None:
        self._per_client = per_client
        self._total = total
        self._bytes: Counter[str] = Counter()

    def is_exhausted(self, client: str) -> bool:
        """Whether a client has reached its limit."""
        return self._bytes[client] >= self._per_client

    def add(self, client: str, count: int) -> None:
        """Count bytes that are kept for a client."""
        if self._bytes[client] + count > self._per_client or self._bytes.total() + count > self._total:
            raise TooManyBytes
        self._bytes[client] += count

    def remove(self, client: str, count: int) -> None:
        """Count bytes that are no longer kept."""
        self._bytes[client] -= count
        if not self._bytes[client]:
            del self._bytes[client]


class Exchange:
    """Sends one response.

    A large body is sent after the application has returned, in parts, each when the client has read the previous one:
    the application then keeps no other copy of it. The request stays in progress until the client has read everything.
    """

    def __init__(self, send: Send, unread: ByteBudget, client: str) -> None:
        self._send = send
        self._unread = unread
        self._client = client
        self._start: Message | None = None
        self._is_started = False
        self._is_stream = False
        self.is_complete = False
        """Whether the application has sent the end of the response."""
        self.is_refused = False
        """Whether the body was dropped, because the client has too many others to read."""
        self._large_body: deque[bytes] = deque()
        self._sent_bytes = 0

    async def send(self, message: Message) -> None:
        """Send a message of the application, or keep it until `finish`."""
        if message["type"] == "http.response.start":
            await self._prepare(message)
            return
        body = message.get("body", b"")
        if self._large_body and body:
            await self._send_large_body()
        if len(body) > _PART_BYTES:
            self._keep(body)
        elif body:
            await self._send_part(body)
        self.is_complete = not message.get("more_body", False)

    def _keep(self, body: bytes) -> None:
        try:
            self._unread.add(self._client, len(body))
            self._large_body.append(body)
        except TooManyBytes:
            self.is_refused = True

    async def finish(self) -> None:
        """Send what is left of the response, once the application has returned."""
        if self.is_refused:
            return
        await self._send_large_body()
        if self._start is not None or self._is_started:
            await self._send_part(b"")
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def fail(self, scope: Scope, receive: Receive, request_id: str | int | None, description: str) -> None:
        """End the response with an error: an HTTP response, or an event if the response is a stream already."""
        self.discard()
        if self._is_started and self._is_stream and (self.is_refused or not self.is_complete):
            self.is_refused = False
            error = msgspec.json.encode(jsonrpc_error(request_id, description)).decode()
            await self._send_part(f"event: message\r\ndata: {error}\r\n\r\n".encode())
            await self.finish()
        elif not self._is_started:
            self._start = None
            await ErrorResponse(503, description, retry_after=1)(scope, receive, self._send)

    def discard(self) -> None:
        """Drop what the client has not read."""
        if self._large_body:
            self._unread.remove(self._client, sum(map(len, self._large_body)) - self._sent_bytes)
            self._large_body.clear()
            self._sent_bytes = 0

    async def _prepare(self, message: Message) -> None:
        """Keep the head of a response until its body is there, so that it can still become an error."""
        self._start = message
        content_type = next((value for name, value in message["headers"] if name.lower() == b"content-type"), b"")
        self._is_stream = content_type.startswith(b"text/event-stream")
        if self._is_stream:
            await self._send_part(b"")

    async def _send_part(self, body: bytes) -> None:
        if self._start is not None:
            start, self._start = self._start, None
            self._is_started = True
            await self._send(start)
        if body:
            await self._send({"type": "http.response.body", "body": body, "more_body": True})

    async def _send_large_body(self) -> None:
        while self._large_body:
            body = self._large_body[0]
            part = body[self._sent_bytes : self._sent_bytes + _PART_BYTES]
            await self._send_part(part)
            self._sent_bytes += len(part)
            self._unread.remove(self._client, len(part))
            if self._sent_bytes >= len(body):
                self._large_body.popleft()
                self._sent_bytes = 0
