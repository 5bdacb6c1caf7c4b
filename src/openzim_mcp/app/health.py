"""Health reports: on the server with all archives, or on one archive."""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from openzim_mcp import errors
from openzim_mcp.app.arguments import ArchiveRequest
from openzim_mcp.app.caller import LOCAL, Caller
from openzim_mcp.app.page_scans import IndexReport  # noqa: TC001  msgspec needs it
from openzim_mcp.calls import Struct
from openzim_mcp.calls.archive import BuildPassageIndex, CheckPassageIndex, ChecksumResult, ProbeIndexes, Verify
from openzim_mcp.text import iso_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.calls.archive import Description
    from openzim_mcp.library.scan import ScanResult
    from openzim_mcp.pool.jobs import JobRun
    from openzim_mcp.pool.outcomes import ProgressCallback
    from openzim_mcp.zimfile import ArchiveFile

_REDACTED = "[REDACTED]"
_MAX_LISTED_ARCHIVES = 100
_MAX_WARNINGS = 20


class HealthRequest(ArchiveRequest):
    """What `zim_health` takes."""

    zim_file_path: str | None = Field(
        None, max_length=1000, description="Archive to verify; left out: the whole server."
    )


class UptimeInfo(Struct, frozen=True):
    """When the server was started."""

    process_id: str
    started_at: str


class CachePerformance(Struct, frozen=True):
    """How often a cached result was used."""

    hits: int
    misses: int
    hit_rate: float


class HealthChecks(Struct, frozen=True):
    """What the scan of the directories found."""

    directories_accessible: int
    zim_files_found: int
    permissions_ok: bool


class ServerHealth(Struct, frozen=True):
    """The state of the server."""

    timestamp: str
    status: Literal["healthy", "degraded", "unhealthy"]
    server_name: str
    uptime_info: UptimeInfo
    cache_performance: CachePerformance
    health_checks: HealthChecks
    recommendations: list[str]
    warnings: list[str]


class Configuration(Struct, frozen=True):
    """The settings that matter to clients."""

    server_name: str
    allowed_directories: list[str]
    cache_enabled: bool
    cache_max_size: int
    tool_mode: str
    transport: str
    config_hash: str
    server_pid: str


class ArchiveState(Struct, frozen=True):
    """An archive in a list: whether it can be read and, if so, what it is."""

    name: str
    path: str
    size: int
    modified: str
    status: Literal["ok", "no_search", "unusable"]
    index: IndexReport
    reason: str | None = None
    title: str | None = None
    kind: str | None = None
    language: str | None = None
    date: str | None = None
    articles: int | None = None


class ServerReport(Struct, frozen=True):
    """Health, configuration and archives of the server."""

    health: ServerHealth
    configuration: Configuration
    loaded_archives: list[ArchiveState]
    archives_not_listed: int = 0


class QuarantineRow(Struct, frozen=True):
    """What is quarantined, and why."""

    scope: str
    reason: str


class ArchiveReport(Struct, frozen=True):
    """The result of opening an archive, verifying its checksum and querying its indexes."""

    name: str
    path: str
    is_valid: bool | None
    verification: str
    has_checksum: bool | None
    checksum: str | None
    has_fulltext_index: bool | None
    has_title_index: bool | None
    index: IndexReport
    passage_index: str | None
    """The state of the index that this server builds; None if the archive needs none."""
    indexes_answer: bool | None
    uuid: str | None
    is_multipart: bool | None
    size: int
    modified: str
    problems: list[str]
    quarantine: list[QuarantineRow]


async def report_health(app: App, request: HealthRequest, caller: Caller = LOCAL) -> ServerReport | ArchiveReport:
    """Report on the server, or on the archive that a request names."""
    if request.zim_file_path is None:
        return await report_server(app, caller)
    return await report_archive(app, await app.find_archive(request.zim_file_path), caller)


async def report_server(app: App, caller: Caller = LOCAL) -> ServerReport:
    """Return health, configuration and archives of the server."""
    scan = await app.scan()
    states = await check_archives(app, scan.archives, caller.progress)
    # Those that cannot be read come first if not all can be listed: they are why somebody asks.
    listed = states if len(states) <= _MAX_LISTED_ARCHIVES else sorted(states, key=lambda row: row.status != "unusable")
    listed = listed[:_MAX_LISTED_ARCHIVES]
    return ServerReport(_server_health(app, scan, states), _configuration(app), listed, len(states) - len(listed))


async def list_states(app: App) -> list[ArchiveState]:
    """Return every archive, and whether it can be read."""
    return await check_archives(app, (await app.scan()).archives)


async def serving_problem(app: App) -> str | None:
    """Return why no archive can be served, or None as soon as one is found that can be."""
    scan = await app.scan()
    if not scan.directories_accessible:
        return "The directories of the archives cannot be read."
    if not scan.archives:
        return "There is no archive in the directories."
    openable = [archive for archive in scan.archives if not archive.problem]
    for archive in sorted(openable, key=lambda archive: app.facts.of(archive.identity).description is None):
        is_open = "archive" not in app.facts.incidents(archive)
        if is_open and (await app.describe_each([archive])).results:
            return None
    return "None of the archives can be read."


async def report_archive(
    app: App, archive: ArchiveFile, caller: Caller = LOCAL, *, force: bool = False
) -> ArchiveReport:
    """Open an archive, verify its checksum and query its indexes; `force` tries again what is known already."""
    if force:
        app.facts.clear_incidents(archive)
    else:
        app.facts.clear_timeouts(archive)
    problem, description = await _open_archive(app, archive)
    has_index = description is not None and (description.has_fulltext_index or description.has_title_index)
    index_problem = await _probe_indexes(app, archive) if has_index else None
    run = None
    if not archive.problem:
        # A client that sees the progress can wait for a large file; others get an answer in time.
        timeout = math.inf if caller.progress else app.settings.worker.deadline_seconds
        run = await app.jobs.run(archive, Verify(), timeout=timeout, progress=caller.progress, force=force)
    is_valid, verification = _judge_validity(problem, run)
    return ArchiveReport(
        name=archive.file_name,
        path=archive.display_path,
        is_valid=is_valid,
        verification=verification,
        has_checksum=description.has_checksum if description else None,
        checksum=description.checksum if description else None,
        has_fulltext_index=description.has_fulltext_index if description else None,
        has_title_index=description.has_title_index if description else None,
        index=await app.page_scans.report(archive),
        passage_index=await passage_index_state(app, archive) if description else None,
        indexes_answer=index_problem is None if has_index else None,
        uuid=description.uuid if description else None,
        is_multipart=description.is_multipart if description else None,
        size=archive.size,
        modified=iso_time(archive.modified),
        problems=[text for text in (problem, index_problem) if text],
        quarantine=[QuarantineRow(i.scope, i.reason) for i in app.facts.incidents(archive).values()],
    )


async def _open_archive(app: App, archive: ArchiveFile) -> tuple[str | None, Description | None]:
    try:
        app.facts.require_open(archive, asks_index=False)
        return None, await app.describe(archive)
    except errors.OpenZimMcpArchiveError as error:
        return error.message, None


async def _probe_indexes(app: App, archive: ArchiveFile) -> str | None:
    try:
        await app.workers.call(archive, ProbeIndexes())
    except errors.OpenZimMcpArchiveError as error:
        return error.message
    return None


async def passage_index_state(app: App, archive: ArchiveFile) -> str | None:
    """Return how far the index of an archive's passages is; None if the archive cannot be read."""
    run = await app.jobs.latest(archive, BuildPassageIndex())
    if run:
        return f"{run.progress:.0%} built"
    try:
        check = await app.workers.call(archive, CheckPassageIndex())
    except errors.OpenZimMcpArchiveError:
        return None
    return check.state or "not built"


def _judge_validity(problem: str | None, run: JobRun[ChecksumResult] | None) -> tuple[bool | None, str]:
    """Return whether the file is valid, None while its checksum is computed, and how far the verification is."""
    if run and not run.finished.is_set():
        state = f"{run.progress:.0%} of the checksum computed; ask again for the result"
        return (False if problem else None), state
    result = run.result if run and run.result else ChecksumResult(None, run.error if run else None)
    if result.problem:
        return False, result.problem
    if result.valid is False:
        return False, "the checksum does not match: the file is damaged"
    if problem:
        return False, "cannot be opened"
    return True, "the checksum matches" if result.valid else "opens, but has no checksum"


async def check_archives(
    app: App, archives: Sequence[ArchiveFile], progress: ProgressCallback | None = None
) -> list[ArchiveState]:
    """Return whether each archive can be read; each state of a file is opened once."""
    outcomes = await app.describe_each(
        [archive for archive in archives if not archive.problem],
        timeout=app.settings.worker.deadline_seconds,
        progress=progress,
    )
    return [
        await _archive_state(app, archive, outcomes.results.get(archive.name), outcomes.errors.get(archive.name))
        for archive in archives
    ]


async def _archive_state(
    app: App, archive: ArchiveFile, description: Description | None, error: errors.OpenZimMcpError | None
) -> ArchiveState:
    incidents = app.facts.incidents(archive)
    status: Literal["ok", "no_search", "unusable"] = "ok"
    reason = archive.problem or (error.message if error else None)
    if "archive" in incidents:
        reason = reason or f"quarantined: {incidents['archive'].reason}"
    if reason:
        status = "unusable"
    elif "index" in incidents:
        status, reason = "no_search", f"the search index is quarantined: {incidents['index'].reason}"
    return ArchiveState(
        archive.file_name,
        archive.display_path,
        archive.size,
        iso_time(archive.modified),
        status,
        await app.page_scans.report(archive),
        reason,
        title=(description.title or None) if description else None,
        kind=description.kind if description and description.kind != "other" else None,
        language=(description.language or None) if description else None,
        date=(description.date or None) if description else None,
        articles=description.articles if description else None,
    )


def _server_health(app: App, scan: ScanResult, states: list[ArchiveState]) -> ServerHealth:
    unusable = [state.name for state in states if state.status == "unusable"]
    directories = app.scanner.display_directories
    accessible = scan.directories_accessible
    results = app.workers.results
    total = results.hits + results.misses
    return ServerHealth(
        timestamp=datetime.now(UTC).isoformat(),
        status=_status(scan, len(unusable), len(directories)),
        server_name=app.settings.server_name,
        uptime_info=UptimeInfo(_REDACTED, app.started_at.isoformat()),
        cache_performance=CachePerformance(
            results.hits, results.misses, round(results.hits / total, 3) if total else 0.0
        ),
        health_checks=HealthChecks(
            accessible, len(scan.archives), accessible == len(directories) and not scan.rejected
        ),
        recommendations=_recommendations(scan, unusable),
        warnings=_warnings(scan, unusable),
    )


def _status(scan: ScanResult, unusable: int, directories: int) -> Literal["healthy", "degraded", "unhealthy"]:
    if not scan.directories_accessible or (unusable and unusable == len(scan.archives)):
        return "unhealthy"
    if unusable or not scan.archives or scan.directories_accessible < directories:
        return "degraded"
    return "healthy"


def _recommendations(scan: ScanResult, unusable: list[str]) -> list[str]:
    if not scan.archives:
        return ["Put a .zim file into a served directory; it is found at once."]
    return ["Download the archives that cannot be read again, or remove them."] if unusable else []


def _warnings(scan: ScanResult, unusable: list[str]) -> list[str]:
    rejected = [f"{row.name}: {row.reason}" for row in scan.rejected[:_MAX_WARNINGS]]
    if len(scan.rejected) > _MAX_WARNINGS:
        rejected.append(f"{len(scan.rejected) - _MAX_WARNINGS} more files and directories cannot be read")
    if not unusable:
        return rejected
    names = ", ".join(unusable[:_MAX_WARNINGS]) + (", …" if len(unusable) > _MAX_WARNINGS else "")
    return [f"{len(unusable)} archives cannot be read (reasons in loaded_archives): {names}", *rejected]


def _configuration(app: App) -> Configuration:
    settings = app.settings
    return Configuration(
        server_name=settings.server_name,
        allowed_directories=app.scanner.display_directories,
        cache_enabled=settings.cache.enabled,
        cache_max_size=settings.cache.max_size,
        tool_mode=settings.tool_mode,
        transport=settings.transport,
        config_hash=hashlib.sha256(settings.model_dump_json().encode()).hexdigest(),
        server_pid=_REDACTED,
    )
