"""Opaque cursors: where a list continues, and the whole request that it continues."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any, NamedTuple

from openzim_mcp import errors

_MAX_CURSOR_CHARS = 16_384
UUID_CHARS = 8
"""So many characters tell archives apart: a model pays for every one of a cursor."""


class Cursor(NamedTuple):
    """The start of the archive's UUID, the position in the list, and the arguments of the request."""

    uuid: str
    position: int
    request: dict[str, Any]


def encode(tool: str, uuid: str, position: int, request: dict[str, Any]) -> str:
    """Return a cursor for the rest of a request to a tool about the archive of that UUID."""
    body = json.dumps([tool, uuid[:UUID_CHARS], position, request], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(body.encode()).rstrip(b"=").decode()


def decode(cursor: str, tool: str) -> Cursor:
    """Return the content of a cursor of this tool."""
    try:
        if len(cursor) > _MAX_CURSOR_CHARS:
            raise ValueError
        padded = cursor + "=" * (-len(cursor) % 4)
        cursor_tool, uuid, position, request = json.loads(base64.b64decode(padded, altchars="-_", validate=True))
        if not (isinstance(position, int) and position >= 0 and isinstance(request, dict) and isinstance(uuid, str)):
            raise ValueError
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise errors.InvalidCursor(
            "This cursor is not one of this server's.",
            hint="Pass next_cursor of the previous page unchanged, or leave cursor out to start at the first page.",
        ) from None
    if cursor_tool != tool:
        raise errors.InvalidCursor(
            f"This cursor comes from {cursor_tool!s:.40}, not from {tool}.",
            hint="Pass it to the tool that returned it, or leave cursor out.",
        )
    return Cursor(uuid, position, request)


def require_same(in_cursor: object, in_call: object, name: str) -> None:
    """Refuse a cursor that continues something other than the call asks for."""
    if in_call != in_cursor:
        raise errors.InvalidCursor(
            f"This cursor continues a listing of another {name}.",
            hint=f"Pass the cursor alone, or with the same {name}; leave it out to start again.",
        )


def position(tool: str, cursor: str | None, offset: int, uuid: str, request: dict[str, Any]) -> int:
    """Return where a page starts: where the cursor says, if it continues this request, else at the offset."""
    if cursor is None:
        return offset
    decoded = decode(cursor, tool)
    require_same(decoded.uuid, uuid[:UUID_CHARS], "archive")
    for name, value in request.items():
        if name != "limit":
            require_same(decoded.request.get(name), value, name)
    return decoded.position


def next_cursor(tool: str, uuid: str, stop: int, total: int, request: dict[str, Any]) -> str | None:
    """Return the cursor of the page that starts at `stop`; None if the list has ended."""
    return None if stop >= total else encode(tool, uuid, stop, request)
