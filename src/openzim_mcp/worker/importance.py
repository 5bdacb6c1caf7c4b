"""How important the articles of an archive are, by how many redirects and links lead to each.

Names of a thing become redirects: what is much talked about has many. No page is read for it. The levels by redirects,
a byte per entry, are computed when they are needed or, for a large archive, by a job that keeps them in the cache.
Links count once the pages have been scanned (`link_index.py`).
"""

from __future__ import annotations

import contextlib
import heapq
import math
import mmap
import os
import time
from array import array
from typing import TYPE_CHECKING

from openzim_mcp import files
from openzim_mcp.calls.archive import MeasureImportance
from openzim_mcp.worker.link_index import load_in_degrees

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from openzim_mcp.zimfile import Identity

MAX_LEVEL = 255
_FILE_NAME = "importance"
_MAX_REDIRECTS = 65_535
_MAX_COMPARED_ENTRIES = 50_000
_RETRY_SECONDS = 5
_LEVEL_BY_COUNT_LOG = MAX_LEVEL / math.log2(1 + _MAX_REDIRECTS)


def level(count: int) -> float:
    """Return the level, 0 to 255, of an entry that so many redirects or links lead to."""
    return _LEVEL_BY_COUNT_LOG * math.log2(1 + count)


def compute_levels(targets: Iterable[int], entries: int) -> bytes:
    """Return the level of each entry, 0 to 255 on a logarithmic scale, from the numbers of the targets of redirects."""
    counts = array("H", bytes(2 * entries))
    for target in targets:
        if counts[target] < _MAX_REDIRECTS:
            counts[target] += 1
    level_by_count = {count: round(level(count)) for count in set(counts)}
    return bytes(map(level_by_count.__getitem__, counts))


def _levels_path(identity: Identity) -> str:
    return os.path.join(files.archives_directory(), identity, _FILE_NAME)


def save_levels(identity: Identity, levels: bytes) -> None:
    """Keep the levels for every process of this user, or raise `OSError`."""
    files.write_atomic(_levels_path(identity), levels)


def load_levels(identity: Identity, entries: int) -> mmap.mmap | None:
    """Return the levels that a job has kept, mapped into memory, or None."""
    with contextlib.suppress(OSError, ValueError), open(_levels_path(identity), "rb") as file:
        levels = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return levels if len(levels) == entries else None
    return None


class ImportanceLevels:
    """The levels of the entries of an archive, 0 to 255, as far as they are known."""

    def __init__(
        self, identity: Identity, entries: int, read_redirects: Callable[[], Iterable[tuple[int, int]]]
    ) -> None:
        self._identity = identity
        self._entries = entries
        self._read_redirects = read_redirects
        self._by_redirects: bytes | mmap.mmap = b""
        self._in_degrees: memoryview | None = None
        self._load_at = 0.0

    def find(self, number: int) -> float:
        """Return the level of an entry; 0 if nothing is known of it."""
        self._load()
        return self._find(number)

    def find_highest(self, numbers: range, count: int) -> list[int]:
        """Return the numbers of the entries with the highest levels among some; the first, if nothing is known."""
        self._load()
        if not self._by_redirects and self._in_degrees is None:
            return list(numbers[:count])
        return heapq.nlargest(count, numbers[:_MAX_COMPARED_ENTRIES], key=self._find)

    def _find(self, number: int) -> float:
        by_redirects = self._by_redirects[number] if self._by_redirects else 0
        by_links = level(self._in_degrees[number]) if self._in_degrees is not None else 0.0
        return max(by_redirects, by_links)

    def _load(self) -> None:
        """Load what is known, every few seconds until jobs have kept all of it."""
        if time.monotonic() < self._load_at:
            return
        self._load_at = time.monotonic() + _RETRY_SECONDS
        if self._in_degrees is None:
            self._in_degrees = load_in_degrees(self._identity, self._entries)
        if self._by_redirects:
            return
        if self._entries < MeasureImportance.min_entries:
            self._by_redirects = compute_levels((target for _, target in self._read_redirects()), self._entries)
        else:
            self._by_redirects = load_levels(self._identity, self._entries) or b""
