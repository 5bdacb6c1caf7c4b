"""The document of an entry: by the reader of its type, with what it refers to, shows in a frame or has subtitles of."""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.worker.document import Block, Document
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers import find_reader, is_page
from openzim_mcp.worker.readers.builder import DocumentBuilder
from openzim_mcp.worker.readers.html.embeds import find_documents, find_refresh, find_tracks, keep_language
from openzim_mcp.worker.readers.html.links import LinkResolver
from openzim_mcp.worker.readers.html.reader import read_html
from openzim_mcp.worker.readers.stubs import find_subtitles, leads_outside, read_page_content, read_route
from openzim_mcp.worker.readers.text import placeholder
from openzim_mcp.worker.readers.video import Subtitles, add_subtitles, read_chapters

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.inline_marks import InlineMarks
    from openzim_mcp.worker.readers.html.embeds import Track
    from openzim_mcp.worker.zim import Archive, Item

_MAX_REFRESHES = 10
_MAX_EMBEDDED_BYTES = 64 << 20
_PAGE_STUB = "index/page_"


def read_document(
    archive: Archive, item: Item, language: str = "", raw: bytes | None = None, marks: InlineMarks | None = None
) -> Document:
    """Return the document of an entry; subtitles in a language if there are some, else in that of the archive.

    `raw` are its bytes, if they have been read. With `marks`, the texts of a web page tell where its links and pictures
    stand.
    """
    reader = find_reader(item.mime_type, item.path)
    if reader is None:
        return placeholder(item.mime_type, item.size)
    raw = archive.read_content(item.path) if raw is None else raw
    languages = [code for code in (language, *archive.languages.split(",")) if code]
    with timer.limit(archive, item.path):
        if is_page(item.mime_type):
            return _PageReader(archive, languages, marks).read(raw, item.path)
        return reader(raw, item.path)


class _PageReader:
    """Reads a web page and what belongs to it."""

    def __init__(self, archive: Archive, languages: Sequence[str], marks: InlineMarks | None = None) -> None:
        self._archive = archive
        self._marks = marks
        self._languages = languages
        self._visited: set[str] = set()

    def read(self, raw: bytes, path: str) -> Document:
        target = find_refresh(raw)
        if target is not None:
            document = self._follow(target, path)
            if document is not None:
                return document
        language = self._languages[0][:2] if self._languages else ""
        document = read_html(keep_language(raw, language), path, self._marks)
        if target is not None and not document.passages:
            return _with_text(document, leads_outside(target))
        tracks = find_tracks(raw, path)
        shown = self._shown_items(raw, path)
        return self._with_embedded(document, tracks, shown) if tracks or shown else document

    def _follow(self, target: str, path: str) -> Document | None:
        """Return the document that a page refers to at once; None if that is not here, or leads in a circle."""
        self._visited.add(path)
        resolved = LinkResolver(path).resolve(target)
        if resolved is None or resolved[0] == "external":
            return None
        _, location, fragment = resolved
        item = self._archive.find_entry(location)
        if item is None:
            return None
        if fragment:
            document = self._read_fragment(item.path, fragment, path)
            if document is not None:
                return document
        if item.path in self._visited or len(self._visited) > _MAX_REFRESHES:
            return None
        reader = find_reader(item.mime_type, item.path)
        if reader is None:
            return placeholder(item.mime_type, item.size)
        raw = self._archive.read_content(item.path)
        return self.read(raw, item.path) if is_page(item.mime_type) else reader(raw, item.path)

    def _read_fragment(self, application: str, route: str, path: str) -> Document | None:
        folder = _folder_of(application)
        if path.startswith(f"{folder}{_PAGE_STUB}"):
            return read_page_content(self._archive, folder, path.removeprefix(f"{folder}{_PAGE_STUB}"))
        return read_route(self._archive, folder, route, self._languages)

    def _shown_items(self, raw: bytes, path: str) -> list[Item]:
        items: list[Item] = []
        for target in find_documents(raw, path):
            item = self._find_near(target)
            if item is not None and item.path not in {row.path for row in items}:
                items.append(item)
        return items

    def _find_near(self, path: str) -> Item | None:
        """Return the entry at a path, in `files/` or at the root: pages of some scrapers count from elsewhere."""
        name = posixpath.basename(path)
        for candidate in dict.fromkeys((path, f"files/{name}", name)):
            item = self._archive.find_entry(candidate)
            if item is not None:
                return item
        return None

    def _with_embedded(self, page: Document, tracks: Sequence[Track], shown: Sequence[Item]) -> Document:
        builder = DocumentBuilder()
        builder.add_document(page, 0)
        chapters = [row for row in tracks if row.is_chapters]
        found = [(row, item) for row in tracks if not row.is_chapters and (item := self._find_near(row.target))]
        subtitles = [Subtitles(item.path, row.language, row.label) for row, item in found]
        chapter_file = self._find_near(chapters[0].target) if chapters else None
        raw = self._archive.read_content(chapter_file.path) if chapter_file else None
        add_subtitles(builder, self._archive, subtitles, self._languages, read_chapters(raw))
        for item in shown:
            reader = find_reader(item.mime_type, item.path)
            if reader is not None and item.size <= _MAX_EMBEDDED_BYTES:
                builder.add_document(reader(self._archive.read_content(item.path), item.path), 0)
        return builder.build(page.title, page.description, language=page.language, links=page.links, facts=page.facts)


def _with_text(document: Document, text: str) -> Document:
    """Return a document that says something in place of its text."""
    sentence = Document.without_sections((Block("notice", text, 0),))
    return Document(document.title, "", "", sentence.blocks, sentence.sections, (), ())


def embedded_paths(archive: Archive, item: Item) -> list[str]:
    """Return the entries whose text is read with a page: its subtitles and the documents in its frames."""
    try:
        raw = archive.read_content(item.path)
    except errors.OpenZimMcpArchiveError:
        return []
    targets = [*(track.target for track in find_tracks(raw, item.path)), *find_documents(raw, item.path)]
    near = _PageReader(archive, ())
    shown = [found.path for target in targets if (found := near._find_near(target))]  # noqa: SLF001
    return [*shown, *_subtitles_of_route(archive, raw, item.path)]


def _subtitles_of_route(archive: Archive, raw: bytes, path: str) -> list[str]:
    """Return the subtitles of a video that a page refers to as a route of an application."""
    resolved = LinkResolver(path).resolve(find_refresh(raw) or "")
    if resolved is None or resolved[0] == "external" or not resolved[2]:
        return []
    return find_subtitles(archive, _folder_of(resolved[1]), resolved[2])


def _folder_of(path: str) -> str:
    folder = posixpath.dirname(path)
    return f"{folder}/" if folder else ""
