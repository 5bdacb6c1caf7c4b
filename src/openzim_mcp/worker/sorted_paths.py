"""The paths of an archive as a sorted list: which ones start with a prefix, by bisection."""

from __future__ import annotations

import bisect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MAX_KEPT_PATHS = 10_000
_MAX_KEPT_PREFIXES = 1000
_SHORT_PREFIX_CHARS = 3
"""A namespace with its slash, and a letter."""
_LAST_CHARACTER = "\U0010ffff"


class SortedPaths:
    """Finds entries by the start of their path; the paths that bisections ask for most are kept."""

    def __init__(self, read_path: Callable[[int], str], numbers: range) -> None:
        self._read_path = read_path
        self._numbers = numbers
        self._paths: dict[int, str] = {}
        self._numbers_by_short_prefix: dict[str, range] = {}

    def find_prefix(self, prefix: str, within: range | None = None) -> range:
        """Return the numbers of the entries, or of those `within`, whose paths start with a prefix."""
        numbers = self._find_short_prefix(prefix[:_SHORT_PREFIX_CHARS]) if within is None else within
        return self._bisect(prefix, numbers) if numbers else numbers

    def _find_short_prefix(self, prefix: str) -> range:
        numbers = self._numbers_by_short_prefix.get(prefix)
        if numbers is None:
            if len(self._numbers_by_short_prefix) >= _MAX_KEPT_PREFIXES:
                self._numbers_by_short_prefix.clear()
            numbers = self._numbers_by_short_prefix[prefix] = self._bisect(prefix, self._numbers)
        return numbers

    def _bisect(self, prefix: str, numbers: range) -> range:
        start = bisect.bisect_left(numbers, prefix, key=self._path)
        # Few paths start with the words of a title, so the end is looked for nearby, in growing steps.
        stop, step = start, 1
        while stop < len(numbers) and self._path(numbers[stop]).startswith(prefix):
            stop, step = stop + step, step * 2
        if stop == start:
            return range(0)
        low = max(start, stop - step // 2)
        stop = bisect.bisect_left(numbers, prefix + _LAST_CHARACTER, low, min(stop, len(numbers)), key=self._path)
        return numbers[start:stop]

    def _path(self, number: int) -> str:
        path = self._paths.get(number)
        if path is None:
            if len(self._paths) >= _MAX_KEPT_PATHS:
                self._paths.clear()
            path = self._paths[number] = str(self._read_path(number))
        return path
