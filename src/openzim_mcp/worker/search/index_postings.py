"""The articles that have a word, how often, and how long they are, read from a full-text index itself.

libzim only searches for articles that have all words of a query, and tells no more of them than their order. In the
table of words, the row of a term starts with the number of its articles; then follow the number of the first one, and
for each article how often it has the word and how far the next one is. Rows with the same term and the number of an
article continue it. The lengths of the articles are such a list, too. The other table has the paths.
"""

from __future__ import annotations

import bisect
import itertools
import re
from array import array
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.worker.search.index_blocks import HEADER_BYTES, BlockTree, NotReadable, read_header, read_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openzim_mcp.worker.search.index_blocks import Read

_LENGTHS_KEY = b"\0\xe0"
_NUMBER_SEPARATOR, _ESCAPED_ZERO = b"\0", b"\0\xff"
_KEPT_LENGTHS = 1 << 21
"""Lengths of so many articles are kept: four megabytes."""
_MAX_LENGTH = 0xFFFF
_MAX_GROUP = 1 << 16
"""Only in a damaged index do the lengths of a row belong to articles that are so far from each other."""
_LONG_NUMBER = re.compile(rb"[\x80-\xff]+[\x00-\x7f]")
_NUMBER = re.compile(rb"[\x80-\xff]*[\x00-\x7f]")
_LONG_MARK = b"\x80"
_NEXT_BYTE = bytes(range(1, 256)) + b"\0"
_MANY_LONG_NUMBERS = 8
"""From one in so many bytes on, all numbers of a list are decoded one by one."""
_MAX_KNOWN_NUMBERS = 20_000
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
        self._known_lengths = _KnownLengths()
        self.keeps_lengths = header.document_count <= _KEPT_LENGTHS
        """Whether the lengths of all articles can be kept, so that each is read once."""
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

    def lengths(self, articles: Iterable[int]) -> Iterator[tuple[int, int]]:
        """Yield some articles with the number of their words; the average if that is not known."""
        for article in articles:
            length = self._known_lengths.find(article)
            if length is None:
                self._read_lengths(article)
                length = self._known_lengths.find(article)
            yield article, int(self.average_length) if length is None else length

    def _read_lengths(self, article: int) -> None:
        key = self._words.last_key_to(_LENGTHS_KEY + _pack_number(article))
        if key is not None and key.startswith(_LENGTHS_KEY):
            row = self._words.find(key) or b""
            is_first = key == _LENGTHS_KEY
            self._known_lengths.add(_first_postings(row) if is_first else _next_postings(key[len(_LENGTHS_KEY) :], row))

    def path(self, article: int) -> str:
        """Return the path of an article, as entries are found by."""
        row = self._documents.find(_pack_number(article))
        if not row:
            raise NotReadable
        return row[_PATH_START:].decode(errors="replace")


class _KnownLengths:
    """Lengths that were read, in groups of neighbours: two bytes for each, 0 if it is not known."""

    def __init__(self) -> None:
        self._groups: dict[int, array[int]] = {}
        self._starts: list[int] = []
        self._size = 0

    def find(self, article: int) -> int | None:
        """Return the length of an article, if its group was read."""
        at = bisect.bisect_right(self._starts, article) - 1
        if at < 0:
            return None
        start = self._starts[at]
        lengths = self._groups[start]
        return (lengths[article - start] or None) if article - start < len(lengths) else None

    def add(self, group: Postings) -> None:
        """Keep a group that is not there; those that were read first are dropped if there are too many."""
        start = group.articles[0]
        count = group.articles[-1] - start + 1
        if count > _MAX_GROUP or start in self._groups:
            return
        lengths = array("H", bytes(2 * count))
        for article, length in zip(group.articles, group.counts, strict=False):
            lengths[article - start] = min(length, _MAX_LENGTH)
        while self._groups and self._size + count > _KEPT_LENGTHS:
            oldest = next(iter(self._groups))
            self._size -= len(self._groups.pop(oldest))
            del self._starts[bisect.bisect_left(self._starts, oldest)]
        self._groups[start] = lengths
        self._size += count
        bisect.insort(self._starts, start)


class _KnownNumbers(dict[bytes, int]):
    """Numbers by their bytes, each decoded once."""

    def __missing__(self, packed: bytes) -> int:
        if len(self) >= _MAX_KNOWN_NUMBERS:
            self.clear()
        self[packed] = number = read_number(packed, 0)[0]
        return number


_known_numbers = _KnownNumbers()


def _first_postings(row: bytes) -> Postings:
    (_, _, first), at = _read_numbers(row, 3)
    return _decode(first + 1, row, at)


def _next_postings(packed: bytes, row: bytes) -> Postings:
    return _decode(_unpack_number(packed), row, 0)


def _decode(first: int, row: bytes, at: int) -> Postings:
    """Return the articles of a row: behind a mark and a number, the counts and the distances take turns."""
    _, at = _read_numbers(row, 1, at + 1)
    counts, distances = _counts_and_distances(row[at:])
    return Postings(list(itertools.accumulate(distances[: len(counts) - 1], initial=first)), counts)


def _counts_and_distances(packed: bytes) -> tuple[Sequence[int], Sequence[int]]:
    """Return the numbers of a list that take turns; most of them take one byte, which is the number.

    A distance is kept as one less than the difference of two articles.
    """
    if packed.isascii():
        return packed[::2], packed[1::2].translate(_NEXT_BYTE)
    long_numbers = _LONG_NUMBER.findall(packed)
    if len(long_numbers) * _MANY_LONG_NUMBERS > len(packed):
        numbers = list(map(_known_numbers.__getitem__, _NUMBER.findall(packed)))
        return numbers[::2], [number + 1 for number in numbers[1::2]]
    # Each long number leaves a mark of one byte, so that the others stand where they belong.
    marked = _LONG_NUMBER.sub(_LONG_MARK, packed)
    columns = list(marked[::2]), list(marked[1::2].translate(_NEXT_BYTE))
    at = -1
    for long_number in long_numbers:
        at = marked.index(_LONG_MARK, at + 1)
        columns[at % 2][at // 2] = _known_numbers[long_number] + at % 2
    return columns


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
