"""Read a web page as a browser shows it, without what would leave the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.page import OriginalPage
from openzim_mcp.text import safe_line
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.readers.html.original import rewrite_page
from openzim_mcp.worker.reading import resolve

if TYPE_CHECKING:
    from openzim_mcp.calls.page import ReadOriginal
    from openzim_mcp.worker.zim import Archive

_MAX_PAGE_BYTES = 16 << 20


def read_original(archive: Archive, call: ReadOriginal) -> OriginalPage:
    """Return the page at exactly this path, redirects followed; of other types, where the path leads."""
    item = resolve.find_first_path(archive, [call.path])
    if item is None:
        raise errors.EntryNotFound(f"{archive.name!r} has no entry {safe_line(call.path, 200)!r}.")
    if not is_page(item.mime_type):
        return OriginalPage(item.path)
    if item.size > _MAX_PAGE_BYTES:
        raise errors.EntryTooLarge(f"{safe_line(item.path, 200)!r} has {item.size} bytes.", hint="Read it in parts.")
    raw = archive.read_content(item.path)
    with timer.limit(archive, item.path):
        return OriginalPage(item.path, rewrite_page(raw, call.root))
