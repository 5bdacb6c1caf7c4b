from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from openzim_mcp import errors, files, page_index
from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.page_index import PageIndexState
from openzim_mcp.worker.entry_numbers import EntryNumbers
from openzim_mcp.worker.jobs import page_scan
from openzim_mcp.worker.zim import Archive
from openzim_mcp.zimfile import stat_parts
from support.archives import TOWNS, write_zim

PAGES = ["Alderwick", "Ravenport", "Zürich"]


class Killed(BaseException):
    """The job is ended here."""


class Titles:
    """Keeps the paths of pages, and is killed at one of them."""

    schema: ClassVar[str] = "CREATE TABLE IF NOT EXISTS titles (entry INTEGER PRIMARY KEY, title TEXT);"
    killed_at: ClassVar[str | None] = None
    added: ClassVar[list[str]] = []

    def __init__(
        self, _archive: Archive, _numbers: EntryNumbers, database: sqlite3.Connection, _job: ScanPages
    ) -> None:
        self.database = database
        self.rows: list[tuple[int, str]] = []

    def add(self, entry_id: int, path: str, raw: bytes) -> None:
        assert raw == TOWNS[path].encode()
        if path == self.killed_at:
            raise Killed
        self.added.append(path)
        self.rows.append((entry_id, path))

    def save(self) -> None:
        self.database.executemany("INSERT INTO titles VALUES (?, ?)", self.rows)
        self.rows = []

    def finish(self, _commit: Callable[[], None]) -> None:
        self.database.execute("UPDATE titles SET title = upper(title)")


@pytest.fixture(autouse=True)
def titles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_scan, "COLLECTORS", (Titles,))
    monkeypatch.setattr(page_scan, "_FIRST_SAVE_SECONDS", 0)
    monkeypatch.setattr(page_scan, "_SAVE_SHARE", 0)
    monkeypatch.setattr(Titles, "added", [])


@pytest.fixture
def town_parts(tmp_path: Path) -> list[str]:
    return [str(write_zim(tmp_path / "towns.zim", TOWNS, redirects={"Port": "Ravenport"}))]


def scan(parts: list[str]) -> bool:
    return page_scan.scan_pages(parts, ScanPages(), lambda *_: None).is_complete


def state(parts: list[str]) -> PageIndexState | None:
    return page_index.read_state(stat_parts(parts).identity)


def rows(parts: list[str]) -> list[str]:
    with page_index.opened(stat_parts(parts).identity) as database:
        assert database is not None
        return [title for (title,) in database.execute("SELECT title FROM titles ORDER BY entry")]


@contextlib.contextmanager
def killed_at(path: str) -> Iterator[None]:
    Titles.killed_at = path
    try:
        with pytest.raises(Killed):
            yield
    finally:
        Titles.killed_at = None


def test_scan_reads_every_page_once(town_parts: list[str]) -> None:
    before = state(town_parts)

    assert scan(town_parts)
    assert scan(town_parts)

    assert before is None
    assert sorted(Titles.added) == PAGES
    assert rows(town_parts) == ["ALDERWICK", "RAVENPORT", "ZüRICH"]
    assert state(town_parts) == PageIndexState(is_complete=True, done=3, of=3)


def test_killed_scan_goes_on_where_it_was(town_parts: list[str]) -> None:
    with killed_at(PAGES[2]):
        scan(town_parts)
    known = state(town_parts), rows(town_parts)

    assert scan(town_parts)

    assert known == (PageIndexState(is_complete=False, done=2, of=3), ["Alderwick", "Ravenport"])
    assert sorted(Titles.added) == PAGES
    assert rows(town_parts) == ["ALDERWICK", "RAVENPORT", "ZüRICH"]


CRASHING_SCAN = """
import os, signal, sys
from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.worker.jobs import page_scan
from openzim_mcp.worker.jobs.link_collector import LinkCollector

def crash(self, entry_id, path, *page):
    if path == "Ravenport":
        os.kill(os.getpid(), signal.SIGSEGV)
    add(self, entry_id, path, *page)

add = LinkCollector.add
LinkCollector.add = crash
print(page_scan.scan_pages(sys.argv[1:], ScanPages(), lambda *_: None).skipped)
"""


@pytest.mark.skipif(os.name != "posix", reason="a signal ends the process")
def test_page_that_crashes_the_job_is_left_out(town_parts: list[str]) -> None:
    command = [sys.executable, "-c", CRASHING_SCAN, *town_parts]
    runs = [subprocess.run(command, check=False, capture_output=True) for _ in range(3)]

    assert [run.returncode for run in runs] == [-signal.SIGSEGV, -signal.SIGSEGV, 0]
    assert runs[-1].stdout.split() == [b"1"]
    assert state(town_parts) == PageIndexState(is_complete=True, done=3, of=3)


def test_page_is_not_left_out_for_being_killed_once(town_parts: list[str]) -> None:
    for path in PAGES:
        with killed_at(path):
            scan(town_parts)

    assert scan(town_parts)

    assert rows(town_parts) == ["ALDERWICK", "RAVENPORT", "ZüRICH"]


def test_pages_that_crash_are_left_out_one_after_the_other(
    town_parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_scan, "_FIRST_SAVE_SECONDS", 1000)
    for path in (PAGES[1], PAGES[1], PAGES[2], PAGES[2]):
        with killed_at(path):
            scan(town_parts)
    Titles.killed_at = PAGES[1]  # it is not read again

    try:
        result = page_scan.scan_pages(town_parts, ScanPages(), lambda *_: None)
    finally:
        Titles.killed_at = None

    assert result.is_complete
    assert rows(town_parts) == ["ALDERWICK"]


def test_scan_is_never_made_twice_at_once(town_parts: list[str]) -> None:
    path = page_index.index_path(stat_parts(town_parts).identity)
    os.makedirs(os.path.dirname(path))
    with open(f"{path}.lock", "wb") as lock:
        assert files.try_lock(lock.fileno())

        assert not scan(town_parts)

    assert Titles.added == []


def test_archive_replaced_during_the_scan_ends_it(
    town_parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identity = stat_parts(town_parts).identity
    other = write_zim(tmp_path / "other.zim", {"Ravenport": TOWNS["Ravenport"]})

    def replace_file(self: Titles) -> None:
        if self.added == PAGES[:1]:
            other.replace(town_parts[0])

    with monkeypatch.context() as patch:
        patch.setattr(Titles, "save", replace_file)
        with pytest.raises(errors.ArchiveChanged):
            scan(town_parts)
    Titles.added.clear()

    assert scan(town_parts)

    assert page_index.read_state(identity) == PageIndexState(is_complete=False, done=1, of=3)
    assert Titles.added == ["Ravenport"]
    assert rows(town_parts) == ["RAVENPORT"]


def test_cache_that_cannot_be_written_is_an_error(town_parts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/no/such/directory")
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", "/proc/no/such/directory")

    with pytest.raises(errors.FileNotWritable):
        scan(town_parts)


def test_full_disk_loses_only_what_was_not_saved(town_parts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: Titles) -> None:
        if len(self.added) == len(PAGES):
            raise sqlite3.OperationalError("database or disk is full")
        save(self)

    save = Titles.save
    with monkeypatch.context() as patch:
        patch.setattr(Titles, "save", fail)
        with pytest.raises(errors.FileNotWritable):
            scan(town_parts)
    known = state(town_parts)

    assert scan(town_parts)

    assert known == PageIndexState(is_complete=False, done=2, of=3)
    assert rows(town_parts) == ["ALDERWICK", "RAVENPORT", "ZüRICH"]


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\0" + bytes(5000)])
def test_damaged_index_is_made_again(town_parts: list[str], content: bytes) -> None:
    path = Path(page_index.index_path(stat_parts(town_parts).identity))
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    before = state(town_parts)

    assert scan(town_parts)

    assert before is None
    assert rows(town_parts) == ["ALDERWICK", "RAVENPORT", "ZüRICH"]
