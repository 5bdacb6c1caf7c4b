"""Opaque cursors: where a listing goes on, and the whole request that it continues."""

from __future__ import annotations

import base64
import binascii
import json
from typing import TYPE_CHECKING, Any

from openzim_mcp import errors

if TYPE_CHECKING:
    from openzim_mcp.worker.zim import Archive

_LONGEST = 16_384
UUID = 8
"""So many characters tell archives apart: a model pays for every one of a cursor."""


def encode(tool: str, uuid: str, position: int, request: dict[str, Any]) -> str:
    """Return a cursor for the rest of a request to a tool about the archive of that uuid."""
    body = json.dumps([tool, uuid[:UUID], position, request], separators=(",", ":"), ensure_ascii=False)
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


def position(tool: str, cursor: str | None, offset: int, uuid: str, request: dict[str, Any]) -> int:
    """Return where a page starts: where the cursor says, if it continues this request, else at the offset."""
    if cursor is None:
        return offset
    made_for, start, asked = decode(cursor, tool)
    require_same(made_for, uuid[:UUID], "archive")
    for name, value in request.items():
        if name != "limit":
            require_same(asked.get(name), value, name)
    return start


def page(tool: str, archive: Archive, request: dict[str, Any], start: int, total: int, **rows: Any) -> dict[str, Any]:
    """Return a page of what a query finds: its rows, by their name, between what was asked and where to go on."""
    stop = start + request["limit"]
    more = {"zim_file_path": archive.name} | {name: value for name, value in request.items() if value is not None}
    return {
        "query": request["query"],
        "mode": request["mode"],
        "archive": archive.shown,
        **rows,
        "total": total,
        "offset": start,
        "limit": request["limit"],
        "next_cursor": None if stop >= total else encode(tool, archive.uuid, stop, more),
        "done": stop >= total,
    }
