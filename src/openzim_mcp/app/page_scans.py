"""Indexes of pages (`page_index.py`), made in the background for all archives: who links where, and the like."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Literal

import anyio
from anyio import to_thread

from openzim_mcp import page_index
from openzim_mcp.calls import Struct
from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.library.facts import MAX_BYTES_ON_DISK

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openzim_mcp.config import IndexSettings
    from openzim_mcp.pool.jobs import JobRunner
    from openzim_mcp.pool.outcomes import ProgressCallback
    from openzim_mcp.pool.pool import Pool
    from openzim_mcp.zimfile import ArchiveFile, Identity

log = logging.getLogger(__name__)

_START_DELAY_SECONDS = 10.0
"""The first call of a client comes first; a client that makes none is waited for so long."""
_PAUSE_SECONDS = 10.0
"""How long archives that appear, and those that another process scans, wait."""
_RETRY_SECONDS = 600.0
_MAX_CRASHES = 6
"""A page that ends the process twice is left out of the next attempt."""
_BYTES_PER_MB = 1_000_000


class IndexProgress(Struct, frozen=True):
    """How many of the pages of one archive, or of several, have been read for the index."""

    done: int
    of: int


class IndexReport(Struct, frozen=True):
    """How many of the pages of an archive have been read for its index."""

    state: Literal["off", "not built", "partial", "building", "complete"]
    done: int
    of: int


class PageScanner:
    """Scans one archive after the other while `run` runs, the smallest first."""

    def __init__(self, workers: Pool, jobs: JobRunner, settings: IndexSettings) -> None:
        self._workers = workers
        self._jobs = jobs
        self._settings = settings
        self._due: dict[Identity, float] = {}
        """When an archive is tried again; never once it is complete."""

    async def run(self, list_archives: Callable[[], Awaitable[list[ArchiveFile]]]) -> None:
        """Scan all archives, and those that appear, until cancelled."""
        await self._workers.activity.wait_for_first_call(_START_DELAY_SECONDS)
        while True:
            try:
                await self._scan_each(await list_archives())
            except OSError as error:
                log.info("no indexes of pages now: %s", error.strerror or "input/output error")
            await anyio.sleep(_PAUSE_SECONDS)

    async def _scan_each(self, archives: list[ArchiveFile]) -> None:
        for archive in sorted(archives, key=lambda archive: archive.size):
            if self._due.get(archive.identity, 0.0) <= anyio.current_time():
                seconds = await self._try_to_scan(archive)
                self._due[archive.identity] = anyio.current_time() + seconds

    async def _try_to_scan(self, archive: ArchiveFile) -> float:
        """Scan an archive if that is needed, and return in how many seconds to try again."""
        report = await self.report(archive)
        if report.state == "building":
            return _PAUSE_SECONDS
        if report.state == "complete":
            return math.inf
        problem = await self.scan(archive)
        if problem:
            log.info("no index of the pages of %s: %s", archive.name, problem)
        return _RETRY_SECONDS if problem else 0.0

    async def scan(self, archive: ArchiveFile, progress: ProgressCallback | None = None) -> str | None:
        """Scan the pages of an archive that have not been scanned, and return why that failed, if it did."""
        used = await to_thread.run_sync(self._workers.facts.bytes_on_disk)
        free_mb = max(0, MAX_BYTES_ON_DISK - used) // _BYTES_PER_MB
        job = ScanPages(min(self._settings.max_mb, free_mb))
        for _ in range(_MAX_CRASHES + 1):
            run = await self._jobs.run(archive, job, timeout=math.inf, progress=progress, force=True)
            if not run.has_crashed:
                break
        if run.result is not None and run.result.is_complete:
            # Results from before the index was there would be shown for as long as they are cached.
            self._workers.results.drop(archive.identity)
            log.info(
                "index of the pages of %s is complete: %d pages, %d left out",
                archive.name,
                run.result.pages,
                run.result.skipped,
            )
        return run.error

    async def report(self, archive: ArchiveFile) -> IndexReport:
        """Return how far the index of an archive is."""
        return await to_thread.run_sync(self._read_report, archive.identity)

    def _read_report(self, identity: Identity) -> IndexReport:
        state = page_index.read_state(identity)
        done, of = (state.done, state.of) if state else (0, 0)
        if state and state.is_complete:
            return IndexReport("complete", done, of)
        if page_index.is_being_written(identity):
            return IndexReport("building", done, of)
        if not self._settings.enabled:
            return IndexReport("off", done, of)
        return IndexReport("partial" if state else "not built", done, of)
