"""The words of an archive and how many articles have each, in a record on disk that is asked without the archive.

The record of an archive is `archives/IDENTITY/words` in the cache: a line of JSON about the archive, then a line per
term, `TERM<tab>ARTICLES`, in the order of the bytes. A large archive is asked itself, and so is one with documents that
are in no index. Where there is no full-text index, the words are those of the titles.
"""

from __future__ import annotations

import contextlib
import mmap
import os
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from cachetools import LRUCache

from openzim_mcp import __version__, files
from openzim_mcp.calls.archive import ArchiveKind  # noqa: TC001  msgspec evaluates annotations
from openzim_mcp.calls.search import KnownWords, WordCounts
from openzim_mcp.languages import has_unsegmented_language
from openzim_mcp.text import is_unsegmented_script, is_unspaced_script, normalize, tokenize
from openzim_mcp.worker.archive.kind import archive_kind
from openzim_mcp.worker.reading.document_titles import has_documents
from openzim_mcp.worker.search.index_blocks import NotReadable
from openzim_mcp.worker.search.index_terms import count_rows, read_terms
from openzim_mcp.worker.search.language import detect_language, language_by_code
from openzim_mcp.worker.search.passage_index import count_documents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openzim_mcp.calls.search import CountWords, MakeWordRecord, Question
    from openzim_mcp.worker.search.language import Word
    from openzim_mcp.worker.zim import Archive, ClosedArchive
    from openzim_mcp.zimfile import Identity

_VERSION = f"{__version__} 1"
"""The next version may see another kind of archive, or other words."""
_MAX_INDEX_BYTES = 32 << 20
_MAX_TERMS = 100_000
_MAX_TERM_BYTES = 40
"""A longer one is a URL or a number, not a word that somebody asks for."""
_MAX_TITLED_ENTRIES = 20_000
_MAX_PREFIX_CHARS = 5
"""A stem may be shorter than what was typed of a word."""
_MAX_KEPT_BYTES = 16 << 20
_MAX_KEPT_QUESTIONS = 256
_MAX_READ_BYTES = 64 << 10
"""A longer record is mapped, and only the pages with the words are read."""

_unsaved: LRUCache[Identity, bytes] = LRUCache(_MAX_KEPT_BYTES, len)
"""Records that are not to be kept on disk, or cannot be."""


class _Head(msgspec.Struct, frozen=True):
    """What a record says of its archive; `has_words` if the lines below have all of its words.

    `is_of_titles` if they are those of the titles only.
    """

    version: str
    uuid: str
    kind: ArchiveKind
    languages: str
    articles: int
    has_words: bool
    is_of_titles: bool = False


class Vocabulary(NamedTuple):
    """The record of an archive: what its first line says, all of it, and where that line ends."""

    head: _Head
    record: bytes | mmap.mmap
    end_of_head: int

    def frequency(self, word: Word) -> int:
        """Return how many articles have a word, by its stem, or as it is written if no article has that."""
        return self._count(word.stem) or (self._count(word.text) if word.text != word.stem else 0)

    def _count(self, term: str) -> int:
        key = term.encode()
        start = self._line_from(key)
        found, _, count = self.record[start : self._line_end(start)].partition(b"\t")
        return int(count) if found == key and count.isdigit() else 0

    def has_prefix(self, prefix: str) -> int:
        """Return 1 if a term starts so, else 0."""
        key = prefix.encode()
        start = self._line_from(key)
        return int(self.record[start : start + len(key)] == key)

    def _line_from(self, key: bytes) -> int:
        """Return the start of the first line that is not before a term; the end if there is none."""
        low, high = self.end_of_head + 1, len(self.record)
        while low < high:
            start = self.record.rfind(b"\n", low - 1, (low + high) // 2) + 1
            end = self._line_end(start)
            if self.record[start:end].partition(b"\t")[0] < key:
                low = end + 1
            else:
                high = start
        return low

    def _line_end(self, start: int) -> int:
        end = self.record.find(b"\n", start)
        return len(self.record) if end < 0 else end


def count_words(archive: ClosedArchive, call: CountWords) -> KnownWords:
    """Return how many articles of an archive have each word of a question, from its record if that has them."""
    vocabulary = _load(archive.identity) or _make(archive, keep=call.keep)
    head = vocabulary.head
    if not head.has_words or _is_asked_otherwise(call.question.text, head.languages):
        opened = archive.open()
        count_documents(opened)
        counts = {word.text: opened.frequency(word.text) for word in _words(head.languages, call.question)}
        return KnownWords(head.kind, WordCounts(opened.text_count, counts), opened.has_fulltext_index)
    counts = {word.text: vocabulary.frequency(word) for word in _words(head.languages, call.question)}
    if call.is_prefix and counts:
        last = next(reversed(counts))
        counts[last] = counts[last] or vocabulary.has_prefix(last[:_MAX_PREFIX_CHARS])
    return KnownWords(head.kind, WordCounts(head.articles, counts), is_complete=not head.is_of_titles)


def make_record(archive: ClosedArchive, _call: MakeWordRecord) -> bool:
    """Make the record of an archive, unless it is there; return whether it was made."""
    if _load(archive.identity):
        return False
    _make(archive, keep=True)
    return True


def _words(languages: str, question: Question) -> tuple[Word, ...]:
    """Return the words of a question; those of the last questions are kept, as many archives are asked."""
    return _find_words(languages, question.text, question.context, question.language)


@lru_cache(_MAX_KEPT_QUESTIONS)
def _find_words(languages: str, text: str, context: str, code: str) -> tuple[Word, ...]:
    language = detect_language(languages, text)
    ignored = language_by_code(code).stop_words if code else frozenset[str]()
    return (*language.content_words(text, ignored), *(language.content_words(context, ignored) if context else ()))


def _is_asked_otherwise(text: str, languages: str) -> bool:
    """Return whether the index may have the words of a text in groups of characters that only libzim knows."""
    if is_unsegmented_script(text) and languages and not has_unsegmented_language(languages):
        return False
    return any(map(is_unspaced_script, tokenize(normalize(text))))


def _load(identity: Identity) -> Vocabulary | None:
    record: bytes | mmap.mmap | None = _unsaved.get(identity)
    with contextlib.suppress(OSError, ValueError, msgspec.DecodeError):
        if record is None:
            record = _read_record(files.words_path(identity))
        end = record.find(b"\n")
        head = msgspec.json.decode(record[: max(0, end)], type=_Head)
        if head.version == _VERSION:
            return Vocabulary(head, record, end)
    return None


def _read_record(path: str) -> bytes | mmap.mmap:
    with open(path, "rb", buffering=0) as file:
        if os.fstat(file.fileno()).st_size <= _MAX_READ_BYTES:
            return file.read()
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


def _make(archive: ClosedArchive, *, keep: bool) -> Vocabulary:
    """Make the record of an archive and keep it."""
    opened = archive.open()
    terms = _read_vocabulary(opened)
    head = _Head(
        version=_VERSION,
        uuid=opened.uuid,
        kind=archive_kind(opened),
        languages=opened.languages,
        articles=opened.counts["articles"],
        has_words=terms is not None,
        is_of_titles=not opened.has_fulltext_index,
    )
    first = msgspec.json.encode(head)
    record = first + b"".join(b"\n%b\t%d" % row for row in sorted((terms or {}).items())) + b"\n"
    is_saved = False
    if keep:
        with contextlib.suppress(OSError):
            files.write_atomic(files.words_path(archive.identity), record)
            is_saved = True
    if not is_saved and len(record) <= _MAX_KEPT_BYTES:
        _unsaved[archive.identity] = record
    return Vocabulary(head, record, len(first))


def _read_vocabulary(archive: Archive) -> dict[bytes, int] | None:
    """Return the terms of an archive with their numbers of articles; None if they are too many, or not all there."""
    if has_documents(archive):
        return None
    if not archive.has_fulltext_index:
        return _terms_of_titles(archive) if archive.entry_count <= _MAX_TITLED_ENTRIES else None
    index = archive.read_fulltext_index(_MAX_INDEX_BYTES)
    with contextlib.suppress(NotReadable):
        if index and count_rows(index) <= _MAX_TERMS:
            return _without_separators(read_terms(index).items())
    return None


def _terms_of_titles(archive: Archive) -> dict[bytes, int]:
    language = detect_language(archive.languages, "")
    counts = Counter(
        stem
        for _, title in archive.article_titles
        for stem in {*language.stems(normalize(title)), *normalize(title).split()}
    )
    return _without_separators((stem.encode(), count) for stem, count in counts.items())


def _without_separators(terms: Iterable[tuple[bytes, int]]) -> dict[bytes, int]:
    return {term: count for term, count in terms if len(term) <= _MAX_TERM_BYTES and not {9, 10}.intersection(term)}
