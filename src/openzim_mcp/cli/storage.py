"""How long a read at a random place of a disk takes: most of what a question costs on a cold disk."""

from __future__ import annotations

import contextlib
import os
import random
import statistics
import time

_READS = 24
_READ_BYTES = 4096
_MIN_FILE_BYTES = 64 << 20
"""A smaller file is in memory after a few calls."""
READS_OF_QUESTION = 300
"""About how many reads the first question about something takes in a large archive; see `docs/large-archives.md`."""


def find_largest_archive(directory: str) -> str | None:
    """Return the largest archive right in a directory, if it is large."""
    with contextlib.suppress(OSError), os.scandir(directory) as entries:
        archives = [(entry.stat().st_size, entry.path) for entry in entries if ".zim" in entry.name and entry.is_file()]
        size, path = max(archives, default=(0, ""))
        return path if size >= _MIN_FILE_BYTES else None
    return None


def measure_read_seconds(path: str) -> float | None:
    """Return the median time of reads at random places that are dropped from memory first; None if unknown."""
    if not hasattr(os, "posix_fadvise"):
        return None
    with contextlib.suppress(OSError), open(path, "rb", buffering=0) as file:
        descriptor = file.fileno()
        size = os.fstat(descriptor).st_size
        # Else each read would bring a part of the file that a later one asks for.
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_RANDOM)
        seconds = []
        for _ in range(_READS):
            offset = random.randrange(max(1, size // _READ_BYTES)) * _READ_BYTES  # noqa: S311  not a secret
            os.posix_fadvise(descriptor, offset, _READ_BYTES, os.POSIX_FADV_DONTNEED)
            started = time.perf_counter()
            os.pread(descriptor, _READ_BYTES, offset)
            seconds.append(time.perf_counter() - started)
        return statistics.median(seconds)
    return None
