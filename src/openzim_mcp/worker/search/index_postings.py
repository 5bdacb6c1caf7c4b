"""The articles that have a word, how often, and how long they are, read from a full-text index itself.

libzim only searches for articles that have all words of a query, and tells no more of them than their order. In the
table of words, the row of a term starts with the number of its articles; then follow the number of the first one, and
for each article how often it has the word and how far the next one is. Rows with the same term and the number of an
article continue it. The lengths of the articles are such a list, too. The other table has the paths.
"""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

from openzim_mcp.worker.search.index_blocks import HEADER_BYTES, BlockTree, NotReadable, read_header, read_number

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.worker.search.index_blocks import Read

_LENGTHS_KEY = b"\0\xe0"
_NUMBER_SEPARATOR, _ESCAPED_ZERO = b"\0", b"\0\xff"
_KEPT_LENGTHS = 1 << 19
"""Lengths of so many articles are kept: two megabytes."""
_LONG_NUMBER = re.compile(rb"[\x80-\xff]+[\x00-\x7f]")
_PLUS_ONE = bytes((*range(1, 256), 0))
_PATH_START = 2
"""Paths start with the namespace and a slash."""


class Postings(NamedTuple):
    """Some articles of a word, by number and in that order, and how often each has it."""

    articles: Sequence[int]
    counts: Sequence[int]


class PostingIndex:
    """A full-text index whose lists of articles are read."""

    def __init__(self, read: Read) -> None:
        header = read_header(read(0, HEADER_BYTES))
        self._words = BlockTree(read, header.words)
        self._documents = BlockTree(read, header.documents)
        self._lengths: LRUCache[bytes, dict[int, int]] = LRUCache(_KEPT_LENGTHS, len)
        self.average_length = header.word_count / max(1, header.document_count)

    def count(self, term: str) -> int:
        """Return how many articles have a term."""
        row = self._words.find(_escape(term))
        return _read_numbers(row, 1)[0][0] if row else 0

    def postings(self, term: str) -> Iterator[Postings]:
        """Yield the articles of a term, some at a time."""
        key = _escape(term)
        for found, row in self._words.rows_from(key):
            if found == key:
                yield _first_postings(row)
            elif found.startswith(key + _NUMBER_SEPARATOR) and not found.startswith(key + _ESCAPED_ZERO):
                yield _next_postings(found[len(key) + 1 :], row)
            else:
                return

    def lengths(self, articles: Sequence[int]) -> Iterator[tuple[int, int]]:
        """Yield some articles, which are sorted, with the number of their words; the average if that is not known."""
        near: dict[int, int] = {}
        for article in articles:
            if article not in near:
                near = self._lengths_around(article)
            yield article, near.get(article, int(self.average_length))

    def _lengths_around(self, article: int) -> dict[int, int]:
        key = self._words.last_key_to(_LENGTHS_KEY + _pack_number(article))
        if key is None or not key.startswith(_LENGTHS_KEY):
            return {}
        if key not in self._lengths:
            row = self._words.find(key) or b""
            postings = _first_postings(row) if key == _LENGTHS_KEY else _next_postings(key[len(_LENGTHS_KEY) :], row)
            self._lengths[key] = dict(zip(postings.articles, postings.counts, strict=False))
        return self._lengths[key]

    def path(self, article: int) -> str:
        """Return the path of an article, as entries are found by."""
        row = self._documents.find(_pack_number(article))
        if not row:
            raise NotReadable
        return row[_PATH_START:].decode(errors="replace")


def _first_postings(row: bytes) -> Postings:
    (_, _, first), at = _read_numbers(row, 3)
    return _decode(first + 1, row, at)


def _next_postings(packed: bytes, row: bytes) -> Postings:
    return _decode(_unpack_number(packed), row, 0)


def _decode(first: int, row: bytes, at: int) -> Postings:
    """Return the articles of a row: behind a mark and a number, the counts and the distances take turns."""
    _, at = _read_numbers(row, 1, at + 1)
    numbers = _all_numbers(row[at:])
    distances = numbers[1::2]
    steps = distances.translate(_PLUS_ONE) if isinstance(distances, bytes) else (step + 1 for step in distances)
    return Postings(list(itertools.accumulate(steps, initial=first)), numbers[::2])


def _all_numbers(packed: bytes) -> Sequence[int]:
    """Return the numbers of a list; most of them take one byte, which is the number."""
    if packed.isascii():
        return packed
    numbers: list[int] = []
    at = 0
    for long_number in _LONG_NUMBER.finditer(packed):
        numbers += packed[at : long_number.start()]
        numbers.append(read_number(long_number[0], 0)[0])
        at = long_number.end()
    return [*numbers, *packed[at:]]


def _read_numbers(row: bytes, count: int, at: int = 0) -> tuple[list[int], int]:
    numbers = []
    try:
        for _ in range(count):
            number, at = read_number(row, at)
            numbers.append(number)
    except IndexError as error:
        raise NotReadable from error
    return numbers, at


def _escape(term: str) -> bytes:
    return term.encode().replace(b"\0", _ESCAPED_ZERO)


def _pack_number(number: int) -> bytes:
    """Return a number in the bytes that sort like it: two, or more if the first ones have their highest bits set."""
    size = 2
    while number >> (7 * size + 1):
        size += 1
    marks = ((1 << (size - 2)) - 1) << (7 * size + 2)
    return (marks | number).to_bytes(size, "big")


def _unpack_number(packed: bytes) -> int:
    size = len(packed)
    if size < 2:  # noqa: PLR2004
        raise NotReadable
    return int.from_bytes(packed, "big") & ((1 << (7 * size + 1)) - 1)
