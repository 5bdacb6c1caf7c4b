"""Which PDF is being read, for the server: PDFium may end the process on a hostile file.

The server leaves a PDF that did so out of the calls that follow, and nothing else of its archive.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from openzim_mcp.worker.readers.pdf.file import PdfUnreadable

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator

_CRASHED = "This PDF is damaged: reading it ended the program that reads it. It is left out from now on."


class CrashReporter:
    """Tells the server before and after PDFium reads, and refuses what has crashed."""

    def __init__(self) -> None:
        self._tell: Callable[[str], None] = lambda _path: None
        self._crashed: Collection[str] = ()

    def start_call(self, tell: Callable[[str], None], crashed: Collection[str]) -> None:
        """Start a call: `tell` is given the path of the PDF that is being read, or nothing after it was."""
        self._tell = tell
        self._crashed = crashed

    def has_crashed(self, path: str) -> bool:
        """Return whether reading the PDF at a path ended a process."""
        return path in self._crashed

    @contextlib.contextmanager
    def reading(self, path: str) -> Iterator[None]:
        """Raise `PdfUnreadable` if the PDF at a path crashed before; the block reads it."""
        if self.has_crashed(path):
            raise PdfUnreadable(_CRASHED)
        self._tell(path)
        try:
            yield
        finally:
            self._tell("")


crash_reporter = CrashReporter()
"""A worker runs one call at a time."""
