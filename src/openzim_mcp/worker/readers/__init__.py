"""Readers: from the bytes of an entry to a `Document`, by MIME type."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from openzim_mcp.worker.document import Document
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers.html.reader import read_html
from openzim_mcp.worker.readers.text import placeholder, read_json, read_plain_text

if TYPE_CHECKING:
    from openzim_mcp.worker.zim import Archive, Item

Reader = Callable[[bytes, str], Document]
"""Makes a document of the bytes of an entry; relative links start at its path."""

_PAGE_TYPES = ("text/html", "application/xhtml+xml")
_TEXT_TYPES = ("text/*", "application/xml*", "application/javascript*", "application/x-javascript*", "application/rtf*")

# By patterns of MIME types; the first that matches is used.
READERS: dict[str, Reader] = {
    **dict.fromkeys(_PAGE_TYPES, read_html),
    "*json*": read_json,
    **dict.fromkeys(_TEXT_TYPES, read_plain_text),
}


def is_page(mime_type: str | None) -> bool:
    """Return whether a type is that of web pages."""
    return _reader(mime_type) is read_html


def is_text(mime_type: str | None) -> bool:
    """Return whether content of a type can be shown as text, as it is."""
    return _reader(mime_type) in {read_html, read_json, read_plain_text}


def is_prose(mime_type: str | None) -> bool:
    """Return whether a type is that of texts for people: web pages and plain text, not data or code."""
    return is_page(mime_type) or (mime_type or "").startswith("text/plain")


@lru_cache(maxsize=1000)
def _reader(mime_type: str | None) -> Reader | None:
    name = (mime_type or "").partition(";")[0].strip().lower()
    return next((reader for pattern, reader in READERS.items() if fnmatchcase(name, pattern)), None)


def read_document(archive: Archive, item: Item) -> Document:
    """Return the document of an entry; only if its type has a reader are its bytes read."""
    reader = _reader(item.mime_type)
    if reader is None:
        return placeholder(item.mime_type, item.size)
    raw = archive.read_content(item.path)
    with timer.limit(archive, item.path):
        return reader(raw, item.path)
