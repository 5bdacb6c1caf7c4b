"""Entries as the archive has them: their bytes, or their text, and their own type."""

from __future__ import annotations

import base64
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls import OMIT_NONE
from openzim_mcp.text import safe_line
from openzim_mcp.worker.readers import text as other
from openzim_mcp.worker.readers.html import reader

if TYPE_CHECKING:
    from openzim_mcp.worker.zim import Archive, Item

_LARGEST = 10 << 20
_NAMESPACES = ("A/", "C/", "I/", "-/")
_UNKNOWN_TYPE = "application/octet-stream"
_XHTML = "application/xhtml+xml"


@dataclass(frozen=True)
class Native:
    """An entry as it is: `text`, or `blob` in base64."""

    path: str
    title: str
    mime_type: str
    size: int
    text: str | None = field(default=None, metadata=OMIT_NONE)
    blob: str | None = field(default=None, metadata=OMIT_NONE)


def native(archive: Archive, spellings: list[str]) -> Native:
    """Return the entry at the first of some paths that there is, redirects followed."""
    item = next(filter(None, map(archive.find, _namespaced(spellings))), None)
    if item is None:
        raise errors.EntryNotFound(
            f"{archive.name!r} has no entry {safe_line(spellings[0], 200)!r}.",
            hint="A resource is found by its exact path; zim_search and zim_get find by title, and forgive slips.",
        )
    raw = read(archive, item)
    mime_type = item.mime_type or _UNKNOWN_TYPE
    if other.is_text(mime_type) or mime_type == _XHTML:
        return Native(item.path, item.title, mime_type, item.size, text=reader.utf8(raw).decode(errors="replace"))
    return Native(item.path, item.title, mime_type, item.size, blob=base64.b64encode(raw).decode())


def read(archive: Archive, item: Item) -> bytes:
    """Return the bytes of an item, unless they are too many to send."""
    if item.size > _LARGEST:
        raise errors.EntryTooLarge(
            f"{item.path!r} has {item.size} bytes; at most {_LARGEST} are sent.",
            hint="Open the archive in a reader such as Kiwix to see it, or take a smaller entry.",
            size=item.size,
            cap=_LARGEST,
        )
    return archive.read(item.path)


def _namespaced(spellings: list[str]) -> list[str]:
    """Add the paths without a namespace, which newer archives do not have."""
    bare = [path[len(prefix) :] for path in spellings for prefix in _NAMESPACES if path.startswith(prefix)]
    return [path for path in dict.fromkeys([*spellings, *bare]) if path]
