"""Indexes of passages, built in the background for archives that are asked questions, or searched without an index."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, NamedTuple

import anyio
from anyio import to_thread

from openzim_mcp import errors
from openzim_mcp.calls.archive import BuildPassageIndex, CheckPassageIndex
from openzim_mcp.library.facts import MAX_BYTES_ON_DISK
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from anyio.streams.memory import MemoryObjectSendStream

    from openzim_mcp.pool.jobs import JobRunner
    from openzim_mcp.pool.outcomes import ProgressCallback
    from openzim_mcp.pool.pool import Pool
    from openzim_mcp.zimfile import ArchiveFile, Identity

log = logging.getLogger(__name__)

_MAX_ATTEMPTS = 5
"""A page or document that ends the process twice is left out of the next attempt."""


class _Request(NamedTuple):
    archive: ArchiveFile
    is_question: bool


class PassageIndexBuilder:
    """Builds one index after the other while `run` runs; each state of a file is tried once."""

    def __init__(self, workers: Pool, jobs: JobRunner) -> None:
        self._workers = workers
        self._jobs = jobs
        self._tried: set[tuple[Identity, bool]] = set()
        self._queue: MemoryObjectSendStream[_Request] | None = None

    def request(self, archives: Iterable[ArchiveFile], *, is_question: bool) -> None:
        """Let the indexes be built that some archives need, for questions or for searches; return at once.

        Nothing happens unless `run` runs: a command ends before an index could be complete.
        """
        for archive in archives:
            if self._queue and (archive.identity, is_question) not in self._tried:
                self._tried.add((archive.identity, is_question))
                self._queue.send_nowait(_Request(archive, is_question))

    async def run(self) -> None:
        """Build what is requested, until cancelled."""
        queue, requested = anyio.create_memory_object_stream["_Request"](math.inf)
        with queue, requested:
            self._queue = queue
            try:
                async for request in requested:
                    await self._try_to_build(request)
            finally:
                self._queue = None

    async def _try_to_build(self, request: _Request) -> None:
        try:
            await self.build(request.archive, is_question=request.is_question)
        except errors.OpenZimMcpError as error:
            log.info("no index of passages of %s: %s", request.archive.name, error.message)

    async def build(self, archive: ArchiveFile, *, is_question: bool, progress: ProgressCallback | None = None) -> None:
        """Build the index that an archive needs, for questions or for searches, unless it is there."""
        check = await self._workers.call(archive, CheckPassageIndex())
        if check.state or not (is_question or check.is_for_search):
            return
        if await to_thread.run_sync(self._workers.facts.bytes_on_disk) > MAX_BYTES_ON_DISK:
            log.info("no index of passages of %s: the cache holds %s", archive.name, format_size(MAX_BYTES_ON_DISK))
            return
        for _ in range(_MAX_ATTEMPTS):
            run = await self._jobs.run(archive, BuildPassageIndex(), timeout=math.inf, progress=progress, force=True)
            if run.result is not None:
                break
        if run.result is None:
            log.info("no index of passages of %s: %s", archive.name, run.error)
        elif run.result.state is None:
            self._tried.discard((archive.identity, is_question))
        elif run.result.state == "complete":
            # Results from before the index was there would be shown for as long as they are cached.
            self._workers.results.drop(archive.identity)
            await to_thread.run_sync(self._workers.facts.remove_old)
            log.info("index of passages of %s is complete: %d passages", archive.name, run.result.passages)
