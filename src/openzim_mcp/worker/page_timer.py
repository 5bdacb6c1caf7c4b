"""How long reading one page may take, so that a slow page costs itself and not the call that came across it.

A page gets a share of the time that is left for the call: after any number of slow pages, some time is left for the
others. The limit interrupts Python code; in a call into libzim or the parser it waits for the return, and where the
system has no such timers, as on Windows, there is only the deadline of the whole call.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from typing import TYPE_CHECKING

from cachetools import LRUCache

from openzim_mcp import errors
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.worker.zim import Archive

_SHARE_OF_PAGE = 0.8
"""For a call that asks for this page."""
_SHARE_OF_PAGES = 0.25
"""For a call that reads many, such as a search."""
_LATE_SHARE = 0.4
"""From this share of its deadline on, a search asks for nothing more and returns what it has."""
_JOB_PAGE_SECONDS = 30.0
_LONG_READING_SECONDS = 0.8
"""How much processor time a search may take until it stops to read more pages of long documents."""
_REPEAT_SECONDS = 0.2
"""After this time the limit interrupts again: Python drops an exception that is raised in a destructor."""
_MIN_BUSY_SHARE = 0.1
"""The share of the limit that a page has to be busy to count as slow the next time: else the machine was."""

_has_timers = hasattr(signal, "setitimer")
_slow_pages: LRUCache[tuple[int, str], bool] = LRUCache(10_000)
"""By the serial number of the archive and the path."""


class _TimeIsUp(BaseException):
    """Not an `Exception`, so that nothing on the way takes it for a fault of the page."""


class PageTimer:
    """The time that pages may take in the call that runs now."""

    def __init__(self) -> None:
        self._ends_at: float | None = None
        self._late_at: float | None = None
        self.is_cut = False
        """Whether something was left out in this call because it was late."""
        self._share = _SHARE_OF_PAGE
        self._long_reading_until = math.inf

    def start_call(self, deadline_seconds: float, *, is_about_entry: bool) -> None:
        """Start a call with a deadline; 0 is a job without one."""
        now = time.monotonic()
        self._ends_at = now + deadline_seconds if deadline_seconds else None
        self._late_at = now + deadline_seconds * _LATE_SHARE if deadline_seconds else None
        self.is_cut = False
        self._share = _SHARE_OF_PAGE if is_about_entry else _SHARE_OF_PAGES
        self._long_reading_until = time.process_time() + _LONG_READING_SECONDS if deadline_seconds else math.inf

    def end_of_long_reading(self) -> float:
        """Return until which processor time a search may read one long document: others may follow it."""
        now = time.process_time()
        return now + max(0.0, self._long_reading_until - now) / 2

    def is_late(self) -> bool:
        """Return whether a call has to end with what it has, as after a part of its time on a slow disk."""
        is_late = self._late_at is not None and time.monotonic() > self._late_at
        self.is_cut |= is_late
        return is_late

    @contextlib.contextmanager
    def limit(self, archive: Archive, path: str) -> Iterator[None]:
        """Raise `EntryTooSlow` if the block, which reads a page, takes too long, or the page did so before."""
        if (archive.serial, path) in _slow_pages:
            raise _too_slow(archive, path)
        if not _has_timers or threading.current_thread() is not threading.main_thread():
            yield
            return
        seconds, busy_before = self._seconds_for_page(), time.process_time()
        previous = signal.signal(signal.SIGALRM, _raise_time_is_up)
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds, _REPEAT_SECONDS)
            try:
                yield
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
        except _TimeIsUp:
            signal.setitimer(signal.ITIMER_REAL, 0)  # it may have been raised once more in the line above
            if time.process_time() - busy_before >= _MIN_BUSY_SHARE * seconds:
                _slow_pages[archive.serial, path] = True
            raise _too_slow(archive, path) from None
        finally:
            signal.signal(signal.SIGALRM, previous)

    def _seconds_for_page(self) -> float:
        if self._ends_at is None:
            return _JOB_PAGE_SECONDS
        return max(0.001, (self._ends_at - time.monotonic()) * self._share)


def _raise_time_is_up(_number: int, _frame: object) -> None:
    raise _TimeIsUp


def _too_slow(archive: Archive, path: str) -> errors.EntryTooSlow:
    return errors.entry_too_slow(archive.name, safe_line(path, 200))


timer = PageTimer()
"""A worker runs one call at a time."""
