from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.worker.jobs import entry_walk
from openzim_mcp.worker.jobs.entry_walk import NUMBER_BITS, walk_entries
from openzim_mcp.worker.zim import Archive
from openzim_mcp.zimfile import EntryRecord
from support.archives import write_zim

NAMES = [f"Page {number}" for number in range(20)]


def ignore_progress(_done: int, _of: int) -> None:
    pass


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    pages = dict.fromkeys(NAMES, "<p>text</p>") | {"list.csv": "a,b"}
    redirects = {"First": "Page 0", "Again": "First", "Loop": "Loop"}
    return Archive("pages", [str(write_zim(tmp_path / "pages.zim", pages, redirects=redirects))])


@pytest.fixture
def database() -> Iterator[sqlite3.Connection]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as database:
        database.executescript(entry_walk.SCHEMA)
        yield database


def check(archive: Archive, database: sqlite3.Connection) -> None:
    numbers, pages = walk_entries(archive, database, lambda: None, ignore_progress)

    found = [page & ((1 << NUMBER_BITS) - 1) for page in pages]
    assert {archive.path_by_id(number) for number in found} == set(NAMES)
    assert list(pages) == sorted(pages)
    assert {name: numbers.find(name) for name in NAMES} == {name: archive.number_of(name) for name in NAMES}
    assert numbers.find("First") == numbers.find("Again") == archive.number_of("Page 0")
    assert numbers.find("list.csv") == archive.number_of("list.csv")
    assert numbers.find("Missing") is None


def test_walk_finds_paths_and_pages(archive: Archive, database: sqlite3.Connection) -> None:
    check(archive, database)


def test_walk_that_was_ended_goes_on_at_the_next_block(
    archive: Archive, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_walk, "_BLOCK_ENTRIES", 4)
    monkeypatch.setattr(entry_walk, "_PARTS_PER_COMMIT", 1)
    records, sort = Archive.records, entry_walk._sorted_bytes
    blocks: list[int] = []
    steps = 0

    def count_step() -> None:
        nonlocal steps
        steps += 1
        if steps > 12:
            raise KeyboardInterrupt

    def read_records(self: Archive, start: int = 0, stop: int | None = None) -> Iterator[EntryRecord]:
        count_step()
        blocks.append(start // 4)
        yield from records(self, start, stop)

    def sort_numbers(numbers: Iterator[int]) -> bytes:
        count_step()
        return sort(numbers)

    ended = 0
    with monkeypatch.context() as patch:
        patch.setattr(Archive, "records", read_records)
        patch.setattr(entry_walk, "_sorted_bytes", sort_numbers)
        while True:
            steps = 0
            try:
                walk_entries(archive, database, lambda: None, ignore_progress)
            except KeyboardInterrupt:
                ended += 1
                database.rollback()
            else:
                break

    assert ended > 2
    assert blocks == sorted(blocks)
    assert len(blocks) < 2 * len(set(blocks))
    check(archive, database)


def test_entries_that_were_walked_are_not_read_again(
    archive: Archive, database: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    walk_entries(archive, database, lambda: None, ignore_progress)
    monkeypatch.setattr(Archive, "records", lambda *_: pytest.fail("records are read again"))

    check(archive, database)


def test_entries_of_a_replaced_file_are_not_kept(archive: Archive, database: sqlite3.Connection) -> None:
    def fail() -> None:
        raise errors.ArchiveChanged("replaced")

    with pytest.raises(errors.ArchiveChanged):
        walk_entries(archive, database, fail, ignore_progress)
    database.rollback()

    assert database.execute("SELECT count(*) FROM entry_targets").fetchone() == (0,)
    check(archive, database)
