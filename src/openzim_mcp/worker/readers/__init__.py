"""Readers: from the bytes of an entry to a `Document`, by MIME type."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase
from functools import lru_cache

from openzim_mcp.worker.document import Document
from openzim_mcp.worker.readers.books import read_plain_text
from openzim_mcp.worker.readers.delimited import read_table
from openzim_mcp.worker.readers.epub import read_epub
from openzim_mcp.worker.readers.html.reader import read_html
from openzim_mcp.worker.readers.markdown import read_markdown
from openzim_mcp.worker.readers.pdf.reader import read_pdf
from openzim_mcp.worker.readers.rtf import read_rtf
from openzim_mcp.worker.readers.subtitles import read_subtitles
from openzim_mcp.worker.readers.svg import read_svg
from openzim_mcp.worker.readers.text import read_json

Reader = Callable[[bytes, str], Document]
"""Makes a document of the bytes of an entry; relative links start at its path."""

_PAGE_TYPES = ("text/html", "application/xhtml+xml")
_PDF_TYPES = ("application/pdf", "application/x-pdf")
_TABLE_TYPES = ("text/csv", "text/tab-separated-values")
_SUBTITLE_TYPES = ("text/vtt", "application/x-subrip", "text/srt")
_TEXT_TYPES = ("text/*", "application/xml*", "application/javascript*", "application/x-javascript*")

# By patterns of MIME types; the first that matches is used.
READERS: dict[str, Reader] = {
    **dict.fromkeys(_PAGE_TYPES, read_html),
    **dict.fromkeys(_PDF_TYPES, read_pdf),
    **dict.fromkeys(_SUBTITLE_TYPES, read_subtitles),
    **dict.fromkeys(_TABLE_TYPES, read_table),
    "application/epub+zip": read_epub,
    "text/markdown": read_markdown,
    "text/rtf": read_rtf,
    "application/rtf": read_rtf,
    "image/svg+xml": read_svg,
    "*json*": read_json,
    **dict.fromkeys(_TEXT_TYPES, read_plain_text),
}
# By the end of the path, where the type says nothing: scrapers and their systems do not agree on these types.
_EXTENSIONS: dict[str, Reader] = {
    "pdf": read_pdf,
    "epub": read_epub,
    "vtt": read_subtitles,
    "srt": read_subtitles,
    "md": read_markdown,
    "csv": read_table,
    "tsv": read_table,
    "rtf": read_rtf,
    "txt": read_plain_text,
}
_VAGUE_TYPES = frozenset(
    {"", "application/octet-stream", "application/zip", "text/plain", "application/x-zip-compressed"}
)
_PROSE_READERS = frozenset({read_html, read_pdf, read_subtitles, read_epub, read_markdown, read_rtf, read_plain_text})
_SHOWN_AS_TEXT = frozenset({read_html, read_json, read_plain_text, read_subtitles, read_table, read_markdown, read_rtf})


def is_page(mime_type: str | None) -> bool:
    """Return whether a type is that of web pages."""
    return find_reader(mime_type) is read_html


def is_pdf(mime_type: str | None, path: str = "") -> bool:
    """Return whether an entry is a PDF document, which is read by pages."""
    return find_reader(mime_type, path) is read_pdf


def is_text(mime_type: str | None) -> bool:
    """Return whether content of a type can be shown as text, as it is."""
    return find_reader(mime_type) in _SHOWN_AS_TEXT


def is_prose(mime_type: str | None, path: str = "") -> bool:
    """Return whether an entry is a text for people, not data or code."""
    reader = find_reader(mime_type, path)
    if reader is read_plain_text:
        return _base_type(mime_type) in {"text/plain", *_VAGUE_TYPES}
    return reader in _PROSE_READERS


def find_reader(mime_type: str | None, path: str = "") -> Reader | None:
    """Return the reader of an entry, by its type or, if that says nothing, by the end of its path."""
    name = _base_type(mime_type)
    extension = path.rpartition("/")[2].rpartition(".")[2].lower() if name in _VAGUE_TYPES else ""
    return _EXTENSIONS.get(extension) or _reader_by_type(name)


def _base_type(mime_type: str | None) -> str:
    return (mime_type or "").partition(";")[0].strip().lower()


@lru_cache(maxsize=1000)
def _reader_by_type(name: str) -> Reader | None:
    return next((reader for pattern, reader in READERS.items() if fnmatchcase(name, pattern)), None)
