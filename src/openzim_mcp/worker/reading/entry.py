"""Read an entry in its own type: its bytes, or its text."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.reading import BinaryEntry, EntryBytes, RawEntry
from openzim_mcp.text import safe_line
from openzim_mcp.worker.readers import is_text
from openzim_mcp.worker.readers.text import to_utf8
from openzim_mcp.worker.reading import resolve

if TYPE_CHECKING:
    from openzim_mcp.calls.reading import ReadBinary, ReadBytes, ReadRawEntry
    from openzim_mcp.worker.zim import Archive, Item

_MAX_ENTRY_BYTES = 10 << 20
_UNKNOWN_TYPE = "application/octet-stream"


def read_binary(archive: Archive, call: ReadBinary) -> BinaryEntry:
    """Return the bytes of an entry, in base64."""
    item = resolve.require_entry(archive, call.path)
    data = base64.b64encode(_read_bytes(archive, item)).decode()
    return BinaryEntry(item.path, item.title, item.mime_type, item.size, "base64", data)


def read_bytes(archive: Archive, call: ReadBytes) -> EntryBytes:
    """Return a range of the bytes of the entry at a path, redirects followed; its size is not limited."""
    item = _require_path(archive, [call.path])
    start, stop, _ = slice(call.start, call.stop).indices(item.size)
    data = archive.read_content(item.path, start, min(stop, start + call.max_bytes))
    return EntryBytes(item.path, item.mime_type or _UNKNOWN_TYPE, item.size, start, max(start, stop), data)


def read_raw_entry(archive: Archive, call: ReadRawEntry) -> RawEntry:
    """Return the entry at the first of some paths that exists, redirects followed."""
    item = _require_path(archive, call.paths)
    raw = _read_bytes(archive, item)
    mime_type = item.mime_type or _UNKNOWN_TYPE
    if is_text(mime_type):
        return RawEntry(item.path, item.title, mime_type, item.size, text=to_utf8(raw).decode(errors="replace"))
    return RawEntry(item.path, item.title, mime_type, item.size, blob=base64.b64encode(raw).decode())


def _require_path(archive: Archive, paths: list[str]) -> Item:
    """Return the item at the first of some paths that exists, redirects followed."""
    item = resolve.find_first_path(archive, paths)
    if item is None:
        raise errors.EntryNotFound(
            f"{archive.name!r} has no entry {safe_line(paths[0], 200)!r}.",
            hint="A resource is found by its exact path; zim_search and zim_get find by title, typos included.",
        )
    return item


def _read_bytes(archive: Archive, item: Item) -> bytes:
    """Return the bytes of an item, unless they are too many to send."""
    if item.size > _MAX_ENTRY_BYTES:
        raise errors.EntryTooLarge(
            f"{item.path!r} has {item.size} bytes; at most {_MAX_ENTRY_BYTES} are sent.",
            hint="Open the archive in a reader such as Kiwix, or request a smaller entry.",
            size=item.size,
            cap=_MAX_ENTRY_BYTES,
        )
    return archive.read_content(item.path)
