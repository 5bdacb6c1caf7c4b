"""The blocks of a full-text index: its tables, and the rows of a table in the order of their keys.

The index is a Xapian database in one file, of the format "glass": after a header, which names the root of each table,
follow blocks of equal size. A table is a B-tree: branches hold the numbers of blocks, leaves the rows. A row that does
not fit a block goes on in further rows with the same key.
"""

from __future__ import annotations

import bisect
import struct
import zlib
from typing import TYPE_CHECKING, NamedTuple

from cachetools import LRUCache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Read = Callable[[int, int], bytes]
    """Returns the bytes of the index from an offset on, so many of them."""

HEADER_BYTES = 2048
_MAGIC = b"\x0f\rXapian Glass\x04n"
"""The name of the format, and its only version since 2016."""
_FIRST_NUMBER = 32
_TABLES = 6
_BLOCK_UNIT = 2048
_LEVEL, _DIRECTORY_END, _DIRECTORY = 4, 9, 11
_BLOCK_NUMBER_BYTES = 4
_SIZE_MASK = 0x1FFF
_IS_PACKED, _IS_LAST, _IS_FIRST = 0x80, 0x40, 0x20
"""Marks in the first byte of a row: whether it is compressed, and ends or starts the row of its key."""
_PART_NUMBER_BYTES = 2
_RAW_DEFLATE = -15
_MAX_ROW_BYTES = 1 << 20
_MAX_DEPTH = 10
_MAX_NUMBER_BYTES = 10
_KEPT_BRANCHES = 256


class NotReadable(Exception):
    """The index has another format, or is damaged."""


class Table(NamedTuple):
    """The number of the root block of a table, how many rows the table has, and the size of its blocks."""

    root: int
    rows: int
    block_bytes: int
    is_empty: bool


class Header(NamedTuple):
    """The tables of words and of documents, and how many documents there are, with how many words in all."""

    words: Table
    documents: Table
    document_count: int
    word_count: int


def read_header(head: bytes) -> Header:
    """Return what the first bytes of an index say; `NotReadable` if it has another format."""
    if not head.startswith(_MAGIC):
        raise NotReadable
    try:
        _, at = read_number(head, _FIRST_NUMBER)  # the revision
        tables = []
        for _ in range(_TABLES):
            table, at = _read_table(head, at)
            tables.append(table)
        numbers = []
        for _ in range(7):
            number, at = read_number(head, at)
            numbers.append(number)
    except IndexError as error:
        raise NotReadable from error
    return Header(tables[0], tables[1], numbers[0], numbers[6])


def _read_table(head: bytes, at: int) -> tuple[Table, int]:
    root, at = read_number(head, at)
    flags, at = read_number(head, at)
    rows, at = read_number(head, at)
    units, at = read_number(head, at)
    _, at = read_number(head, at)  # from which size on rows are compressed
    free_list_bytes, at = read_number(head, at)
    if not units:
        raise NotReadable
    return Table(root, rows, units * _BLOCK_UNIT, bool(flags & 1)), at + free_list_bytes


def read_number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number, of which each byte holds seven bits, the lowest first, and where the next one starts."""
    value = 0
    for position in range(_MAX_NUMBER_BYTES):
        byte = data[at + position]
        value |= (byte & 0x7F) << 7 * position
        if not byte & 0x80:
            return value, at + position + 1
    raise NotReadable


class _Block:
    """A branch or a leaf: its items, in the order of their keys."""

    def __init__(self, raw: bytes) -> None:
        end = int.from_bytes(raw[_DIRECTORY_END:_DIRECTORY], "big")
        if not _DIRECTORY <= end <= len(raw):
            raise NotReadable
        self._raw = raw
        self.is_branch = bool(raw[_LEVEL])
        self.starts = struct.unpack_from(f">{(end - _DIRECTORY) // 2}H", raw, _DIRECTORY)
        if max(self.starts, default=0) + (_BLOCK_NUMBER_BYTES if self.is_branch else 2) >= len(raw):
            raise NotReadable

    def key(self, position: int) -> bytes:
        """Return the key of an item; the first of a branch has none."""
        if self.is_branch and not position:
            return b""
        at = self.starts[position] + (_BLOCK_NUMBER_BYTES if self.is_branch else 2)
        return self._raw[at + 1 : at + 1 + self._raw[at]]

    def child(self, position: int) -> int:
        """Return the number of the block that an item of a branch stands for."""
        at = self.starts[position]
        return int.from_bytes(self._raw[at : at + _BLOCK_NUMBER_BYTES], "big")

    def part(self, position: int) -> tuple[bytes, int]:
        """Return what an item of a leaf holds, and its marks."""
        at = self.starts[position]
        marks = self._raw[at]
        size = (int.from_bytes(self._raw[at : at + 2], "big") & _SIZE_MASK) + 3
        start = at + 3 + self._raw[at + 2] + (0 if marks & _IS_FIRST else _PART_NUMBER_BYTES)
        return self._raw[start : at + size], marks

    def positions_from(self, key: bytes) -> range:
        """Return the items that may lead to this key or to later ones."""
        positions = range(len(self.starts))
        at = bisect.bisect_left(positions, key, key=self.key)
        return positions[max(0, at - 1) if self.is_branch else at :]

    def positions_to(self, key: bytes) -> range:
        """Return the items that may lead to this key or to earlier ones, the last first."""
        positions = range(len(self.starts))
        return positions[: bisect.bisect_right(positions, key, key=self.key)][::-1]


class BlockTree:
    """The rows of one table, found by their keys."""

    def __init__(self, read: Read, table: Table) -> None:
        self._read = read
        self._table = table
        self._branches: LRUCache[int, _Block] = LRUCache(_KEPT_BRANCHES)

    def rows_from(self, key: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield keys and rows in their order, from a key on."""
        found, row = b"", b""
        for leaf in self._leaves_from(self._table.root, key, _MAX_DEPTH):
            for position in leaf.positions_from(key):
                content, marks = leaf.part(position)
                if marks & _IS_FIRST:
                    found, row = leaf.key(position), content
                elif row and leaf.key(position) == found and len(row) < _MAX_ROW_BYTES:
                    row += content
                else:
                    continue
                if marks & _IS_LAST:
                    yield found, _unpack(row) if marks & _IS_PACKED else row

    def find(self, key: bytes) -> bytes | None:
        """Return the row of a key."""
        found, row = next(self.rows_from(key), (b"", b""))
        return row if found == key else None

    def last_key_to(self, key: bytes) -> bytes | None:
        """Return the last key that is not behind a key."""
        return None if self._table.is_empty else self._last_key(self._table.root, key, _MAX_DEPTH)

    def _last_key(self, number: int, key: bytes, depth: int) -> bytes | None:
        block = self._block(number, depth)
        for position in block.positions_to(key):
            found = self._last_key(block.child(position), key, depth - 1) if block.is_branch else block.key(position)
            if found is not None:
                return found
        return None

    def _leaves_from(self, number: int, key: bytes, depth: int) -> Iterator[_Block]:
        """Yield the leaves below a block that may have a key or later ones."""
        if self._table.is_empty:
            return
        block = self._block(number, depth)
        if not block.is_branch:
            yield block
            return
        for position in block.positions_from(key):
            yield from self._leaves_from(block.child(position), key, depth - 1)

    def _block(self, number: int, depth: int) -> _Block:
        block = self._branches.get(number)
        if block is None:
            raw = self._read(number * self._table.block_bytes, self._table.block_bytes)
            if not depth or len(raw) < self._table.block_bytes:
                raise NotReadable
            block = _Block(raw)
            if block.is_branch:
                self._branches[number] = block
        return block


def _unpack(row: bytes) -> bytes:
    inflater = zlib.decompressobj(_RAW_DEFLATE)
    try:
        return inflater.decompress(row, _MAX_ROW_BYTES)
    except zlib.error as error:
        raise NotReadable from error
