"""Paths of entries by number, read in blocks of neighbours: a bisection then takes two reads instead of many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cachetools import LRUCache

from openzim_mcp.zimfile import landmark_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from openzim_mcp.zimfile import RecordBlock, ZimFile

_MAX_BLOCK_ENTRIES = 2048
"""Of up to two million entries, a block has all between two landmarks; a larger one would take more than two reads."""
_MAX_KEPT_BLOCKS = 32
"""About 5 MB."""


class PathBlocks:
    """Reads the paths between two landmarks at once, where these are near enough to each other.

    `read_path` is asked for a path that is in no block: where a record is damaged, or its neighbours are elsewhere.
    """

    def __init__(self, file: ZimFile, read_path: Callable[[int], str], prefix: str) -> None:
        self._file = file
        self._header = file.header()
        self._read_path = read_path
        self._prefix = prefix
        self._entries = min(_MAX_BLOCK_ENTRIES, landmark_numbers(self._header.entry_count).step)
        self._blocks: LRUCache[int, RecordBlock | None] = LRUCache(_MAX_KEPT_BLOCKS)

    def path(self, number: int) -> str:
        """Return the path of an entry, with the prefix that all paths have."""
        start = number // self._entries * self._entries
        if start not in self._blocks:
            stop = min(start + self._entries, self._header.entry_count)
            self._blocks[start] = self._file.read_block(self._header, range(start, stop))
        block = self._blocks[start]
        path = block.path(number) if block else None
        return self._read_path(number) if path is None else self._prefix + path
