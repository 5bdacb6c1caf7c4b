"""An index of our own: the passages of one archive, in an SQLite file in the cache.

The job `BuildPassageIndex` writes it, once for each state of a file: `archives/IDENTITY/passages.sqlite`, beside the
facts. It is written under another name and renamed when it is complete; a file that is damaged, of another version or
of another archive is ignored and written again.

    pages         id, path, first_passage, content          a row per entry that has text; `content` is it, packed
    page_names    rowid = pages.id, names                   title, titles of redirects, texts of links to it   (FTS5)
    passages      id, page, chars                           a row per passage, those of a page one after the other
    passage_text  rowid = passages.id, title, headings, text                                                   (FTS5)
    properties    name, value                               version, uuid, state, tokens

A token of the FTS5 tables is a word (`word_index.py`) or a group of three characters (`trigram_index.py`), as the
property `tokens` tells. As the text of a page is stored with its sections, a question needs no page to be parsed.

Other data moves in as tables of its own that refer to `pages.id`: links as (page, target), places as (page, latitude,
longitude), the text of other kinds of content as rows of `passages`. A new table raises `VERSION`; the job fills it in
the same pass over the archive.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import weakref
import zlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

import msgspec

from openzim_mcp.text import normalize
from openzim_mcp.worker.document import Passage, PassageKind, Section, SectionKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from openzim_mcp.calls.archive import PassageIndexState
    from openzim_mcp.worker.document import PageText

Tokens = Literal["english", "stems", "trigrams"]

VERSION = 6
MAX_TEXT_BYTES = 50_000_000
"""Archives with more text are not indexed: building would take minutes and as much disk as the text."""
MAX_DOCUMENT_BYTES = 200_000_000
"""The same for archives of documents, whose text no other index has."""

DAMAGED = (sqlite3.Error, ArithmeticError, TypeError, ValueError, zlib.error, msgspec.MsgspecError)
"""What reading a damaged index may raise: SQLite notices most damage, but not a value of another type."""

_COMPRESSION_LEVEL = 1
_MAX_UNPACKED_BYTES = 64 << 20
_SCHEMA = """
CREATE TABLE properties (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE pages (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, first_passage INTEGER NOT NULL, content BLOB NOT NULL
);
CREATE TABLE passages (id INTEGER PRIMARY KEY, page INTEGER NOT NULL, chars INTEGER NOT NULL);
"""
# English is stemmed by SQLite, several times faster than here; of other languages, stems are indexed. `ascii` takes
# every character but ASCII punctuation and spaces as part of a token; these five stand inside words.
_TOKENIZERS: dict[Tokens, str] = {
    "english": "tokenize='porter unicode61 remove_diacritics 2'",
    "stems": "tokenize=\"ascii tokenchars '''&.+#'\"",
    "trigrams": "tokenize='trigram', detail=none, columnsize=0",
}


class _StoredSection(msgspec.Struct, array_like=True, frozen=True):
    id: str
    title: str
    parent: int | None
    kind: SectionKind


class _StoredPassage(msgspec.Struct, array_like=True, frozen=True):
    section: int
    text: str
    kind: PassageKind
    fact_names: tuple[str, ...]
    locator: str


class _StoredContent(msgspec.Struct, array_like=True, frozen=True):
    title: str
    is_link_list: bool
    sections: list[_StoredSection]
    passages: list[_StoredPassage]


_decoder = msgspec.msgpack.Decoder(_StoredContent)


class StoredPage:
    """The text of a page as the index holds it; the ids of its passages start at `first_passage`."""

    def __init__(self, first_passage: int, packed: bytes) -> None:
        self._content = _decoder.decode(zlib.decompressobj().decompress(packed, _MAX_UNPACKED_BYTES))
        self._passages: dict[int, Passage] = {}
        self.title = self._content.title
        self.first_passage = first_passage
        self.is_link_list = self._content.is_link_list

    @cached_property
    def sections(self) -> list[Section]:
        """The sections; the first one is the lead."""
        return [Section(row.id, row.title, 0, row.parent, 0, 0, 0, row.kind) for row in self._content.sections]

    @cached_property
    def passages(self) -> list[Passage]:
        """The text in passages."""
        return [self.passage(position) for position in range(self.passage_count)]

    @property
    def passage_count(self) -> int:
        """How many passages there are."""
        return len(self._content.passages)

    @cached_property
    def fact_positions(self) -> list[int]:
        """The positions of the passages that are key facts."""
        return [position for position, row in enumerate(self._content.passages) if row.kind == "facts"]

    def passage(self, position: int) -> Passage:
        """Return one passage; of a long page most are never asked for."""
        passage = self._passages.get(position)
        if passage is None:
            row = self._content.passages[position]
            passage = Passage(row.section, row.text, normalize(row.text), row.fact_names, row.kind, row.locator)
            self._passages[position] = passage
        return passage


class TooLarge(Exception):
    """The archive has more text than is indexed."""


class IndexWriter:
    """Writes an index, as a context: it is in its place once `finish` was called, or else removed.

    `tokenize` turns a text into what FTS5 splits into tokens.
    """

    def __init__(
        self, path: str, uuid: str, tokens: Tokens, tokenize: Callable[[str], str], max_text_bytes: int | None = None
    ) -> None:
        self._path = path
        self._part = f"{path}.part"
        self._uuid = uuid
        self._tokens = tokens
        self._tokenize = tokenize
        self._max_text_bytes = MAX_TEXT_BYTES if max_text_bytes is None else max_text_bytes
        self._pages = 0
        self.passages = 0
        self.text_bytes = 0

    def __enter__(self) -> Self:
        self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _open(self) -> None:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._part)
        # Nobody reads the file before it is complete, and a part of it is worth nothing.
        self._database = sqlite3.connect(self._part, isolation_level=None)
        options = f"{_TOKENIZERS[self._tokens]}, content=''"
        self._database.executescript(
            f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {_SCHEMA}"
            f"CREATE VIRTUAL TABLE page_names USING fts5(names, {options});"
            f"CREATE VIRTUAL TABLE passage_text USING fts5(title, headings, text, {options});"
            "CREATE VIRTUAL TABLE vocabulary USING fts5vocab(passage_text, 'row');"
        )
        self._database.execute("BEGIN")

    def _close(self) -> None:
        self._database.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._part)

    def add_page(self, path: str, title: str, page: PageText) -> int:
        """Add a page and its passages, and return its id; raise `TooLarge` if that is more text than is indexed."""
        self._pages += 1
        insert = self._database.execute
        insert("INSERT INTO pages VALUES (?, ?, ?, ?)", (self._pages, path, self.passages + 1, _pack(title, page)))
        context = _leave_out if self._tokens == "trigrams" else self._tokenize
        title_tokens, headings = context(title), _Headings(page.sections, context)
        for passage in page.passages:
            self.passages += 1
            self.text_bytes += len(passage.text.encode(errors="replace"))
            if self.text_bytes > self._max_text_bytes:
                raise TooLarge
            insert("INSERT INTO passages VALUES (?, ?, ?)", (self.passages, self._pages, len(passage.text)))
            above = headings.above(passage.section)
            tokens = (self.passages, title_tokens, above, self._tokenize(passage.text))
            insert("INSERT INTO passage_text (rowid, title, headings, text) VALUES (?, ?, ?, ?)", tokens)
        return self._pages

    def add_names(self, page: int, names: Iterable[str]) -> None:
        """Add all that a page is called."""
        tokens = self._tokenize("\n".join(names))
        self._database.execute("INSERT INTO page_names (rowid, names) VALUES (?, ?)", (page, tokens))

    def clear(self) -> None:
        """Drop all pages, to record only that the archive is too large."""
        self._close()
        self._open()

    def finish(self, state: PassageIndexState) -> int:
        """Complete the index, move it into its place and return its size."""
        for table in ("page_names", "passage_text"):
            self._database.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608
        properties = {"version": str(VERSION), "uuid": self._uuid, "state": state, "tokens": self._tokens}
        self._database.executemany("INSERT INTO properties VALUES (?, ?)", properties.items())
        self._database.execute("COMMIT")
        self._database.execute("VACUUM")
        self._database.close()
        with open(self._part, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(self._part, self._path)
        return os.path.getsize(self._path)


def _leave_out(_text: str) -> str:
    """Return nothing for a title or heading, where columns are not told apart."""
    return ""


class _Headings:
    """The tokens of the headings above each section of a page."""

    def __init__(self, sections: Sequence[Section], tokenize: Callable[[str], str]) -> None:
        self._sections = sections
        self._tokenize = tokenize
        self._tokens: dict[int, str] = {}

    def above(self, number: int) -> str:
        if number not in self._tokens:
            section = self._sections[number]
            own = self._tokenize(section.title) if section.title else ""
            above = "" if section.parent is None else self.above(section.parent)
            self._tokens[number] = f"{above} {own}".strip()
        return self._tokens[number]


def _pack(title: str, page: PageText) -> bytes:
    content = _StoredContent(
        title,
        page.is_link_list,
        [_StoredSection(row.id, row.title, row.parent, row.kind) for row in page.sections],
        [_StoredPassage(row.section, row.text, row.kind, row.fact_names, row.locator) for row in page.passages],
    )
    return zlib.compress(msgspec.msgpack.encode(content), _COMPRESSION_LEVEL)


def quote_token(text: str) -> str:
    """Return the FTS5 string for a token."""
    return '"' + text.replace('"', '""') + '"'


class IndexFile:
    """An index that is open for reading; a damaged one raises one of the errors in `DAMAGED`."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        weakref.finalize(self, self._database.close)
        self._database.execute("PRAGMA trusted_schema=OFF")
        properties = dict(self._database.execute("SELECT name, value FROM properties"))
        self.version, self.uuid = properties.get("version"), properties.get("uuid")
        self.tokens = properties.get("tokens")
        self.state: PassageIndexState = "too_large" if properties.get("state") == "too_large" else "complete"

    def read_page(self, path: str) -> StoredPage | None:
        """Return the text of a page; None if it is not in the index."""
        row = self._database.execute("SELECT first_passage, content FROM pages WHERE path = ?", (path,)).fetchone()
        return StoredPage(*row) if row else None
