"""Read the bytes of every page of an archive once, and hand them to collectors, which find links and the like.

A collector is a row of `COLLECTORS`: a class with the tables that it fills. Pages come in the order of the file, so
that each cluster is unpacked once. Every few seconds all collectors write what they hold into the index
(`page_index.py`), which is committed with the number of pages read: a job that was ended goes on from there, without a
page that ends the process (`page_mark.py`).
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from typing import TYPE_CHECKING, ClassVar, Protocol

from openzim_mcp import errors, files, page_index
from openzim_mcp.calls.archive import PageScanResult
from openzim_mcp.worker.jobs import entry_walk
from openzim_mcp.worker.jobs.entry_walk import NUMBER_BITS, remove_entries, walk_entries
from openzim_mcp.worker.jobs.link_collector import LinkCollector
from openzim_mcp.worker.jobs.page_mark import PageMark
from openzim_mcp.worker.jobs.subject_collector import SubjectCollector
from openzim_mcp.worker.zim import Archive, reduce_cluster_cache
from openzim_mcp.zimfile import stat_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openzim_mcp.calls.archive import ScanPages
    from openzim_mcp.worker.entry_numbers import EntryNumbers

_MAX_PAGE_BYTES = 32 << 20
"""A larger entry is data rather than a page."""
_FIRST_SAVE_SECONDS = 0.5
_MAX_SAVE_SECONDS = 10.0
_SAVE_SHARE = 0.25
"""A job saves more seldom the longer it runs: after so much of the time that it has run."""
_NUMBER_MASK = (1 << NUMBER_BITS) - 1


class Collector(Protocol):
    """Finds something on every page; it must not fail on any bytes.

    It is made anew when a job goes on after it was ended: what it needs to go on is in its tables.
    """

    schema: ClassVar[str]
    """Creates its tables, if they do not exist."""

    def __init__(
        self, archive: Archive, numbers: EntryNumbers, database: sqlite3.Connection, job: ScanPages
    ) -> None: ...

    def add(self, entry_id: int, path: str, raw: bytes) -> None:
        """Take a page."""

    def save(self) -> None:
        """Write what is held in memory into the tables: it is committed next."""

    def finish(self, commit: Callable[[], None]) -> None:
        """Write what is known only once all pages were read; `save` was called before.

        What takes long does so in steps, with `commit` after each: it is called again if the job is ended.
        """


COLLECTORS: tuple[type[Collector], ...] = (LinkCollector, SubjectCollector)


def scan_pages(parts: Sequence[str], job: ScanPages, report: Callable[[int, int], None]) -> PageScanResult:
    """Scan the pages of an archive, or those that are left, unless another process is doing that."""
    reduce_cluster_cache()  # each cluster is read once
    archive = Archive(os.path.basename(parts[0]).partition(".zim")[0], parts)
    path = page_index.index_path(archive.identity)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(page_index.lock_path(archive.identity), "wb") as lock:
            if not files.try_lock(lock.fileno()):
                return PageScanResult(is_complete=False)
            schema = entry_walk.SCHEMA + "".join(collector.schema for collector in COLLECTORS)
            with (
                contextlib.closing(page_index.open_for_writing(archive.identity, schema)) as database,
                contextlib.closing(PageMark(f"{path}.reading")) as mark,
            ):
                return _Scan(archive, parts, database, job, mark).run(report)
    except (OSError, sqlite3.Error) as error:
        raise errors.FileNotWritable(f"The index of {archive.name!r} cannot be written: {error}.") from error


class _Scan:
    """One run of the job, from where the last one was ended."""

    def __init__(
        self, archive: Archive, parts: Sequence[str], database: sqlite3.Connection, job: ScanPages, mark: PageMark
    ) -> None:
        self._archive = archive
        self._parts = parts
        self._database = database
        self._job = job
        self._mark = mark
        self._skipped = 0
        self._started_at = self._saved_at = time.monotonic()

    def run(self, report: Callable[[int, int], None]) -> PageScanResult:
        if page_index.read_property(self._database, "state") == "complete":
            self._mark.remove()
            return PageScanResult(is_complete=True)
        numbers, pages = walk_entries(self._archive, self._database, self._require_same_file, report)
        done = page_index.read_property(self._database, "done")
        start = done if isinstance(done, int) else 0
        self._collectors = [collector(self._archive, numbers, self._database, self._job) for collector in COLLECTORS]
        self._database.execute("BEGIN")
        self._save(start, len(pages))
        for position in range(start, len(pages)):
            number = pages[position] & _NUMBER_MASK
            if self._mark.is_suspect(number):
                self._save(position, len(pages))
            was_read = self._read_page(number)
            self._skipped += not was_read
            report(position, len(pages))
            if not was_read or self._is_time_to_save():
                self._save(position + 1, len(pages))
        self._save(len(pages), len(pages))
        self._finish()
        size = os.path.getsize(page_index.index_path(self._archive.identity))
        return PageScanResult(is_complete=True, pages=len(pages), bytes=size, skipped=self._skipped)

    def _read_page(self, number: int) -> bool:
        """Hand a page to all collectors; False if it must not be read."""
        if not self._mark.begin(number):
            return False
        page = self._archive.read_page(number, _MAX_PAGE_BYTES)
        if page is not None:
            for collector in self._collectors:
                collector.add(number, page.path, page.content)
        self._mark.end(number)
        return True

    def _is_time_to_save(self) -> bool:
        now = time.monotonic()
        pause = max(_FIRST_SAVE_SECONDS, _SAVE_SHARE * (now - self._started_at))
        return now - self._saved_at >= min(_MAX_SAVE_SECONDS, pause)

    def _require_same_file(self) -> None:
        if stat_parts(self._parts).identity != self._archive.identity:
            raise errors.ArchiveChanged(f"{self._archive.name!r} is being replaced.", hint="Ask again in a moment.")

    def _commit_in_time(self) -> None:
        if self._is_time_to_save():
            self._database.execute("COMMIT")
            self._database.execute("BEGIN")
            self._saved_at = time.monotonic()

    def _save(self, done: int, of: int) -> None:
        """Commit what was found on the pages so far, unless the file was changed while it was read."""
        self._require_same_file()
        for collector in self._collectors:
            collector.save()
        page_index.write_property(self._database, "done", done)
        page_index.write_property(self._database, "of", of)
        self._database.execute("COMMIT")
        self._database.execute("BEGIN")
        self._saved_at = time.monotonic()

    def _finish(self) -> None:
        for collector in self._collectors:
            collector.finish(self._commit_in_time)
        remove_entries(self._database)
        page_index.write_property(self._database, "state", "complete")
        self._database.execute("COMMIT")
        self._database.execute("VACUUM")
        self._mark.remove()
