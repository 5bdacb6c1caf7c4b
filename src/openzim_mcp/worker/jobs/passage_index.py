"""Build the index of an archive's passages; `worker/search/index_file.py` describes it."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from openzim_mcp import errors, files
from openzim_mcp.calls.archive import PassageIndexResult
from openzim_mcp.worker.jobs.page_mark import PageMark
from openzim_mcp.worker.readers import is_page, is_prose
from openzim_mcp.worker.readers.builder import DocumentBuilder
from openzim_mcp.worker.readers.entry import embedded_paths, read_document
from openzim_mcp.worker.readers.video import TRANSCRIPT_ID
from openzim_mcp.worker.reading.document_titles import document_titles, has_documents, is_path, title_of
from openzim_mcp.worker.reading.long_documents import read_whole
from openzim_mcp.worker.search.index_file import MAX_DOCUMENT_BYTES, IndexWriter, TooLarge
from openzim_mcp.worker.search.passage_index import index_path, tokenizer, tokens_of
from openzim_mcp.worker.zim import Archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openzim_mcp.calls.archive import BuildPassageIndex
    from openzim_mcp.worker.document import Document
    from openzim_mcp.worker.zim import Item

_MAX_ENTRY_BYTES = 16 << 20
"""A larger entry is data rather than a text to read; but a PDF is large by its pictures."""
_MAX_DOCUMENT_BYTES = 160 << 20
# As gutenberg2zim names them: `Title.12`, `Title_cover.12`, `Title.12.epub`.
_COVER = re.compile(r"(.+)_cover\.(\d+)")
_BOOK_FORMAT = re.compile(r"(?<=\d)\.(?:epub|pdf)$")
_MAX_ENTRIES = 500_000
"""An archive with more entries has more text than is indexed; it is not read to find that out."""
_MAX_LANGUAGES = 8
"""In how many languages what is said in a video is indexed."""
_MAX_TRANSLATED_CHARS = 40_000_000
"""How much of it beyond the first language: an archive must not become too large to index by that."""
_MAX_NAMES = 12
_MAX_NAME_CHARS = 60
_MAX_LINK_TEXTS = 400_000
"""How many texts of links are kept until all pages are read."""
_MIN_LINKING_PAGES = 2
"""A text of a link names its target if so many pages use it."""


def build_passage_index(
    parts: Sequence[str], _job: BuildPassageIndex, report: Callable[[int, int], None]
) -> PassageIndexResult:
    """Read all texts of an archive and index their passages, unless another process is doing that."""
    archive = Archive(os.path.basename(parts[0]).partition(".zim")[0], parts)
    path = index_path(archive.identity)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(f"{path}.lock", "wb") as lock:
            if not files.try_lock(lock.fileno()):
                return PassageIndexResult(None)
            limit = MAX_DOCUMENT_BYTES if has_documents(archive) else None
            with (
                IndexWriter(path, archive.uuid, tokens_of(archive), tokenizer(archive), limit) as writer,
                contextlib.closing(PageMark(f"{path}.reading")) as mark,
            ):
                result = _write_index(writer, archive, report, mark)
                mark.remove()
                return result
    except (OSError, sqlite3.Error) as error:
        raise errors.FileNotWritable(f"The index of {archive.name!r} cannot be written: {error}.") from error


def _write_index(
    writer: IndexWriter, archive: Archive, report: Callable[[int, int], None], mark: PageMark
) -> PassageIndexResult:
    try:
        if len(archive.content) > _MAX_ENTRIES:
            raise TooLarge
        skipped = _PageReader(writer, archive, mark).add_pages(report)
    except TooLarge:
        writer.clear()
        return PassageIndexResult("too_large", text_bytes=writer.text_bytes, index_bytes=writer.finish("too_large"))
    size = writer.finish("complete")
    return PassageIndexResult("complete", writer.passages, writer.text_bytes, size, skipped)


class _PageReader:
    """Reads all pages of an archive into an index, then adds what each is called by redirects and links."""

    def __init__(self, writer: IndexWriter, archive: Archive, mark: PageMark) -> None:
        self._writer = writer
        self._archive = archive
        self._mark = mark
        self._embedded: set[str] = set()
        """The subtitles and documents that were read with the page that shows them."""
        self._translated_chars = 0
        self._redirect_titles: defaultdict[str, list[str]] = defaultdict(list)
        self._link_texts: Counter[tuple[str, str]] = Counter()
        self._names: dict[str, tuple[int, tuple[str, ...]]] = {}
        """The id of each page, its title and its other names, by path."""

    def add_pages(self, report: Callable[[int, int], None]) -> int:
        """Add all pages that can be read, and return how many cannot."""
        pages: list[tuple[int, str]] = []
        documents: list[tuple[int, str]] = []
        for number, path, is_web_page in self._texts():
            (pages if is_web_page else documents).append((number, path))
        skipped = 0
        for position, (number, path) in enumerate([*pages, *documents]):
            report(position, len(pages) + len(documents))
            if path not in self._embedded and not self._is_other_format(path):
                skipped += not self._add_entry(number, path)
        self._add_names()
        return skipped

    def _add_entry(self, number: int, path: str) -> bool:
        """Add a page or document, and return whether it could be read."""
        try:
            item = self._archive.find_entry(path)
            if item is None or item.size > (_MAX_ENTRY_BYTES if is_page(item.mime_type) else _MAX_DOCUMENT_BYTES):
                return True
            if not self._mark.begin(number):
                return False
            document = self._read_entry(item)
            self._mark.end(number)
            self._add_page(item, document)
        except (errors.OpenZimMcpArchiveError, UnicodeError):
            return False
        return True

    def _read_entry(self, item: Item) -> Document:
        if not is_page(item.mime_type):
            return read_whole(self._archive, item)
        self._embedded.update(embedded_paths(self._archive, item))
        return self._with_translations(item, read_document(self._archive, item))

    def _with_translations(self, item: Item, document: Document) -> Document:
        """Return a page of a video with its transcripts in all the languages that the archive names."""
        others = self._archive.languages.split(",")[1:_MAX_LANGUAGES]
        if (
            not others
            or self._translated_chars > _MAX_TRANSLATED_CHARS
            or all(section.id != TRANSCRIPT_ID for section in document.sections)
        ):
            return document
        builder = DocumentBuilder()
        builder.add_document(document, 0)
        for language in others:
            translated = read_document(self._archive, item, language)
            known = {block.text for block in builder.blocks}
            blocks = tuple(block for block in translated.blocks if block.text not in known)
            builder.add_document(replace(translated, blocks=blocks), 0)
            self._translated_chars += sum(len(block.text) for block in blocks)
        return builder.build(
            document.title,
            document.description,
            language=document.language,
            links=document.links,
            facts=document.facts,
            coordinates=document.coordinates,
        )

    def _is_other_format(self, path: str) -> bool:
        """Return whether an entry is the cover or another format of a book that is there as a web page."""
        cover = _COVER.fullmatch(path)
        other = f"{cover[1]}.{cover[2]}" if cover else _BOOK_FORMAT.sub("", path)
        return other != path and self._archive.look_up(path=other) is not None

    def _texts(self) -> Iterator[tuple[int, str, bool]]:
        """Yield the numbers and paths of all texts, and whether they are web pages; note the titles of redirects."""
        for number in self._archive.content:
            entry = self._archive.entry_by_id(number)
            if entry.redirect_to is None and is_prose(entry.mime_type, entry.path):
                yield number, entry.path, is_page(entry.mime_type)
            elif entry.redirect_to and len(entry.title) <= _MAX_NAME_CHARS:
                titles = self._redirect_titles[entry.redirect_to]
                if len(titles) < _MAX_NAMES:
                    titles.append(entry.title)

    def _add_page(self, item: Item, document: Document) -> None:
        names = tuple(dict.fromkeys((*self._redirect_titles.get(item.path, ()), *document.lead_names)))
        title = title_of(self._archive, item.path, item.title)
        title = title if not is_path(title, item.path) else document.title or title
        page_id = self._writer.add_page(item.path, title, document)
        known = document_titles(self._archive).get(item.path)
        about = (known.description,) if known and known.description else ()
        self._names[item.path] = (page_id, (title, *about, *names))
        self._note_links(item.path, document)

    def _note_links(self, path: str, document: Document) -> None:
        if len(self._link_texts) < _MAX_LINK_TEXTS:
            links = (link for link in document.links if link.kind == "internal" and link.target != path)
            self._link_texts.update({(link.target, link.text) for link in links if len(link.text) <= _MAX_NAME_CHARS})

    def _add_names(self) -> None:
        texts: defaultdict[str, list[str]] = defaultdict(list)
        for (target, text), count in self._link_texts.most_common():
            if count >= _MIN_LINKING_PAGES and len(texts[target]) < _MAX_NAMES:
                texts[target].append(text)
        for path, (page_id, names) in self._names.items():
            self._writer.add_names(page_id, dict.fromkeys((*names, *texts.get(path, ()))))
