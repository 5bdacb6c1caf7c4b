"""Importance of articles, measured in the background for the large archives that questions are asked of."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from openzim_mcp.calls.archive import MeasureImportance
from openzim_mcp.zimfile import NotAZim, ZimFile

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyio.streams.memory import MemoryObjectSendStream

    from openzim_mcp.pool.jobs import JobRunner
    from openzim_mcp.zimfile import ArchiveFile, Identity

log = logging.getLogger(__name__)


class ImportanceMeasurer:
    """Measures one archive after the other while `run` runs; each state of a file is tried once."""

    def __init__(self, jobs: JobRunner) -> None:
        self._jobs = jobs
        self._tried: set[Identity] = set()
        self._requests: MemoryObjectSendStream[ArchiveFile] | None = None

    def request(self, archives: Iterable[ArchiveFile]) -> None:
        """Let the importance of articles be measured in the large ones of some archives; return at once.

        Nothing happens unless `run` runs: a command ends before it could be complete.
        """
        for archive in archives:
            if self._requests and archive.identity not in self._tried:
                self._tried.add(archive.identity)
                self._requests.send_nowait(archive)

    async def run(self) -> None:
        """Measure what is requested, until cancelled."""
        self._requests, requests = anyio.create_memory_object_stream["ArchiveFile"](math.inf)
        with self._requests, requests:
            async for archive in requests:
                await self.measure(archive)

    async def measure(self, archive: ArchiveFile) -> None:
        """Measure the importance of the articles of an archive, if it is large."""
        if await to_thread.run_sync(_count_entries, archive) < MeasureImportance.min_entries:
            return
        run = await self._jobs.run(archive, MeasureImportance(), timeout=math.inf)
        problem = run.error or (run.result.problem if run.result else None)
        if problem:
            log.info("importance of the articles of %s: %s", archive.name, problem)


def _count_entries(archive: ArchiveFile) -> int:
    """Return how many entries the header of a file names; 0 if it cannot be read."""
    try:
        return ZimFile(archive.parts).header().entry_count
    except (OSError, NotAZim):
        return 0
