"""Titles of documents that an archive does not name: its list of files, the links to them, or their file names.

Scrapers store PDFs and e-books without a title, and no full-text index of an archive has their text.
"""

from __future__ import annotations

import ast
import contextlib
import re
import weakref
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import errors
from openzim_mcp.text import safe_line
from openzim_mcp.worker.archive.type_counts import count_types
from openzim_mcp.worker.readers import is_page, is_prose
from openzim_mcp.worker.readers.entry import read_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.worker.zim import Archive

_DATABASE = "database.js"
_FILES = "files/"
_MAX_DATABASE_BYTES = 8 << 20
_ROW = re.compile(r"\{.*?\}(?=,?\s*(?:\n|\]))", re.DOTALL)
_MAX_LISTED_ENTRIES = 60_000
_MAX_TITLE_CHARS = 200
_MIN_LINK_CHARS = 3
_SEPARATORS = re.compile(r"[_\-+.\s]+")
_EXTENSION = re.compile(r"\.\w{2,5}$")
_DOCUMENT_TYPES = ("application/pdf", "application/epub+zip", "text/vtt", "text/markdown", "application/rtf")
_MIN_PLAIN_SHARE = 0.2
"""Fewer plain texts than that for each web page are licences and the like."""
_has_documents: weakref.WeakKeyDictionary[Archive, bool] = weakref.WeakKeyDictionary()
_titles: weakref.WeakKeyDictionary[Archive, dict[str, DocumentTitle]] = weakref.WeakKeyDictionary()


class DocumentTitle(NamedTuple):
    """What a document is called, and what else a list of files says of it."""

    title: str
    description: str = ""


def has_documents(archive: Archive) -> bool:
    """Return whether an archive has documents whose text is in no index of its own."""
    known = _has_documents.get(archive)
    if known is None:
        counts = count_types(archive.metadata_text("Counter"))
        plain, pages = counts.get("text/plain", 0), counts.get("text/html", 0)
        known = any(counts.get(kind) for kind in _DOCUMENT_TYPES) or plain > _MIN_PLAIN_SHARE * pages
        _has_documents[archive] = known
    return known


def document_titles(archive: Archive) -> dict[str, DocumentTitle]:
    """Return the titles of the documents of an archive, by path; read once."""
    titles = _titles.get(archive)
    if titles is None:
        titles = _titles[archive] = _find_titles(archive) if has_documents(archive) else {}
    return titles


def title_of(archive: Archive, path: str, title: str = "") -> str:
    """Return what an entry is called: its own title, or that of a document without one."""
    title = title or archive.title_of(path)
    if title and not is_path(title, path):
        return title
    known = document_titles(archive).get(path)
    return known.title if known else title


def is_path(title: str, path: str) -> bool:
    """Return whether a title is only the path of a file; the path of an article may well be its title."""
    is_file = "/" in path or _EXTENSION.search(path) is not None
    return is_file and title.replace(" ", "_") == path.replace(" ", "_")


def name_of(archive: Archive, path: str) -> str:
    """Return what an entry is called, for comparing."""
    known = document_titles(archive).get(path)
    return known.title if known else archive.name_of(path)


def _find_titles(archive: Archive) -> dict[str, DocumentTitle]:
    titles: dict[str, DocumentTitle] = {}
    for number in archive.content[:_MAX_LISTED_ENTRIES]:
        entry = archive.entry_by_id(number)
        if entry.redirect_to is None and not is_page(entry.mime_type) and is_prose(entry.mime_type, entry.path):
            title = entry.title if not is_path(entry.title, entry.path) else _title_of_file(entry.path)
            titles[entry.path] = DocumentTitle(title)
    for path, row in (*_linked_titles(archive), *_listed_titles(archive)):
        if path in titles:
            titles[path] = row
    return titles


def _title_of_file(path: str) -> str:
    name = _EXTENSION.sub("", path.rpartition("/")[2])
    return safe_line(_SEPARATORS.sub(" ", name).strip() or path, _MAX_TITLE_CHARS)


def _linked_titles(archive: Archive) -> Iterator[tuple[str, DocumentTitle]]:
    """Yield what the main page calls the documents that it links to."""
    with contextlib.suppress(errors.OpenZimMcpArchiveError):
        item = archive.find_entry(archive.main_path or "")
        for link in read_document(archive, item).links if item and is_page(item.mime_type) else ():
            if len(link.text) >= _MIN_LINK_CHARS:
                yield link.target, DocumentTitle(safe_line(link.text, _MAX_TITLE_CHARS))


def _listed_titles(archive: Archive) -> Iterator[tuple[str, DocumentTitle]]:
    """Yield the rows of the list of files that nautilus writes as a script, in the notation of Python."""
    raw = None
    with contextlib.suppress(errors.OpenZimMcpArchiveError):
        raw = archive.read_if_present(_DATABASE)
    for text in _ROW.findall((raw or b"")[:_MAX_DATABASE_BYTES].decode(errors="replace")):
        with contextlib.suppress(ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            row = ast.literal_eval(text)
            about = ", ".join(str(row[key]) for key in ("dsc", "aut") if row.get(key))
            for path in row.get("fp") or ():
                title = DocumentTitle(safe_line(str(row.get("ti") or ""), _MAX_TITLE_CHARS), safe_line(about, 500))
                if title.title:
                    yield f"{_FILES}{path}", title
