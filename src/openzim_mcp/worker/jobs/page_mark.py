"""Which page a job is reading, in a file that outlives the process: a page that ends it twice is left out.

The file holds records of two numbers, an entry and how many processes have ended while they read it: first the page
that is being read, then the pages at which earlier processes ended.
"""

from __future__ import annotations

import itertools
import os
import struct

_RECORD = struct.Struct("<QQ")
_MAX_ENDS = 2
"""A process may be ended for other reasons, hardly twice while it reads the same page."""


class PageMark:
    """Counts for each page or document the processes that began to read it, and ended before it was read."""

    def __init__(self, path: str) -> None:
        """Open the mark, or raise `OSError`."""
        self._path = path
        self._file = open(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)), "r+b", buffering=0)  # noqa: SIM115
        self._ends = _parse_ends(self._file.readall())
        self._write(0, 0)
        self._file.truncate()

    def is_suspect(self, number: int) -> bool:
        """Return whether a process ended while it read the page with that number, and none has read it since."""
        return self._ends.get(number, 0) > 0

    def begin(self, number: int) -> bool:
        """Note that a page is being read; False if it must not be."""
        ends = self._ends.get(number, 0)
        if ends >= _MAX_ENDS:
            return False
        self._write(number, ends + 1)
        return True

    def end(self, number: int) -> None:
        """Note that a page was read."""
        if number in self._ends:
            self._ends[number] = 0
        self._write(number, 0)

    def _write(self, number: int, ends: int) -> None:
        # Always as many records, so that one write replaces them all.
        self._file.seek(0)
        self._file.write(b"".join(itertools.starmap(_RECORD.pack, ((number, ends), *self._ends.items()))))

    def close(self) -> None:
        """Close the file; what it says stays."""
        self._file.close()

    def remove(self) -> None:
        """Forget everything: all pages have been read."""
        self._file.close()
        os.unlink(self._path)


def _parse_ends(raw: bytes) -> dict[int, int]:
    """Return how many processes ended at each page; of two records of a page, the higher number counts."""
    ends: dict[int, int] = {}
    for number, count in _RECORD.iter_unpack(raw[: len(raw) // _RECORD.size * _RECORD.size]):
        ends[number] = max(count, ends.get(number, 0))
    return {number: count for number, count in ends.items() if count}
