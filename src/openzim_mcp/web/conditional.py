"""Entity tags and conditional requests (RFC 9110): a client that has a result asks whether it still holds."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from starlette.responses import Response

from openzim_mcp import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

CACHE_CONTROL = "private, no-cache"
"""Clients may keep a result, and ask each time whether it still holds."""
_TAG_BYTES = 12


def make_tag(*parts: object) -> str:
    """Return the strong entity tag of what depends on these parts, and on the version of this server."""
    return hash_body("\n".join([__version__, *map(str, parts)]).encode(errors="replace"))


def hash_body(body: bytes) -> str:
    """Return the strong entity tag of a response by its content."""
    return f'"{hashlib.blake2b(body, digest_size=_TAG_BYTES).hexdigest()}"'


def is_current(tag: str, headers: Mapping[str, str]) -> bool:
    """Whether a client says that it has the result with this tag."""
    known = headers.get("if-none-match")
    if known is None:
        return False
    return known.strip() == "*" or tag in {item.strip().removeprefix("W/") for item in known.split(",")}


def not_modified(tag: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return the response to a client that has the result already."""
    return Response(status_code=304, headers={"ETag": tag, "Cache-Control": CACHE_CONTROL, **(headers or {})})
