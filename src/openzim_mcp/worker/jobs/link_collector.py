"""Collects the links between the entries of an archive; `worker/link_index.py` describes what is kept."""

from __future__ import annotations

import posixpath
import re
import zlib
from array import array
from bisect import bisect_left
from collections import Counter
from itertools import chain
from typing import TYPE_CHECKING, ClassVar, cast
from urllib.parse import unquote

from openzim_mcp import page_index
from openzim_mcp.worker import link_index
from openzim_mcp.worker.link_index import NUMBER_BITS, bucket_size, pack_edges, targets_of, unpack_edges
from openzim_mcp.worker.readers.html.hrefs import Unsure, find_hrefs, find_links, href_of
from openzim_mcp.worker.readers.html.links import LinkResolver

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence

    from openzim_mcp.calls.archive import ScanPages
    from openzim_mcp.worker.entry_numbers import EntryNumbers
    from openzim_mcp.worker.zim import Archive

_MAX_KNOWN_LINKS = 100_000
_MAX_EDGES = 500_000
"""So many links are held in memory at most."""
_EDGES_PER_ROW = 4096
_FAST = 1
"""How much time is spent to pack what is packed again at the end."""
_OF_PAGE = ("#", "?")
"""An href that starts so depends on the page, not only on its folder."""
_PLAIN_HREF = re.compile(r"(?:\./)?([!$%'()*+,.0-9;=@A-Z_a-z~-]+)(?:#.*)?")


class LinkCollector:
    """Collects each link once: the page that it stands on, and the entry that it leads to."""

    schema: ClassVar[str] = link_index.SCHEMA

    def __init__(self, archive: Archive, numbers: EntryNumbers, database: sqlite3.Connection, job: ScanPages) -> None:
        self._identity = archive.identity
        self._entry_count = archive.entry_count
        self._numbers = numbers
        self._database = database
        self._max_bytes = job.max_mb * 1_000_000
        self._edges = array("Q")
        self._folder = self._prefix = ""
        self._known_links: dict[bytes, int | None] = {}
        """The entries that the links of pages in `_folder` lead to."""
        self._part: int = self._query("SELECT ifnull(max(part), 0) FROM found_links")
        self._bytes: int = self._query("SELECT ifnull(sum(length(edges)), 0) FROM found_links")
        self._counts = self._load_counts()
        """How many pages link to each entry, where the lists are not kept."""

    def _query(self, query: str) -> int:
        return int(self._database.execute(query).fetchone()[0])

    def add(self, entry_id: int, path: str, raw: bytes) -> None:
        """Take the links of a page."""
        targets = self._find_targets(path, raw)
        targets.discard(entry_id)
        self._edges.extend([target << NUMBER_BITS | entry_id for target in targets])
        if len(self._edges) > _MAX_EDGES:
            self.save()

    def _find_targets(self, path: str, raw: bytes) -> set[int]:
        try:
            return self._look_up_links(path, find_links(raw))
        except Unsure:
            base, hrefs = find_hrefs(raw)
            resolver = LinkResolver(path, base)
            numbers = {self._find_target(resolver, href) for href in hrefs}
            return {number for number in numbers if number is not None}

    def _look_up_links(self, path: str, links: dict[bytes, None]) -> set[int]:
        """Return the numbers of the entries that links lead to, or raise `Unsure`."""
        self._enter_folder(posixpath.dirname(path))
        known = self._known_links
        resolver = LinkResolver(path)
        of_page: set[int | None] = {None}
        for link in set(links).difference(known):
            href = href_of(link)
            if href is None:
                continue
            number = self._find_neighbour(href)
            if number is None:
                number = self._find_target(resolver, href)
            if href.lstrip().startswith(_OF_PAGE):
                of_page.add(number)
            else:
                known[link] = number
        return cast("set[int]", of_page.union(map(known.get, links)) - {None})

    def _enter_folder(self, folder: str) -> None:
        if folder != self._folder or len(self._known_links) > _MAX_KNOWN_LINKS:
            self._folder, self._known_links = folder, {}
            self._prefix = "".join(f"{part}/" for part in folder.split("/") if part)

    def _find_neighbour(self, href: str) -> int | None:
        """Return the number of an entry in the folder, as most links name it; None if it must be looked for."""
        plain = _PLAIN_HREF.fullmatch(href)
        return self._numbers.find(self._prefix + unquote(plain[1])) if plain else None

    def _find_target(self, resolver: LinkResolver, href: str) -> int | None:
        """Return the number of the entry that an href leads to; None if it leads out of the archive or nowhere."""
        resolved = resolver.resolve(href)
        if resolved is None or resolved[0] == "external" or href.startswith("#"):
            return None
        target = resolved[1]
        without_query = target.partition("?")[0]
        spellings = dict.fromkeys((target, unquote(target), without_query, unquote(without_query)))
        numbers = (self._numbers.find(spelling) for spelling in spellings if spelling)
        return next((number for number in numbers if number is not None), None)

    def save(self) -> None:
        """Write the links that were found, sorted, into the rows of their targets."""
        edges = sorted(self._edges)
        self._edges = array("Q")
        if not edges:
            return
        if self._counts is not None:
            self._count(edges)
            self._save_counts()
            return
        self._part += 1
        size = bucket_size(self._entry_count)
        start = 0
        while start < len(edges):
            bucket = (edges[start] >> NUMBER_BITS) // size
            stop = bisect_left(edges, (bucket + 1) * size << NUMBER_BITS, start)
            packed = pack_edges(edges[start:stop], _FAST)
            self._bytes += len(packed)
            self._database.execute("INSERT INTO found_links VALUES (?, ?, ?)", (bucket, self._part, packed))
            start = stop
        if self._bytes > self._max_bytes:
            self._drop_lists()

    def _drop_lists(self) -> None:
        """Only count from now on, as the lists take too much."""
        self._counts = array("I", bytes(4 * self._entry_count))
        for bucket in self._buckets():
            self._count(self._read_bucket(bucket))
        self._database.execute("DELETE FROM found_links")
        page_index.write_property(self._database, "links", "counted")
        self._save_counts()

    def _count(self, edges: Sequence[int]) -> None:
        assert self._counts is not None
        for target, count in Counter(targets_of(edges)).items():
            self._counts[target] += count

    def _load_counts(self) -> array[int] | None:
        row = self._database.execute("SELECT counts FROM link_counts").fetchone()
        return array("I", zlib.decompress(row[0])) if row else None

    def _save_counts(self) -> None:
        assert self._counts is not None
        self._database.execute("DELETE FROM link_counts")
        self._database.execute("INSERT INTO link_counts VALUES (?)", (zlib.compress(self._counts.tobytes(), 1),))

    def _buckets(self) -> list[int]:
        return [bucket for (bucket,) in self._database.execute("SELECT DISTINCT bucket FROM found_links")]

    def _read_bucket(self, bucket: int) -> list[int]:
        rows = self._database.execute("SELECT edges FROM found_links WHERE bucket = ?", (bucket,))
        return sorted(chain.from_iterable(unpack_edges(packed) for (packed,) in rows))

    def finish(self, commit: Callable[[], None]) -> None:
        """Write all links in the order of their targets, and how many lead to each entry."""
        for bucket in self._buckets() if self._counts is None else ():
            self._merge_bucket(bucket)
            commit()
        counts = self._counts or self._merged_counts()
        many = ((target, count) for target, count in enumerate(counts) if count >= link_index.MAX_IN_DEGREE)
        self._database.executemany("INSERT INTO many_links VALUES (?, ?)", many)
        for table in ("found_links", "link_counts", "bucket_counts"):
            self._database.execute(f"DROP TABLE {table}")
        link_index.save_in_degrees(self._identity, counts)

    def _merge_bucket(self, bucket: int) -> None:
        edges = self._read_bucket(bucket)
        for start in range(0, len(edges), _EDGES_PER_ROW):
            row = edges[start : start + _EDGES_PER_ROW]
            self._database.execute("INSERT INTO inbound_links VALUES (?, ?)", (row[0], pack_edges(row)))
        size = bucket_size(self._entry_count)
        counts = array("I", bytes(4 * size))
        for target, count in Counter(targets_of(edges)).items():
            counts[target - bucket * size] = count
        packed = zlib.compress(counts.tobytes(), _FAST)
        self._database.execute("INSERT INTO bucket_counts VALUES (?, ?)", (bucket, packed))
        self._database.execute("DELETE FROM found_links WHERE bucket = ?", (bucket,))

    def _merged_counts(self) -> array[int]:
        size = bucket_size(self._entry_count)
        counts = array("I", bytes(4 * size * -(-self._entry_count // size)))
        for bucket, packed in self._database.execute("SELECT bucket, counts FROM bucket_counts"):
            counts[bucket * size : (bucket + 1) * size] = array("I", zlib.decompress(packed))
        return counts[: self._entry_count]
