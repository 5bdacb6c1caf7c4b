"""Which pages link to an entry: tables of the index of pages (`page_index.py`), and a file with the in-degrees.

    found_links   bucket, part, edges      links by target, as the job `ScanPages` finds them; until all pages are read
    inbound_links first, edges             all links in order; `first` is the first edge of the row
    bucket_counts bucket, counts           how many pages link to the entries of a bucket, while `inbound_links` is made
    link_counts   counts                   where the lists are not kept: how many pages link to each entry, until then
    many_links    target, pages            in-degrees that two bytes cannot hold

An edge is a number: the target's number above that of the page that links to it (32 bits each). A row of edges has the
differences between one edge and the next, split into bytes of the same weight, packed: 2 to 3 bytes per link.
`in_degree`, beside the index, has two bytes per entry, and is mapped into memory.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sqlite3
import sys
import zlib
from array import array
from dataclasses import dataclass
from itertools import accumulate
from operator import sub
from typing import TYPE_CHECKING

from openzim_mcp import files, page_index

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.zimfile import Identity

SCHEMA = """
CREATE TABLE IF NOT EXISTS found_links (bucket INTEGER, part INTEGER, edges BLOB, PRIMARY KEY (bucket, part));
CREATE TABLE IF NOT EXISTS inbound_links (first INTEGER PRIMARY KEY, edges BLOB);
CREATE TABLE IF NOT EXISTS bucket_counts (bucket INTEGER PRIMARY KEY, counts BLOB);
CREATE TABLE IF NOT EXISTS link_counts (counts BLOB);
CREATE TABLE IF NOT EXISTS many_links (target INTEGER PRIMARY KEY, pages INTEGER);
"""
NUMBER_BITS = 32
NUMBER_MASK = (1 << NUMBER_BITS) - 1
_IN_DEGREE_FILE = "in_degree"
MAX_IN_DEGREE = 0xFFFF
_EDGE_BYTES = 8
_MAX_BUCKETS = 256
_ENTRIES_PER_BUCKET = 4096
DAMAGED = (sqlite3.Error, OSError, ValueError, zlib.error)
"""What reading a damaged index may raise."""


def bucket_size(entry_count: int) -> int:
    """Return how many entries share a row of `found_links`."""
    return max(_ENTRIES_PER_BUCKET, entry_count // _MAX_BUCKETS + 1)


def pack_edges(edges: Sequence[int], level: int = -1) -> bytes:
    """Return sorted edges in few bytes."""
    raw = array("Q", [edges[0], *map(sub, edges[1:], edges)]).tobytes()
    return zlib.compress(b"".join(raw[weight::_EDGE_BYTES] for weight in range(_EDGE_BYTES)), level)


def unpack_edges(packed: bytes) -> Iterable[int]:
    """Return the edges of a row."""
    planes = zlib.decompress(packed)
    count = len(planes) // _EDGE_BYTES
    raw = bytearray(len(planes))
    for weight in range(_EDGE_BYTES):
        raw[weight::_EDGE_BYTES] = planes[weight * count : (weight + 1) * count]
    return accumulate(array("Q", bytes(raw)))


def targets_of(edges: Sequence[int]) -> array[int]:
    """Return the targets of some edges: the upper half of each number."""
    return array("I", array("Q", edges).tobytes())[sys.byteorder == "little" :: 2]


def save_in_degrees(identity: Identity, counts: Iterable[int]) -> None:
    """Keep the in-degree of each entry, or raise `OSError`."""
    degrees = array("H", [min(count, MAX_IN_DEGREE) for count in counts])
    files.write_atomic(_in_degree_path(identity), degrees.tobytes())


def _in_degree_path(identity: Identity) -> str:
    return os.path.join(files.archives_directory(), identity, _IN_DEGREE_FILE)


def load_in_degrees(identity: Identity, entries: int) -> memoryview | None:
    """Return the in-degree of each entry, mapped into memory; None if they are not known."""
    with contextlib.suppress(OSError, ValueError), open(_in_degree_path(identity), "rb") as file:
        degrees = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)).cast("H")
        return degrees if len(degrees) == entries else None
    return None


@dataclass(frozen=True)
class InboundLinks:
    """The pages that link to an entry, as far as they are known; `sources` is None where lists are not kept."""

    total: int
    sources: list[int] | None
    is_complete: bool
    done: int
    of: int


def read_inbound(identity: Identity, entries: int, target: int) -> InboundLinks | None:
    """Return the pages that link to an entry; None if nothing is known, or the index is damaged."""
    with contextlib.suppress(*DAMAGED), page_index.opened(identity) as database:
        state = page_index.read_state_of(database) if database is not None else None
        if database is not None and state is not None:
            sources = _read_sources(database, entries, target, is_complete=state.is_complete)
            if state.is_complete:
                total = len(sources) if sources is not None else _read_in_degree(database, identity, entries, target)
            else:
                total = len(sources or ())
            return InboundLinks(total, sources, state.is_complete, state.done, state.of)
    return None


def _read_sources(database: sqlite3.Connection, entries: int, target: int, *, is_complete: bool) -> list[int] | None:
    if page_index.read_property(database, "links") == "counted":
        return None
    first, last = target << NUMBER_BITS, target << NUMBER_BITS | NUMBER_MASK
    rows = database.execute(
        "SELECT edges FROM inbound_links WHERE first <= ? AND first >= "
        "(SELECT ifnull(max(first), 0) FROM inbound_links WHERE first <= ?) ORDER BY first",
        (last, first),
    ).fetchall()
    if not is_complete:
        found = database.execute("SELECT edges FROM found_links WHERE bucket = ?", (target // bucket_size(entries),))
        rows += found.fetchall()
    return [edge & NUMBER_MASK for (packed,) in rows for edge in unpack_edges(packed) if first <= edge <= last]


def _read_in_degree(database: sqlite3.Connection, identity: Identity, entries: int, target: int) -> int:
    row = database.execute("SELECT pages FROM many_links WHERE target = ?", (target,)).fetchone()
    degrees = load_in_degrees(identity, entries)
    return int(row[0]) if row else degrees[target] if degrees else 0
