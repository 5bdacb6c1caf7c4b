"""Indexes of passages, built in the background for the archives that are searched and need one."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from openzim_mcp import errors
from openzim_mcp.calls.archive import BuildPassageIndex, CheckPassageIndex

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyio.streams.memory import MemoryObjectSendStream

    from openzim_mcp.pool.jobs import JobRunner
    from openzim_mcp.pool.pool import Pool
    from openzim_mcp.zimfile import ArchiveFile, Identity

log = logging.getLogger(__name__)


class PassageIndexBuilder:
    """Builds one index after the other while `run` runs; each state of a file is tried once."""

    def __init__(self, workers: Pool, jobs: JobRunner) -> None:
        self._workers = workers
        self._jobs = jobs
        self._tried: set[Identity] = set()
        self._queue: MemoryObjectSendStream[ArchiveFile] | None = None

    def request(self, archives: Iterable[ArchiveFile]) -> None:
        """Let the indexes be built that some archives need and do not have; return at once.

        Nothing happens unless `run` runs: a command ends before an index could be complete.
        """
        for archive in archives:
            if self._queue and archive.identity not in self._tried:
                self._tried.add(archive.identity)
                self._queue.send_nowait(archive)

    async def run(self) -> None:
        """Build what is requested, until cancelled."""
        queue, requested = anyio.create_memory_object_stream["ArchiveFile"](math.inf)
        with queue, requested:
            self._queue = queue
            try:
                async for archive in requested:
                    await self._try_to_build(archive)
            finally:
                self._queue = None

    async def _try_to_build(self, archive: ArchiveFile) -> None:
        try:
            await self._build_if_needed(archive)
        except errors.OpenZimMcpError as error:
            log.info("no index of passages of %s: %s", archive.name, error.message)

    async def _build_if_needed(self, archive: ArchiveFile) -> None:
        check = await self._workers.call(archive, CheckPassageIndex())
        if not check.is_needed or check.state:
            return
        run = await self._jobs.run(archive, BuildPassageIndex(), timeout=math.inf, force=True)
        if run.result is None:
            log.info("no index of passages of %s: %s", archive.name, run.error)
        elif run.result.state is None:
            self._tried.discard(archive.identity)
        elif run.result.state == "complete":
            # Results from before the index was there would be shown for as long as they are cached.
            self._workers.results.drop(archive.identity)
            await to_thread.run_sync(self._workers.facts.remove_old)
            log.info("index of passages of %s is complete: %d passages", archive.name, run.result.passages)
