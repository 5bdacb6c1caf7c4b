"""The body of a request: read up to a limit, and passed on as if it had just arrived."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.http.middleware import get_header

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import Message, Receive, Scope


class BodyTooLarge(Exception):
    """A body exceeds the limit."""


async def body_parts(scope: Scope, receive: Receive, max_bytes: int) -> AsyncIterator[bytes]:
    """Yield the body of a request, unless it is too large."""
    remaining = max_bytes
    more_body = True
    if int(get_header(scope["headers"], b"content-length") or 0) > max_bytes:
        raise BodyTooLarge
    while more_body:
        message = await receive()
        part = message.get("body", b"")
        remaining -= len(part)
        if remaining < 0:
            raise BodyTooLarge
        yield part
        more_body = message.get("more_body", False)


async def read_body(scope: Scope, receive: Receive, max_bytes: int) -> bytes:
    """Return the body of a request, unless it is too large."""
    return b"".join([part async for part in body_parts(scope, receive, max_bytes)])


class Replay:
    """Passes on a body that was read already, then waits for the client to disconnect."""

    def __init__(self, receive: Receive, body: bytes) -> None:
        self._receive = receive
        self._body: bytes | None = body

    async def receive(self) -> Message:
        """Return the body, then what the client sends."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        return await self._receive()
