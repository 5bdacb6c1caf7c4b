"""How many unpacked clusters libzim keeps, of all archives of the process."""

from __future__ import annotations

from libzim.reader import set_cluster_cache_max_size

_DEFAULT_BYTES = 16 << 20
_LARGE_BYTES = 24 << 20
"""Enough for the pages of a few searches, which often come from the same clusters; in memory, it takes 60 MB."""
_LARGE_CACHE_MEMORY_MIB = 1024
"""The memory limit that leaves room for it: a cluster keeps 8 MB (zstd) to 64 MB (lzma) for its decompressor."""


def enlarge_cluster_cache(memory_mib: int) -> None:
    """Let libzim keep more unpacked clusters, if the memory limit of the process allows it."""
    if memory_mib >= _LARGE_CACHE_MEMORY_MIB:
        set_cluster_cache_max_size(_LARGE_BYTES)


def reduce_cluster_cache() -> None:
    """Let libzim keep as many unpacked clusters as by default, and drop the others."""
    set_cluster_cache_max_size(_DEFAULT_BYTES)
