"""Opaque cursors: where a listing goes on, and the whole request that it continues."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from openzim_mcp import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST = 16_384
_UUID = 8
"""So many characters tell archives apart: a model pays for every one of a cursor."""
_Row = TypeVar("_Row")


def encode(tool: str, uuid: str, position: int, request: dict[str, Any]) -> str:
    """Return a cursor for the rest of a request to a tool about the archive of that uuid."""
    body = json.dumps([tool, uuid[:_UUID], position, request], separators=(",", ":"), ensure_ascii=False)
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
    require_same(made_for, uuid[:_UUID], "archive")
    for name, value in request.items():
        if name != "limit":
            require_same(asked.get(name), value, name)
    return start


@dataclass(frozen=True)
class Page(Generic[_Row]):
    """Some rows of a list, and where the next ones begin."""

    rows: list[_Row]
    stop: int
    done: bool

    @classmethod
    def of(cls, rows: Sequence[_Row], start: int, limit: int) -> Page[_Row]:
        """Return `limit` rows from `start` on."""
        stop = start + limit
        return cls(list(rows[start:stop]), stop, stop >= len(rows))

    def cursor(self, tool: str, uuid: str, request: dict[str, Any]) -> str | None:
        """Return what continues the request, if there is more."""
        given = {name: value for name, value in request.items() if value is not None}
        return None if self.done else encode(tool, uuid, self.stop, given)
