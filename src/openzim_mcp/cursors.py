"""Opaque cursors: where a list continues, and the whole request that it continues."""

from __future__ import annotations

import base64
import binascii
import json
from typing import NamedTuple

from openzim_mcp import errors

_MAX_CURSOR_CHARS = 16_384
UUID_CHARS = 8
"""Enough characters of a UUID to tell archives apart; models pay for each character of a cursor."""


class Cursor(NamedTuple):
    """The start of the archive's UUID, the position in the list, and the arguments of the request."""

    uuid: str
    position: int
    request: dict[str, object]


def encode(tool: str, uuid: str, position: int, request: dict[str, object]) -> str:
    """Return a cursor that continues a request to a tool at a position; the UUID is the archive's."""
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
    """Refuse a cursor that continues a request other than the call's."""
    if in_call != in_cursor:
        raise errors.InvalidCursor(
            f"This cursor continues a listing of another {name}.",
            hint=f"Pass the cursor alone, or with the same {name}; leave it out to start again.",
        )


def start_position(tool: str, cursor: str | None, offset: int, uuid: str, request: dict[str, object]) -> int:
    """Return where a page starts: at the position of the cursor, which must continue this request, or at the offset."""
    if cursor is None:
        return offset
    decoded = decode(cursor, tool)
    require_same(decoded.uuid, uuid[:UUID_CHARS], "archive")
    for name, value in request.items():
        if name != "limit":
            require_same(decoded.request.get(name), value, name)
    return decoded.position


def next_cursor(tool: str, uuid: str, stop: int, total: int, request: dict[str, object]) -> str | None:
    """Return the cursor of the page that starts at `stop`; None if the list has ended."""
    return None if stop >= total else encode(tool, uuid, stop, request)
