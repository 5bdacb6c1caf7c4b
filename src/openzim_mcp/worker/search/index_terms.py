"""The terms of a full-text index and how many articles have each, read from the index itself.

libzim tells the frequency of one word after the other, but not which words there are. The index is a Xapian database in
one file, of the format "glass": after a header, which names the root of each table, follow blocks of equal size. The
first table has a row per term, in a B-tree: branches hold the numbers of blocks, leaves the rows. A row that does not
fit a block goes on in rows whose keys have a zero byte; the first one starts with the number of articles.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAGIC = b"\x0f\rXapian Glass\x04n"
"""The name of the format, and its only version since 2016."""
_HEADER_BYTES = 32
_BLOCK_UNIT = 2048
_LEVEL, _DIRECTORY_END, _DIRECTORY = 4, 9, 11
_BLOCK_NUMBER_BYTES = 4
_FIRST_PART = 0x20
"""Set in the first byte of a row that does not continue another."""
_MAX_DEPTH = 10
_MAX_NUMBER_BYTES = 10


class NotReadable(Exception):
    """The index has another format, or is damaged."""


class _Table(NamedTuple):
    """The number of the root block of a table, how many rows the table has, and the size of its blocks."""

    root: int
    rows: int
    block_bytes: int
    is_empty: bool


def count_rows(index: bytes) -> int:
    """Return about how many terms an index has; `NotReadable` if it has another format."""
    return _read_table(index).rows


def read_terms(index: bytes) -> dict[bytes, int]:
    """Return how many articles have each term of an index; the stem of a word, where its language has stems."""
    table = _read_table(index)
    try:
        return {} if table.is_empty else dict(_walk(index, table, table.root, _MAX_DEPTH))
    except IndexError as error:
        raise NotReadable from error


def _read_table(index: bytes) -> _Table:
    if not index.startswith(_MAGIC):
        raise NotReadable
    try:
        _, at = _read_number(index, _HEADER_BYTES)  # the revision
        root, at = _read_number(index, at)
        flags, at = _read_number(index, at)
        rows, at = _read_number(index, at)
        units, _ = _read_number(index, at)
    except IndexError as error:
        raise NotReadable from error
    if not units:
        raise NotReadable
    return _Table(root, rows, units * _BLOCK_UNIT, bool(flags & 1))


def _walk(index: bytes, table: _Table, number: int, depth: int) -> Iterator[tuple[bytes, int]]:
    """Yield the terms below a block, with their numbers of articles."""
    block = index[number * table.block_bytes : (number + 1) * table.block_bytes]
    if not depth or len(block) < table.block_bytes:
        raise NotReadable
    directory = block[_DIRECTORY : int.from_bytes(block[_DIRECTORY_END:_DIRECTORY], "big")]
    starts = [int.from_bytes(directory[at : at + 2], "big") for at in range(0, len(directory), 2)]
    if block[_LEVEL]:
        for start in starts:
            child = int.from_bytes(block[start : start + _BLOCK_NUMBER_BYTES], "big")
            yield from _walk(index, table, child, depth - 1)
        return
    for start in starts:
        key_end = start + 3 + block[start + 2]
        key = block[start + 3 : key_end]
        if block[start] & _FIRST_PART and key and b"\0" not in key:
            yield key, _read_number(block, key_end)[0]


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, of which each byte holds seven bits, the lowest first, and where the next one starts."""
    value = 0
    for position in range(_MAX_NUMBER_BYTES):
        byte = data[at + position]
        value |= (byte & 0x7F) << 7 * position
        if not byte & 0x80:
            return value, at + position + 1
    raise NotReadable
