"""The records of all entries, read once: where each path leads, and which pages there are.

What a walk finds is kept in tables of the index of pages until all pages are read, a block of entries at a time, so
that a job that was ended goes on at the next block. Once all blocks are there, the rows of each part become one, in
order: the next start only loads them.

    entry_paths    part, block, numbers   hashes of paths with the numbers of the entries, by the first bits of the hash
    entry_targets  block, numbers         by entry: its own number or, of a redirect, that of its target
    entry_pages    part, block, numbers   the pages, each below the number of its cluster, by the first bits of that
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.worker.entry_numbers import NO_ENTRY, EntryNumbers, hash_path
from openzim_mcp.worker.readers import is_page

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Iterable

    from openzim_mcp.worker.zim import Archive

SCHEMA = """
CREATE TABLE IF NOT EXISTS entry_paths (part INTEGER, block INTEGER, numbers BLOB, PRIMARY KEY (part, block));
CREATE TABLE IF NOT EXISTS entry_targets (block INTEGER PRIMARY KEY, numbers BLOB);
CREATE TABLE IF NOT EXISTS entry_pages (part INTEGER, block INTEGER, numbers BLOB, PRIMARY KEY (part, block));
"""
_BLOCK_ENTRIES = 65_536
_PARTS_PER_COMMIT = 32
_HASH_PART_SHIFT = 56
_PLACE_PART_SHIFT = 40
"""256 clusters share a part."""
_MERGED = -1
"""The block of a row that has the numbers of all blocks."""
NUMBER_BITS = 32


class Entries(NamedTuple):
    """What a walk found; the lower bits of a page are its number."""

    numbers: EntryNumbers
    pages: array[int]


def walk_entries(
    archive: Archive,
    database: sqlite3.Connection,
    require_same_file: Callable[[], None],
    report: Callable[[int, int], None],
) -> Entries:
    """Return the entries of an archive; what was read before is taken from the tables, and no transaction is open.

    `require_same_file` is called before a block is kept: it raises an error if the file is another one by then.
    """
    (known,) = database.execute("SELECT ifnull(max(block), -1) + 1 FROM entry_targets").fetchone()
    for block in range(known, -(-archive.entry_count // _BLOCK_ENTRIES)):
        database.execute("BEGIN")
        _add_block(archive, database, block)
        require_same_file()
        database.execute("COMMIT")
        report(0, archive.entry_count)
    for table in ("entry_paths", "entry_pages"):
        _merge_blocks(database, table)
    return _load(archive, database)


def remove_entries(database: sqlite3.Connection) -> None:
    """Remove what was kept: all pages have been read."""
    for table in ("entry_paths", "entry_targets", "entry_pages"):
        database.execute(f"DROP TABLE {table}")


def _add_block(archive: Archive, database: sqlite3.Connection, block: int) -> None:
    start = block * _BLOCK_ENTRIES
    stop = min(start + _BLOCK_ENTRIES, archive.entry_count)
    targets = array("I", [NO_ENTRY]) * (stop - start)
    paths, pages = array("Q"), array("Q")
    for record in archive.records(start, stop):
        is_redirect = record.mime_type is None
        targets[record.number - start] = record.place if is_redirect else record.number
        is_content = record.namespace == archive.content_namespace
        if is_content or not archive.has_new_scheme:
            name = record.path if archive.has_new_scheme else record.namespace.encode() + b"/" + record.path
            paths.append(hash_path(name, archive.entry_count) | record.number)
        if is_content and record.mime_type is not None and is_page(record.mime_type):
            pages.append(record.place << NUMBER_BITS | record.number)
    database.execute("INSERT INTO entry_targets VALUES (?, ?)", (block, targets.tobytes()))
    for table, numbers, shift in (("entry_paths", paths, _HASH_PART_SHIFT), ("entry_pages", pages, _PLACE_PART_SHIFT)):
        parts: defaultdict[int, list[int]] = defaultdict(list)
        for number in numbers:
            parts[number >> shift].append(number)
        rows = ((part, block, _sorted_bytes(of_part)) for part, of_part in parts.items())
        database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)  # noqa: S608


def _sorted_bytes(numbers: Iterable[int]) -> bytes:
    return array("Q", sorted(numbers)).tobytes()


def _merge_blocks(database: sqlite3.Connection, table: str) -> None:
    """Replace the rows of each part by one."""
    query = f"SELECT part FROM {table} GROUP BY part HAVING count(*) > 1"  # noqa: S608
    parts = [part for (part,) in database.execute(query)]
    for start in range(0, len(parts), _PARTS_PER_COMMIT):
        database.execute("BEGIN")
        for part in parts[start : start + _PARTS_PER_COMMIT]:
            rows = database.execute(f"SELECT numbers FROM {table} WHERE part = ?", (part,)).fetchall()  # noqa: S608
            merged = _sorted_bytes(chain.from_iterable(array("Q", numbers) for (numbers,) in rows))
            database.execute(f"DELETE FROM {table} WHERE part = ?", (part,))  # noqa: S608
            database.execute(f"INSERT INTO {table} VALUES (?, ?, ?)", (part, _MERGED, merged))  # noqa: S608
        database.execute("COMMIT")


def _load(archive: Archive, database: sqlite3.Connection) -> Entries:
    paths, targets, pages = array("Q"), array("I"), array("Q")
    for numbers, query in (
        (paths, "SELECT numbers FROM entry_paths ORDER BY part"),
        (targets, "SELECT numbers FROM entry_targets ORDER BY block"),
        (pages, "SELECT numbers FROM entry_pages ORDER BY part"),
    ):
        for (row,) in database.execute(query):
            numbers.frombytes(row)
    return Entries(EntryNumbers(paths, targets, has_new_scheme=archive.has_new_scheme), pages)
