"""`zim_health`, the report on the server and all archives or on one archive, and `zim_metadata`."""

from __future__ import annotations

import hashlib
import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio

from openzim_mcp import errors
from openzim_mcp.app.progress import Tally
from openzim_mcp.worker.archive import health, metadata

if TYPE_CHECKING:
    from openzim_mcp.app.app import Backend, Payload
    from openzim_mcp.app.arguments import ArchiveArguments
    from openzim_mcp.library.scan import Listing
    from openzim_mcp.pool.jobs import Listener, Verification
    from openzim_mcp.protocol.tools import Call
    from openzim_mcp.zimfile import ArchiveFile, Identity

_REDACTED = "[REDACTED]"


async def zim_metadata(call: Call, given: ArchiveArguments) -> Payload:
    """Describe one archive."""
    archive = await call.backend.find(given.zim_file_path)
    verdict = {None: "unverified", True: "valid", False: "damaged"}[await call.backend.verifier.verdict(archive)]
    return await call.backend.ask(metadata.describe, archive) | {"verification": verdict}


async def zim_health(call: Call, given: ArchiveArguments) -> Payload:
    """Report on the server, or on the archive that a call names."""
    if given.zim_file_path is None:
        return await server_report(call.backend, call.listener)
    return await archive_report(call.backend, await call.backend.find(given.zim_file_path), call.listener)


async def server_report(backend: Backend, listener: Listener | None = None) -> Payload:
    """Return health, configuration and archives of the server."""
    listing = await backend.scan()
    reasons = await _open_all(backend, listing, listener)
    return {
        "health": _health(backend, listing, reasons),
        "configuration": _configuration(backend),
        "loaded_archives": _rows(backend, listing, reasons),
    }


async def archive_list(backend: Backend) -> list[Payload]:
    """Return a row for every archive."""
    listing = await backend.scan()
    return _rows(backend, listing, await _open_all(backend, listing))


async def archive_report(
    backend: Backend, archive: ArchiveFile, listener: Listener | None, *, anew: bool = False
) -> Payload:
    """Open one archive, compare its checksum, try its indexes, and say what was found."""
    backend.engine.quarantine.forgive_slowness(archive)
    condition: Payload = {}
    problem = index_problem = None
    try:
        condition = await backend.engine.call(health.try_opening, archive)
    except errors.OpenZimMcpArchiveError as error:
        problem = error.message
    if condition.get("has_fulltext_index") or condition.get("has_title_index"):
        try:
            await backend.engine.call(health.try_indexes, archive)
        except errors.OpenZimMcpArchiveError as error:
            index_problem = error.message
    run = None
    if not archive.problem:
        # A client that watches the progress can wait for any file; another one gets an answer in time.
        patience = math.inf if listener else backend.settings.worker.deadline_seconds
        run = await backend.verifier.verify(archive, patience, listener, anew=anew)
    return {
        "name": archive.shown,
        "path": archive.redacted,
        **_verdict(problem, run),
        "has_checksum": condition.get("has_checksum"),
        "checksum": condition.get("checksum"),
        "has_fulltext_index": condition.get("has_fulltext_index"),
        "has_title_index": condition.get("has_title_index"),
        "indexes_answer": _indexes_answer(condition, index_problem),
        "uuid": condition.get("uuid"),
        "is_multipart": condition.get("is_multipart"),
        "size": archive.size,
        "modified": time_of(archive.modified),
        "problems": [p for p in (problem, index_problem) if p],
        "quarantine": [
            {"scope": incident.scope, "reason": incident.reason}
            for incident in backend.engine.quarantine.of(archive).values()
        ],
    }


def _verdict(problem: str | None, run: Verification | None) -> Payload:
    """Say whether the file is what its maker wrote; null while its checksum is still being computed."""
    if run and not run.done:
        state = f"{run.progress:.0%} of the checksum computed; ask again for the verdict"
        return {"is_valid": False if problem else None, "verification": state}
    if run and run.problem:
        return {"is_valid": False, "verification": run.problem}
    if run and run.valid is False:
        return {"is_valid": False, "verification": "the checksum does not match: the file is damaged"}
    if problem:
        return {"is_valid": False, "verification": "cannot be opened"}
    known = run is not None and run.valid is not None
    return {"is_valid": True, "verification": "the checksum matches" if known else "opens, but carries no checksum"}


def _indexes_answer(condition: Payload, index_problem: str | None) -> bool | None:
    has_index = condition.get("has_fulltext_index") or condition.get("has_title_index")
    return index_problem is None if has_index else None


async def _open_all(backend: Backend, listing: Listing, listener: Listener | None = None) -> dict[Identity, str | None]:
    """Return why each archive cannot be read, or None where it can; each state of a file is tried once."""
    present = {archive.identity for archive in listing.archives}
    reasons = backend.opened = {i: reason for i, reason in backend.opened.items() if i in present}

    async def try_one(archive: ArchiveFile) -> None:
        try:
            await backend.engine.call(health.try_opening, archive)
            reasons[archive.identity] = None
        except (errors.ArchiveChanged, errors.ArchiveQuarantined, errors.WorkerFailed) as error:
            passing[archive.identity] = error.message
        except errors.OpenZimMcpArchiveError as error:
            reasons[archive.identity] = error.message
        await tally.step()

    passing: dict[Identity, str | None] = {a.identity: a.problem for a in listing.archives if a.problem}
    untried = [
        archive
        for archive in listing.archives
        if archive.identity not in passing
        and (archive.identity not in reasons or backend.engine.quarantine.of(archive))
    ]
    tally = Tally(listener, len(untried))
    async with anyio.create_task_group() as tasks:
        for archive in untried:
            tasks.start_soon(try_one, archive)
    return reasons | passing


def _health(backend: Backend, listing: Listing, reasons: dict[Identity, str | None]) -> Payload:
    broken = [archive for archive in listing.archives if reasons[archive.identity]]
    directories = backend.library.shown_directories
    reachable = listing.directories_accessible
    total = backend.answers.hits + backend.answers.misses
    return {
        "timestamp": datetime.now(UTC).isoformat(),
        "status": _status(listing, len(broken), len(directories)),
        "server_name": backend.settings.server_name,
        "uptime_info": {"process_id": _REDACTED, "started_at": backend.started_at.isoformat()},
        "cache_performance": {
            "hits": backend.answers.hits,
            "misses": backend.answers.misses,
            "hit_rate": round(backend.answers.hits / total, 3) if total else 0.0,
        },
        "health_checks": {
            "directories_accessible": reachable,
            "zim_files_found": len(listing.archives),
            "permissions_ok": reachable == len(directories) and not listing.refused,
        },
        "recommendations": _recommendations(listing, broken),
        "warnings": _warnings(listing, broken),
    }


def _status(listing: Listing, broken: int, directories: int) -> str:
    if not listing.directories_accessible or (broken and broken == len(listing.archives)):
        return "unhealthy"
    if broken or not listing.archives or listing.directories_accessible < directories:
        return "degraded"
    return "healthy"


def _recommendations(listing: Listing, broken: list[ArchiveFile]) -> list[str]:
    if not listing.archives:
        return ["Put a .zim file into a served directory; it is found at once."]
    return ["Download the archives that cannot be read again, or remove them."] if broken else []


def _warnings(listing: Listing, broken: list[ArchiveFile]) -> list[str]:
    refused = [f"{refusal.name}: {refusal.reason}" for refusal in listing.refused]
    if not broken:
        return refused
    names = ", ".join(archive.shown for archive in broken)
    return [f"{len(broken)} archives cannot be read (reasons in loaded_archives): {names}", *refused]


def _configuration(backend: Backend) -> Payload:
    settings = backend.settings
    return {
        "server_name": settings.server_name,
        "allowed_directories": backend.library.shown_directories,
        "cache_enabled": settings.cache.enabled,
        "cache_max_size": settings.cache.max_size,
        "tool_mode": settings.tool_mode,
        "transport": settings.transport,
        "config_hash": hashlib.sha256(settings.model_dump_json().encode()).hexdigest(),
        "server_pid": _REDACTED,
    }


def _rows(backend: Backend, listing: Listing, reasons: dict[Identity, str | None]) -> list[Payload]:
    return [_row(backend, archive, reasons[archive.identity]) for archive in listing.archives]


def _row(backend: Backend, archive: ArchiveFile, reason: str | None) -> dict[str, Any]:
    row = {
        "name": archive.shown,
        "path": archive.redacted,
        "size": archive.size,
        "modified": time_of(archive.modified),
        "status": "unusable" if reason else "ok",
    }
    index = backend.engine.quarantine.of(archive).get("index")
    if index and not reason:
        return row | {"status": "no_search", "reason": f"the search index is closed: {index.reason}"}
    return row | {"reason": reason} if reason else row


def time_of(seconds: float) -> str:
    """Return a time of the file system as results show it."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
