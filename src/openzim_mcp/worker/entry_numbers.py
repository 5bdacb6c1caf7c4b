"""The numbers of all entries by their paths, in a table for many look-ups: libzim bisects records for each."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from typing import TYPE_CHECKING

from openzim_mcp.worker.zim import MAX_REDIRECTS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openzim_mcp.zimfile import EntryRecord

_HASH_BITS = 64
_HASH_MASK = (1 << _HASH_BITS) - 1
_PART_BITS = 8
_NO_ENTRY = 0xFFFFFFFF
_OLD_NAMESPACES = b"AIJ-"


class EntryNumbers:
    """The numbers of the entries of the content; 12 bytes per entry.

    The table has the hash of each path, its last bits replaced by the number of the entry, in order: two paths are
    taken for the same once in a billion look-ups or so.
    """

    def __init__(self, records: Iterable[EntryRecord], entry_count: int, *, has_new_scheme: bool) -> None:
        self._has_new_scheme = has_new_scheme
        self._number_bits = max(1, entry_count.bit_length())
        self._targets = array("I", [_NO_ENTRY]) * entry_count
        parts = [array("Q") for _ in range(1 << _PART_BITS)]
        for record in records:
            self._targets[record.number] = record.number if record.mime_type is not None else record.place
            if not has_new_scheme or record.namespace == "C":
                key = self._key(self._name(record)) | record.number
                parts[key >> (_HASH_BITS - _PART_BITS)].append(key)
        self._table = array("Q")
        for number, part in enumerate(parts):
            self._table.extend(sorted(part))
            parts[number] = array("Q")

    def _name(self, record: EntryRecord) -> bytes:
        return record.path if self._has_new_scheme else record.namespace.encode() + b"/" + record.path

    def _key(self, name: bytes) -> int:
        return (hash(name) & _HASH_MASK) >> self._number_bits << self._number_bits

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
        key = self._key(name)
        position = bisect_left(self._table, key)
        if position == len(self._table):
            return None
        found = self._table[position]
        return found - key if found >> self._number_bits == key >> self._number_bits else None

    def _follow(self, number: int) -> int | None:
        for _ in range(MAX_REDIRECTS):
            target = self._targets[number] if number < len(self._targets) else _NO_ENTRY
            if target in {number, _NO_ENTRY}:
                return None if target == _NO_ENTRY else number
            number = target
        return None
