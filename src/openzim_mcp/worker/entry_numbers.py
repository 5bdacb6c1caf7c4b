"""The numbers of all entries by their paths, in a table for many look-ups: libzim bisects records for each."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING
from zlib import crc32

from openzim_mcp.worker.zim import MAX_REDIRECTS

if TYPE_CHECKING:
    from array import array

NO_ENTRY = 0xFFFFFFFF
_OLD_NAMESPACES = b"AIJ-"


def hash_path(name: bytes, entry_count: int) -> int:
    """Return 64 bits for a path, the same in every process; the last are 0, as many as the number of an entry has.

    The checksum of the reversed path is independent of that of the path.
    """
    bits = _number_bits(entry_count)
    return (crc32(name) << 32 | crc32(name[::-1])) >> bits << bits


def _number_bits(entry_count: int) -> int:
    return max(1, entry_count.bit_length())


class EntryNumbers:
    """The numbers of the entries of the content; 12 bytes per entry.

    The table has the hash of each path, its last bits replaced by the number of the entry, in order: two paths are
    taken for the same once in a billion look-ups or so. `targets` has the number of each entry or, of a redirect, that
    of its target.
    """

    def __init__(self, table: array[int], targets: array[int], *, has_new_scheme: bool) -> None:
        self._table = table
        self._targets = targets
        self._has_new_scheme = has_new_scheme
        self._number_bits = _number_bits(len(targets))

    def find(self, path: str) -> int | None:
        """Return the number of the entry at a path, redirects followed, or None; takes namespaces as libzim does."""
        name = path.encode(errors="replace")
        number = self._look_up(name)
        if number is None and self._has_new_scheme and name[1:2] == b"/":
            number = self._look_up(name[2:])
        if number is None and not self._has_new_scheme:
            spellings = [b"%c/%b" % (letter, name) for letter in _OLD_NAMESPACES] + [b"A/" + name.removeprefix(b"C/")]
            number = next((found for name in spellings if (found := self._look_up(name)) is not None), None)
        return None if number is None else self._follow(number)

    def _look_up(self, name: bytes) -> int | None:
        key = hash_path(name, len(self._targets))
        position = bisect_left(self._table, key)
        if position == len(self._table):
            return None
        found = self._table[position]
        return found - key if found >> self._number_bits == key >> self._number_bits else None

    def _follow(self, number: int) -> int | None:
        for _ in range(MAX_REDIRECTS):
            target = self._targets[number] if number < len(self._targets) else NO_ENTRY
            if target in {number, NO_ENTRY}:
                return None if target == NO_ENTRY else number
            number = target
        return None
