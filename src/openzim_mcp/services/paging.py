"""Opaque cursors: where a listing goes on, and the whole request that it continues."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from openzim_mcp import errors

_LONGEST = 4096


def encode(tool: str, uuid: str, position: int, request: dict[str, Any]) -> str:
    """Return a cursor for the rest of a request to a tool about the archive of that uuid."""
    body = json.dumps([tool, uuid, position, request], separators=(",", ":"), ensure_ascii=False)
    return base64.urlsafe_b64encode(body.encode()).rstrip(b"=").decode()


def decode(cursor: str, tool: str) -> tuple[str, int, dict[str, Any]]:
    """Return uuid, position and request of a cursor of this tool."""
    try:
        if len(cursor) > _LONGEST:
            raise ValueError
        padded = cursor + "=" * (-len(cursor) % 4)
        made_by, uuid, position, request = json.loads(base64.b64decode(padded, altchars="-_", validate=True))
        if not (isinstance(position, int) and position >= 0 and isinstance(request, dict) and isinstance(uuid, str)):
            raise ValueError
    except (ValueError, TypeError, binascii.Error, RecursionError):
        raise errors.CursorRefused(
            "This cursor is not one of this server's.",
            hint="Pass next_cursor of the previous page unchanged, or leave cursor out to start at the first page.",
        ) from None
    if made_by != tool:
        raise errors.CursorRefused(
            f"This cursor comes from {made_by!s:.40}, not from {tool}.",
            hint="Pass it to the tool that returned it, or leave cursor out.",
        )
    return uuid, position, request


def require_same(in_cursor: object, given: object, what: str) -> None:
    """Refuse a cursor that continues something else than the call asks for."""
    if given != in_cursor:
        raise errors.CursorRefused(
            f"This cursor continues a listing of another {what}.",
            hint=f"Pass the cursor alone, or with the same {what}; leave it out to start anew.",
        )
