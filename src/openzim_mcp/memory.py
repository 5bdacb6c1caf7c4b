"""How the C library manages the memory of this process."""

from __future__ import annotations

import contextlib
import ctypes
import sys

_M_MMAP_THRESHOLD = -3
_SEPARATE_BLOCK_BYTES = 256 * 1024


def return_large_blocks() -> None:
    """Let the C library return the memory of large blocks to the system as soon as they are freed (glibc).

    Otherwise it raises its threshold for separate blocks to the largest one that was freed, up to 32 MiB: a process
    that has once held large responses, or the windows of many decompressors, would keep that memory.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, _SEPARATE_BLOCK_BYTES)
