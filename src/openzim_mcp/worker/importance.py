"""How important the articles of an archive are by how many redirects lead to each, a byte per entry.

Names of a thing become redirects: what is much talked about has many. No page is read for it. The bytes are computed
when they are needed or, for a large archive, by a job that keeps them in the cache.
"""

from __future__ import annotations

import contextlib
import math
import mmap
import os
from array import array
from typing import TYPE_CHECKING

from openzim_mcp import files

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openzim_mcp.zimfile import Identity

MAX_LEVEL = 255
_FILE_NAME = "importance"
_MAX_REDIRECTS = 65_535
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
