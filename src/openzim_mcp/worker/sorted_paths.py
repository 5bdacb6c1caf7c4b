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
    """Finds entries by the start of their path; the paths that bisections ask for most are kept.

    `landmarks` are the paths of some of the entries, in their order: a bisection reads only between two of them.
    """

    def __init__(
        self, read_path: Callable[[int], str], numbers: range, landmarks: dict[int, str] | None = None
    ) -> None:
        self._read_path = read_path
        self._numbers = numbers
        known = {number: path for number, path in (landmarks or {}).items() if number in numbers}
        self._landmark_numbers, self._landmarks = list(known), list(known.values())
        self._paths: dict[int, str] = {}
        self._numbers_by_short_prefix: dict[str, range] = {}

    def find_prefix(self, prefix: str, within: range | None = None) -> range:
        """Return the numbers of the entries, or of those `within`, whose paths start with a prefix."""
        if within is None:
            within = self._numbers if self._landmarks else self._find_short_prefix(prefix[:_SHORT_PREFIX_CHARS])
        return self._bisect(prefix, within) if within else within

    def range_around(self, path: str) -> range:
        """Return the numbers of the entries between the two landmarks around a path."""
        at = bisect.bisect_right(self._landmarks, path)
        low = self._landmark_numbers[at - 1] if at else self._numbers.start
        high = self._landmark_numbers[at] + 1 if at < len(self._landmarks) else self._numbers.stop
        return range(low, high)

    def _find_short_prefix(self, prefix: str) -> range:
        numbers = self._numbers_by_short_prefix.get(prefix)
        if numbers is None:
            if len(self._numbers_by_short_prefix) >= _MAX_KEPT_PREFIXES:
                self._numbers_by_short_prefix.clear()
            numbers = self._numbers_by_short_prefix[prefix] = self._bisect(prefix, self._numbers)
        return numbers

    def _bisect(self, prefix: str, numbers: range) -> range:
        start = self._bisect_left(numbers, prefix)
        if self._landmarks:
            return numbers[start : self._bisect_left(numbers, prefix + _LAST_CHARACTER, start)] or range(0)
        # Few paths start with the words of a title, so the end is looked for nearby, in growing steps.
        stop, step = start, 1
        while stop < len(numbers) and self._path(numbers[stop]).startswith(prefix):
            stop, step = stop + step, step * 2
        if stop == start:
            return range(0)
        low = max(start, stop - step // 2)
        stop = self._bisect_left(numbers, prefix + _LAST_CHARACTER, low, min(stop, len(numbers)))
        return numbers[start:stop]

    def _bisect_left(self, numbers: range, path: str, low: int = 0, high: int | None = None) -> int:
        """Return the position of the first entry whose path is not before another; the landmarks are asked first."""
        high = len(numbers) if high is None else high
        at = bisect.bisect_left(self._landmarks, path)
        if at:
            low = max(low, min(high, self._landmark_numbers[at - 1] + 1 - numbers.start))
        if at < len(self._landmarks):
            high = max(low, min(high, self._landmark_numbers[at] - numbers.start))
        return bisect.bisect_left(numbers, path, low, high, key=self._path)

    def _path(self, number: int) -> str:
        path = self._paths.get(number)
        if path is None:
            if len(self._paths) >= _MAX_KEPT_PATHS:
                self._paths.clear()
            path = self._paths[number] = str(self._read_path(number))
        return path
