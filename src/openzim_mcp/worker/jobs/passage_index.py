"""Build the index of an archive's passages; `worker/search/index_file.py` describes it."""

from __future__ import annotations

import os
import sqlite3
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from openzim_mcp import errors, files
from openzim_mcp.calls.archive import PassageIndexResult
from openzim_mcp.worker.readers import is_prose, read_document
from openzim_mcp.worker.search.index_file import IndexWriter, TooLarge
from openzim_mcp.worker.search.passage_index import index_path, tokenizer, tokens_of
from openzim_mcp.worker.zim import Archive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from openzim_mcp.calls.archive import BuildPassageIndex
    from openzim_mcp.worker.document import Document
    from openzim_mcp.worker.zim import Item

_MAX_ENTRY_BYTES = 16 << 20
"""A larger entry is data rather than a text to read."""
_MAX_ENTRIES = 500_000
"""An archive with more entries has more text than is indexed; it is not read to find that out."""
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
            with IndexWriter(path, archive.uuid, tokens_of(archive), tokenizer(archive)) as writer:
                return _write_index(writer, archive, report)
    except (OSError, sqlite3.Error) as error:
        raise errors.FileNotWritable(f"The index of {archive.name!r} cannot be written: {error}.") from error


def _write_index(writer: IndexWriter, archive: Archive, report: Callable[[int, int], None]) -> PassageIndexResult:
    try:
        if len(archive.content) > _MAX_ENTRIES:
            raise TooLarge
        skipped = _PageReader(writer, archive).add_pages(report)
    except TooLarge:
        writer.clear()
        return PassageIndexResult("too_large", text_bytes=writer.text_bytes, index_bytes=writer.finish("too_large"))
    size = writer.finish("complete")
    return PassageIndexResult("complete", writer.passages, writer.text_bytes, size, skipped)


class _PageReader:
    """Reads all pages of an archive into an index, then adds what each is called by redirects and links."""

    def __init__(self, writer: IndexWriter, archive: Archive) -> None:
        self._writer = writer
        self._archive = archive
        self._redirect_titles: defaultdict[str, list[str]] = defaultdict(list)
        self._link_texts: Counter[tuple[str, str]] = Counter()
        self._names: dict[str, tuple[int, tuple[str, ...]]] = {}
        """The id of each page, its title and its other names, by path."""

    def add_pages(self, report: Callable[[int, int], None]) -> int:
        """Add all pages that can be read, and return how many cannot."""
        paths = list(self._text_paths())
        skipped = 0
        for number, path in enumerate(paths):
            report(number, len(paths))
            try:
                item = self._archive.find_entry(path)
                if item and item.size <= _MAX_ENTRY_BYTES:
                    self._add_page(item, read_document(self._archive, item))
            except (errors.OpenZimMcpArchiveError, UnicodeError):
                skipped += 1
        self._add_names()
        return skipped

    def _text_paths(self) -> Iterator[str]:
        """Yield the paths of all texts among the content, and note the titles of redirects."""
        for number in self._archive.content:
            entry = self._archive.entry_by_id(number)
            if entry.redirect_to is None and is_prose(entry.mime_type):
                yield entry.path
            elif entry.redirect_to and len(entry.title) <= _MAX_NAME_CHARS:
                titles = self._redirect_titles[entry.redirect_to]
                if len(titles) < _MAX_NAMES:
                    titles.append(entry.title)

    def _add_page(self, item: Item, document: Document) -> None:
        names = tuple(dict.fromkeys((*self._redirect_titles.get(item.path, ()), *document.lead_names)))
        page_id = self._writer.add_page(item.path, item.title, document)
        self._names[item.path] = (page_id, (item.title, *names))
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
