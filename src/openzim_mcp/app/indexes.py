"""All indexes of an archive that are made in the background: made now, described, or removed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from anyio import to_thread

from openzim_mcp import errors, page_index
from openzim_mcp.app.health import passage_index_state
from openzim_mcp.app.page_scans import IndexReport  # noqa: TC001  msgspec evaluates annotations
from openzim_mcp.calls import Struct

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.pool.outcomes import ProgressCallback
    from openzim_mcp.zimfile import ArchiveFile

_BUSY = "another process is making it"


class ArchiveIndexes(Struct, frozen=True):
    """How far the indexes of an archive are; `error` says why one of them could not be made or removed."""

    name: str
    index: IndexReport
    passage_index: str | None
    error: str | None = None


async def report_indexes(app: App, archive: ArchiveFile, error: str | None = None) -> ArchiveIndexes:
    """Return how far the indexes of an archive are."""
    report = await app.page_scans.report(archive)
    return ArchiveIndexes(archive.file_name, report, await passage_index_state(app, archive), error)


async def make_indexes(app: App, archive: ArchiveFile, progress: ProgressCallback | None = None) -> ArchiveIndexes:
    """Make all indexes of an archive that are not there."""
    error = await app.page_scans.scan(archive, progress)
    if error is None and (await app.page_scans.report(archive)).state != "complete":
        error = _BUSY
    try:
        await app.passage_indexes.build(archive, is_question=True, progress=progress)
        await app.importance.measure(archive)
    except errors.OpenZimMcpError as problem:
        error = error or problem.message
    return await report_indexes(app, archive, error)


async def remove_indexes(app: App, archive: ArchiveFile) -> ArchiveIndexes:
    """Remove all indexes of an archive, unless one is being made; what else is known of it stays."""
    error: str | None = _BUSY
    if not await to_thread.run_sync(page_index.is_being_written, archive.identity):
        error = await to_thread.run_sync(app.facts.remove_indexes, archive)
    return await report_indexes(app, archive, error)


def scaled(progress: ProgressCallback, size: int) -> ProgressCallback:
    """Return a callback that reports the share that is done as bytes of a file."""

    async def report(done: int, total: int) -> None:
        await progress(math.floor(size * done / total) if total else 0, size)

    return report
