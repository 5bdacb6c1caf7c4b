"""The reader of EPUB books: chapters in the order of the spine, each read as a web page."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree as ET

from openzim_mcp.text import visible_line
from openzim_mcp.worker.document import Block, Document
from openzim_mcp.worker.readers.builder import DocumentBuilder
from openzim_mcp.worker.readers.html.reader import read_html

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_FILES = 5000
_MAX_FILE_BYTES = 8 << 20
_MAX_BOOK_BYTES = 48 << 20
"""How much of a book is unpacked: a longer one is read up to there, and a bomb as well."""
_MAX_DEPTH = 6
_RIGHTS, _ENCRYPTION = "META-INF/rights.xml", "META-INF/encryption.xml"
_FONT_MANGLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]*(?:\[.*?\])?\s*>", re.DOTALL)
_PAGE_TYPES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml", "text/x-oeb1-document"})
_ENTITY = re.compile(r"&(?!amp;|lt;|gt;|quot;|apos;|#)\w+;")


_DAMAGE = (
    zipfile.BadZipFile, ET.ParseError, LookupError, ValueError, OSError, EOFError, RuntimeError, zlib.error,
)  # fmt: skip
"""What reading a damaged book may raise; RuntimeError if a file in it has a password."""


class _Unreadable(Exception):
    """The book cannot be read; the message is a sentence about it."""


class _Chapter(NamedTuple):
    """An entry of the table of contents: its title, the file it leads to, and how deep it stands."""

    title: str
    path: str
    level: int


def read_epub(raw: bytes, _path: str = "") -> Document:
    """Return the document of a book: chapters are sections, by its table of contents or its own headings."""
    try:
        with zipfile.ZipFile(io.BytesIO(raw)) as archive:
            return _Book(archive).read()
    except _Unreadable as unreadable:
        sentence = str(unreadable)
    except _DAMAGE:
        sentence = "This e-book is damaged and cannot be read."
    return Document.without_sections((Block("notice", sentence, 0),))


class _Book:
    """An open book."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._bytes_left = _MAX_BOOK_BYTES
        self._title = ""
        self._names = {name: name for name in archive.namelist()[:_MAX_FILES]}
        if self._is_encrypted():
            raise _Unreadable("This e-book is protected by DRM and cannot be read.")

    def read(self) -> Document:
        package_path = self._package_path()
        package = _parse_xml(self._read(package_path))
        folder = posixpath.dirname(package_path)
        manifest = {
            row.get("id", ""): (
                _join(folder, row.get("href", "")),
                row.get("media-type", ""),
                row.get("properties", ""),
            )
            for row in _find_all(package, "item")
        }
        spine = [manifest[ref] for row in _find_all(package, "itemref") if (ref := row.get("idref", "")) in manifest]
        paths = [
            path
            for path, kind, properties in spine
            if (kind in _PAGE_TYPES or path.endswith(("html", "htm"))) and "nav" not in properties.split()
        ]
        paths = paths or [path for path, kind, _ in manifest.values() if kind in _PAGE_TYPES]
        contents = self._table_of_contents(package, manifest)
        title, author, language = (_first_text(package, name) for name in ("title", "creator", "language"))
        self._title = title
        builder = DocumentBuilder()
        for path in paths:
            self._add_file(builder, path, [row for row in contents if row.path == path])
        if not builder.blocks:
            builder.add("notice", "This e-book has no text that can be read.")
        facts = tuple((name, value) for name, value in (("Title", title), ("Author", author)) if value)
        return builder.build(title, _first_text(package, "description"), language=language, facts=facts)

    def _is_encrypted(self) -> bool:
        """Return whether something other than fonts is encrypted."""
        if _RIGHTS in self._names or _ENCRYPTION not in self._names:
            return _RIGHTS in self._names
        methods = _find_all(_parse_xml(self._read(_ENCRYPTION)), "EncryptionMethod")
        return any(row.get("Algorithm") not in _FONT_MANGLING for row in methods)

    def _read(self, name: str) -> bytes:
        """Return a file of the book, as much of it as may be unpacked."""
        limit = min(_MAX_FILE_BYTES, self._bytes_left)
        with self._archive.open(name) as file:
            content = file.read(limit + 1)[:limit]
        self._bytes_left -= len(content)
        return content

    def _package_path(self) -> str:
        if "META-INF/container.xml" in self._names:
            for row in _find_all(_parse_xml(self._read("META-INF/container.xml")), "rootfile"):
                path = unquote(row.get("full-path", ""))
                if path in self._names:
                    return path
        found = next((name for name in self._names if name.endswith(".opf")), None)
        if found is None:
            raise _Unreadable("This e-book is damaged and cannot be read.")
        return found

    def _table_of_contents(self, package: ET.Element, manifest: dict[str, tuple[str, str, str]]) -> list[_Chapter]:
        """Return the chapters by the navigation of EPUB 3, else by the NCX of EPUB 2."""
        for path, _, properties in manifest.values():
            if "nav" in properties.split() and path in self._names:
                chapters = list(_navigation(_parse_xml(self._read(path)), posixpath.dirname(path)))
                if chapters:
                    return chapters
        spine = next(iter(_find_all(package, "spine")), None)
        toc = manifest.get(spine.get("toc", "") if spine is not None else "") or next(
            (row for row in manifest.values() if row[1] == "application/x-dtbncx+xml"), None
        )
        if toc is None or toc[0] not in self._names:
            return []
        tree = _parse_xml(self._read(toc[0]))
        folder = posixpath.dirname(toc[0])
        return [row for point in _children(tree, "navMap") for row in _points(point, folder, 1)]

    def _add_file(self, builder: DocumentBuilder, path: str, chapters: list[_Chapter]) -> None:
        if path not in self._names or self._bytes_left <= 0:
            return
        document = read_html(self._read(path), path)
        if not document.blocks:
            return
        chapter = chapters[0] if chapters else _Chapter(document.title, path, 1)
        titles = {row.title for row in document.sections}
        is_new = chapter.title and chapter.title not in titles and chapter.title != self._title
        if is_new:
            builder.open_section(chapter.title, chapter.level)
        builder.add_document(document, chapter.level if is_new else 0)


def _navigation(tree: ET.Element, folder: str) -> Iterator[_Chapter]:
    for nav in _find_all(tree, "nav"):
        kind = next((value for key, value in nav.attrib.items() if key.endswith("type")), "toc")
        if "toc" in kind:
            for ordered in _children(nav, "ol"):
                yield from _items(ordered, folder, 1)


def _items(ordered: ET.Element, folder: str, level: int) -> Iterator[_Chapter]:
    for item in _children(ordered, "li"):
        for link in _children(item, "a"):
            yield _Chapter(visible_line("".join(link.itertext())), _join(folder, link.get("href", "")), level)
        if level < _MAX_DEPTH:
            for inner in _children(item, "ol"):
                yield from _items(inner, folder, level + 1)


def _points(parent: ET.Element, folder: str, level: int) -> Iterator[_Chapter]:
    for point in _children(parent, "navPoint"):
        label = next((visible_line("".join(row.itertext())) for row in _children(point, "navLabel")), "")
        source = next((row.get("src", "") for row in _children(point, "content")), "")
        if label:
            yield _Chapter(label, _join(folder, source), level)
        if level < _MAX_DEPTH:
            yield from _points(point, folder, level + 1)


def _parse_xml(raw: bytes) -> ET.Element:
    """Parse XML without its document type: entities that it declares could expand without end."""
    text = _DOCTYPE.sub(b"", raw).decode(errors="replace")
    if "<!ENTITY" in text:
        raise _Unreadable("This e-book is damaged and cannot be read.")
    text = re.sub(r"^\s*<\?xml[^>]*\?>", "", text)
    return ET.fromstring(_ENTITY.sub(" ", text))  # noqa: S314  without a document type there are no entities


def _find_all(tree: ET.Element, name: str) -> list[ET.Element]:
    return [row for row in tree.iter() if isinstance(row.tag, str) and row.tag.rpartition("}")[2] == name]


def _children(parent: ET.Element, name: str) -> list[ET.Element]:
    return [row for row in parent if isinstance(row.tag, str) and row.tag.rpartition("}")[2] == name]


def _first_text(package: ET.Element, name: str) -> str:
    found = _find_all(package, name)
    return visible_line("".join(found[0].itertext()))[:500] if found else ""


def _join(folder: str, href: str) -> str:
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))
