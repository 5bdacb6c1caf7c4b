"""An index of our own: the passages of one archive, by groups of three characters (trigrams), in an SQLite file.

It is for archives whose own index cannot find words: those without a full-text index, and those in a script that
libzim does not segment. The job `BuildPassageIndex` writes it, once for each state of a file, into the cache:
`archives/IDENTITY/passages.sqlite`, beside the facts. It is written under another name and renamed when it is
complete; a file that is damaged, of another version or of another archive is ignored and written again.

    pages         id, path                                     a row per entry that has text
    page_titles   rowid = pages.id, title                      trigrams (FTS5)
    passages      id, page, position, section, chars           a row per passage: its place in `Document.passages`
    passage_text  rowid = passages.id, text                    trigrams (FTS5)
    properties    name, value                                  version, uuid, state

Other data moves in as tables of its own that refer to `pages.id`: links as (page, target), places as (page, latitude,
longitude), the text of other kinds of content as rows of `passages`. A new table raises `VERSION`; the job fills it in
the same pass over the archive.

The FTS5 tables are contentless and have `detail=none`: they say which passages contain a trigram, not where or how
often. That takes 0.8 bytes per byte of text instead of 3 (4 with the text), and finds as much: of a short passage,
how often it repeats three characters says little. So BM25 is computed here, with every count being one.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sqlite3
import weakref
from array import array
from collections import defaultdict
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from openzim_mcp import errors, files
from openzim_mcp.languages import has_unsegmented_language
from openzim_mcp.text import is_unspaced_script, normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import TracebackType

    from openzim_mcp.calls.archive import PassageIndexState
    from openzim_mcp.worker.document import Document
    from openzim_mcp.worker.search.query import Term
    from openzim_mcp.worker.zim import Archive
    from openzim_mcp.zimfile import Identity

VERSION = 1
MAX_TEXT_BYTES = 50_000_000
"""Archives with more text are not indexed: building would take minutes and as much disk as the text."""

DAMAGED = (sqlite3.Error, ArithmeticError, TypeError, ValueError)
"""What reading a damaged index may raise: SQLite notices most damage, but not a value of another type."""

_FILE_NAME = "passages.sqlite"
_TRIGRAM = 3
_MAX_TRIGRAMS = 20
"""How many trigrams of a long word are searched for."""
_MAX_EXPANSIONS = 50
"""How many trigrams stand for one or two characters that they start with."""
_MAX_POSTINGS = 300_000
"""How many postings a query may read, the rarest terms first: about a tenth of a second."""
_MAX_KEPT_EXPRESSIONS = 1000
_LENGTH_WEIGHT, _SATURATION = 0.75, 1.2
"""The usual parameters of BM25, b and k1."""
_TITLE_WEIGHT = 1.0
"""What a trigram in the title of a page adds to all of its passages, as a share of its weight."""

_SCHEMA = """
CREATE TABLE properties (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE TABLE pages (id INTEGER PRIMARY KEY, path TEXT NOT NULL);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, page INTEGER NOT NULL, position INTEGER NOT NULL, section INTEGER NOT NULL,
    chars INTEGER NOT NULL
);
CREATE VIRTUAL TABLE page_titles USING fts5(title, tokenize='trigram', detail=none, columnsize=0, content='');
CREATE VIRTUAL TABLE passage_text USING fts5(text, tokenize='trigram', detail=none, columnsize=0, content='');
CREATE VIRTUAL TABLE trigrams USING fts5vocab(passage_text, 'row');
"""


def index_path(identity: Identity) -> str:
    """Return where the index of a file in this state is, or would be."""
    return os.path.join(files.archives_directory(), identity, _FILE_NAME)


def needs_index(archive: Archive) -> bool:
    """Return whether the archive's own index cannot find words, or there is none."""
    return not archive.has_fulltext_index or has_unsegmented_language(archive.languages)


class TooLarge(Exception):
    """The archive has more text than is indexed."""


class IndexWriter:
    """Writes an index, as a context: it is in its place once `finish` was called, or else removed."""

    def __init__(self, path: str, uuid: str) -> None:
        self._path = path
        self._part = f"{path}.part"
        self._uuid = uuid
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
        self._database.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {_SCHEMA}")
        self._database.execute("BEGIN")

    def _close(self) -> None:
        self._database.close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._part)

    def add_page(self, path: str, title: str, document: Document) -> None:
        """Add the passages of a page; raise `TooLarge` if that is more text than is indexed."""
        self._pages += 1
        insert = self._database.execute
        insert("INSERT INTO pages VALUES (?, ?)", (self._pages, path))
        insert("INSERT INTO page_titles (rowid, title) VALUES (?, ?)", (self._pages, _padded(normalize(title))))
        for position, passage in enumerate(document.passages):
            text = passage.normalized
            self.passages += 1
            self.text_bytes += len(text.encode(errors="replace"))
            if self.text_bytes > MAX_TEXT_BYTES:
                raise TooLarge
            row = (self.passages, self._pages, position, passage.section, len(text))
            insert("INSERT INTO passages VALUES (?, ?, ?, ?, ?)", row)
            insert("INSERT INTO passage_text (rowid, text) VALUES (?, ?)", (self.passages, _padded(text)))

    def clear(self) -> None:
        """Drop all pages, to record only that the archive is too large."""
        self._close()
        self._open()

    def finish(self, state: PassageIndexState) -> int:
        """Complete the index, move it into its place and return its size."""
        for table in ("page_titles", "passage_text"):
            self._database.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")  # noqa: S608
        properties = {"version": str(VERSION), "uuid": self._uuid, "state": state}
        self._database.executemany("INSERT INTO properties VALUES (?, ?)", properties.items())
        self._database.execute("COMMIT")
        self._database.execute("VACUUM")
        self._database.close()
        with open(self._part, "rb+") as file:
            os.fsync(file.fileno())
        os.replace(self._part, self._path)
        return os.path.getsize(self._path)


def _padded(text: str) -> str:
    """Return a text with spaces around it, so that words at its ends are like others."""
    return f" {text}  "


_open_indexes: weakref.WeakKeyDictionary[Archive, PassageIndex] = weakref.WeakKeyDictionary()


def open_index(archive: Archive) -> PassageIndex | None:
    """Return the index of an archive if it is complete; it stays open for as long as the archive."""
    index = _open_indexes.get(archive)
    if index is None:
        index = _open_valid(archive)
        if index is None or index.state != "complete":
            return None
        _open_indexes[archive] = index
    return index


def read_state(archive: Archive) -> PassageIndexState | None:
    """Return what the index of an archive is; None if it has to be built."""
    index = _open_indexes.get(archive) or _open_valid(archive)
    return index.state if index else None


def remove_index(archive: Archive) -> None:
    """Remove an index that turned out to be damaged, so that it is built again."""
    _open_indexes.pop(archive, None)
    with contextlib.suppress(OSError):
        os.unlink(index_path(archive.identity))


def _open_valid(archive: Archive) -> PassageIndex | None:
    path = index_path(archive.identity)
    if not os.path.exists(path):
        return None
    with contextlib.suppress(*DAMAGED, errors.ArchiveUnusable):
        index = PassageIndex(path)
        if (index.version, index.uuid) == (str(VERSION), archive.uuid):
            return index
    return None


class PassageIndex:
    """An index that is open for reading; a damaged one raises one of the errors in `DAMAGED`."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        weakref.finalize(self, self._database.close)
        self._database.execute("PRAGMA trusted_schema=OFF")
        properties = dict(self._database.execute("SELECT name, value FROM properties"))
        self.version, self.uuid = properties.get("version"), properties.get("uuid")
        self.state: PassageIndexState = "too_large" if properties.get("state") == "too_large" else "complete"
        self._matches: dict[str, str] = {}

    @cached_property
    def passages(self) -> int:
        """How many passages there are."""
        return len(self._pages)

    @cached_property
    def _pages(self) -> array[int]:
        """The page of each passage."""
        return array("L", (page for (page,) in self._database.execute("SELECT page FROM passages ORDER BY id")))

    @cached_property
    def _length_factors(self) -> array[float]:
        """The factor of each passage's score: the longer it is, the less a match tells."""
        (average,) = self._database.execute("SELECT avg(chars) FROM passages").fetchone()
        rows = self._database.execute("SELECT chars FROM passages ORDER BY id")
        return array("f", (_length_factor(chars / average) for (chars,) in rows))

    def frequency(self, word: str) -> int:
        """Return how many passages contain a word; from three characters on, also as a part of longer words."""
        match = self._match_expression(word)
        if not match:
            return 0
        query = "SELECT count(*) FROM passage_text WHERE passage_text MATCH ?"
        return int(self._database.execute(query, (match,)).fetchone()[0])

    def score_pages(self, terms: Iterable[Term], limit: int) -> dict[str, float]:
        """Return the paths and scores of the pages with the best passages, the best first.

        A score is the weight of the terms in the best passage and in the title: BM25, every term counted once.
        """
        known = sorted((term for term in terms if term.frequency), key=lambda term: term.frequency)
        in_titles: defaultdict[int, float] = defaultdict(float)
        in_passages: defaultdict[int, float] = defaultdict(float)
        postings = 0
        for term in known:
            postings += term.frequency
            if postings > _MAX_POSTINGS and in_passages:
                break
            match = self._match_expression(term.search_prefix)
            for passage in self._rows("passage_text", match):
                in_passages[passage] += term.weight
            for page in self._rows("page_titles", match):
                in_titles[page] += _TITLE_WEIGHT * term.weight
        return self._best_pages(in_passages, in_titles, limit)

    def _best_pages(self, in_passages: dict[int, float], in_titles: dict[int, float], limit: int) -> dict[str, float]:
        scores = dict(in_titles)
        for passage, weight in in_passages.items():
            if 0 < passage <= self.passages:
                page = self._pages[passage - 1]
                score = weight * self._length_factors[passage - 1] + in_titles.get(page, 0.0)
                scores[page] = max(scores.get(page, 0.0), score)
        best = sorted(scores, key=lambda page: (-scores[page], page))[:limit]
        return {path: scores[page] for page in best for path in self._paths(page)}

    def _paths(self, page: int) -> list[str]:
        rows = self._database.execute("SELECT path FROM pages WHERE id = ?", (page,))
        return [path for (path,) in rows if isinstance(path, str)]

    def _rows(self, table: Literal["passage_text", "page_titles"], match: str) -> Iterator[int]:
        query = f"SELECT rowid FROM {table} WHERE {table} MATCH ?"  # noqa: S608  the name is one of two
        return (row for (row,) in self._database.execute(query, (match,)))

    def _match_expression(self, word: str) -> str:
        """Return the FTS5 expression for texts that contain a word: all of its trigrams; empty if none can."""
        match = self._matches.get(word)
        if match is None:
            if len(self._matches) >= _MAX_KEPT_EXPRESSIONS:
                self._matches.clear()
            match = self._matches[word] = self._make_expression(word)
        return match

    def _make_expression(self, word: str) -> str:
        text = normalize(word)
        if len(text) < _TRIGRAM and not is_unspaced_script(text):
            text = f" {text} "[: max(_TRIGRAM, len(text) + 1)]
        if len(text) < _TRIGRAM:
            return " OR ".join(map(_quote, self._trigrams_from(text)))
        trigrams = dict.fromkeys(text[i : i + _TRIGRAM] for i in range(len(text) - _TRIGRAM + 1))
        return " AND ".join(map(_quote, itertools.islice(trigrams, _MAX_TRIGRAMS)))

    def _trigrams_from(self, start: str) -> list[str]:
        """Return the most frequent trigrams that start with one or two characters."""
        query = "SELECT term FROM trigrams WHERE term >= ? AND term < ? ORDER BY doc DESC LIMIT ?"
        rows = self._database.execute(query, (start, f"{start}\U0010ffff", _MAX_EXPANSIONS))
        return [term for (term,) in rows if start]


def _length_factor(relative_length: float) -> float:
    return (1 + _SATURATION) / (1 + _SATURATION * (1 - _LENGTH_WEIGHT + _LENGTH_WEIGHT * relative_length))


def _quote(trigram: str) -> str:
    return '"' + trigram.replace('"', '""') + '"'
