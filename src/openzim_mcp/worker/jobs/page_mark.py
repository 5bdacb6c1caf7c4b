"""Which page a job is reading, in a file that outlives the process: a page that ends it twice is left out."""

from __future__ import annotations

import os
import struct

_FORMAT = struct.Struct("<QQ")
_MAX_DEATHS = 2
"""A process may be killed for other reasons, hardly twice while it reads the same page."""


class PageMark:
    """The number of the page that is being read, and how many processes have begun to read it and not the next."""

    def __init__(self, path: str) -> None:
        """Open the mark, or raise `OSError`; `suspect` is the page that was being read when a process ended."""
        self._path = path
        self._file = open(os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)), "r+b", buffering=0)  # noqa: SIM115
        raw = self._file.read(_FORMAT.size)
        self.suspect, self._deaths = _FORMAT.unpack(raw) if len(raw) == _FORMAT.size else (None, 0)

    def begin(self, page: int) -> bool:
        """Note that a page is being read; False if it must not be."""
        deaths = self._deaths if page == self.suspect else 0
        if deaths >= _MAX_DEATHS:
            return False
        self._file.seek(0)
        self._file.write(_FORMAT.pack(page, deaths + 1))
        return True

    def close(self) -> None:
        """Close the file; what it says stays."""
        self._file.close()

    def remove(self) -> None:
        """Forget everything: all pages have been read."""
        self._file.close()
        os.unlink(self._path)
