"""Records of the words of archives, made in the background where questions are routed by them, among many archives.

A question that comes first makes some on its way; the others are asked once their records are there.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from openzim_mcp import files
from openzim_mcp.calls.search import MakeWordRecord

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from openzim_mcp.pool.jobs import JobRunner
    from openzim_mcp.zimfile import ArchiveFile, Identity

log = logging.getLogger(__name__)

MIN_ARCHIVES = 50
"""Where there are no more archives, each is asked, and makes its record then."""
_START_DELAY_SECONDS = 1.0
"""The first call of a client comes first."""
_PAUSE_SECONDS = 10.0
_MAX_SECONDS = 60.0
"""How long making one record may take: a damaged index may have no end."""


class WordRecordMaker:
    """Makes the records that are missing while `run` runs; each state of a file is tried once."""

    def __init__(self, jobs: JobRunner, *, is_enabled: bool) -> None:
        self._jobs = jobs
        self._is_enabled = is_enabled
        self._known: set[Identity] = set()
        """Archives whose records were there, or were tried."""

    async def find_missing(self, archives: Sequence[ArchiveFile]) -> list[ArchiveFile]:
        """Return the archives without a record; none where records are not kept."""
        if not self._is_enabled:
            return []
        unknown = [archive for archive in archives if archive.identity not in self._known]
        self._known |= await to_thread.run_sync(_find_kept, unknown)
        return [archive for archive in unknown if archive.identity not in self._known]

    async def run(self, list_archives: Callable[[], Awaitable[list[ArchiveFile]]]) -> None:
        """Make the records of a large library, and of archives that appear in it, until cancelled."""
        await anyio.sleep(_START_DELAY_SECONDS)
        while self._is_enabled:
            try:
                archives = await list_archives()
                if len(archives) > MIN_ARCHIVES:
                    await self.make(await self.find_missing(archives))
            except OSError as error:
                log.info("no records of words now: %s", error.strerror or "input/output error")
            await anyio.sleep(_PAUSE_SECONDS)

    async def make(self, archives: Sequence[ArchiveFile]) -> None:
        """Make the records of some archives."""
        async for archive, problem in self._jobs.run_each(archives, MakeWordRecord(), max_seconds=_MAX_SECONDS):
            self._known.add(archive.identity)
            if problem:
                log.info("no record of the words of %s: %s", archive.name, problem)


def _find_kept(archives: Iterable[ArchiveFile]) -> set[Identity]:
    return {archive.identity for archive in archives if os.path.exists(files.words_path(archive.identity))}
