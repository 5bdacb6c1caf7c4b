"""The application that tools, resources and commands share."""

from __future__ import annotations

import contextlib
import math
import weakref
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import anyio
from anyio import to_thread

from openzim_mcp import errors
from openzim_mcp.app.caller import LOCAL
from openzim_mcp.app.importance import ImportanceMeasurer
from openzim_mcp.app.limits import RateLimiter
from openzim_mcp.app.page_scans import PageScanner
from openzim_mcp.app.passage_indexes import PassageIndexBuilder
from openzim_mcp.app.word_records import WordRecordMaker
from openzim_mcp.calls.archive import Describe
from openzim_mcp.library.facts import FactStore
from openzim_mcp.library.names import match_title
from openzim_mcp.library.scan import Scanner, make_scanner
from openzim_mcp.pool.jobs import JobRunner
from openzim_mcp.pool.outcomes import Outcomes
from openzim_mcp.pool.pool import Pool
from openzim_mcp.pool.results import ResultCache
from openzim_mcp.uris import parse_uri
from openzim_mcp.zimfile import stat_parts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from openzim_mcp.app.arguments import Request
    from openzim_mcp.app.caller import Caller
    from openzim_mcp.app.limits import BucketStore
    from openzim_mcp.calls.archive import Description
    from openzim_mcp.config import Operation, Settings
    from openzim_mcp.library.scan import ScanResult
    from openzim_mcp.pool.outcomes import ProgressCallback
    from openzim_mcp.zimfile import ArchiveFile

_SCAN_SHARE = 0.6
"""The share of the deadline that a scan without an index may take; ranking its results needs the remainder."""
_DESCRIBE_TIMEOUT_SECONDS = 2.0
_RECENT_SECONDS = 1.0


class Continuations:
    """Where the last answer on each connection continues, so that a client can ask for "the next page"."""

    def __init__(self) -> None:
        self._requests: dict[int, Request | None] = {}

    def get(self, connection: object) -> Request | None:
        """Return the request that continues the last answer."""
        return self._requests.get(id(connection))

    def has_answer(self, connection: object) -> bool:
        """Return whether there was an answer on a connection, which may have been complete."""
        return id(connection) in self._requests

    def put(self, connection: object, request: Request | None) -> None:
        """Keep the request that continues the last answer until the connection ends."""
        if connection is None:
            return
        if id(connection) not in self._requests:
            weakref.finalize(connection, self._requests.pop, id(connection), None).atexit = False
        self._requests[id(connection)] = request


@dataclass
class App:
    """The parts of a running application."""

    settings: Settings
    scanner: Scanner
    facts: FactStore
    workers: Pool
    jobs: JobRunner
    limiter: RateLimiter
    importance: ImportanceMeasurer
    passage_indexes: PassageIndexBuilder
    page_scans: PageScanner
    word_records: WordRecordMaker
    continuations: Continuations = field(default_factory=Continuations)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    _scanning: anyio.Lock = field(default_factory=anyio.Lock)
    _scanned_at: float = -math.inf
    _recent: list[ArchiveFile] = field(default_factory=list)

    @classmethod
    @contextlib.asynccontextmanager
    async def open(cls, settings: Settings, *, workers: int, buckets: BucketStore | None = None) -> AsyncIterator[App]:
        """Build the parts and keep them while the block runs."""
        facts = FactStore(keeps_descriptions=settings.records_enabled)
        scanner = make_scanner(settings, facts)
        limits = settings.worker
        pool = Pool(
            facts,
            ResultCache(settings.cache),
            workers=workers,
            deadline=limits.deadline_seconds,
            memory_mib=limits.memory_mib,
        )
        jobs = JobRunner(facts, pool.activity, memory_mib=limits.memory_mib)
        async with pool.running(), jobs.running():
            limiter = RateLimiter(settings.rate_limit, buckets)
            yield cls(
                settings,
                scanner,
                facts,
                pool,
                jobs,
                limiter,
                ImportanceMeasurer(jobs),
                PassageIndexBuilder(pool, jobs),
                PageScanner(pool, jobs, settings.index),
                WordRecordMaker(jobs, is_enabled=settings.records_enabled),
            )

    @property
    def scan_seconds(self) -> float:
        """How long searching an archive without an index may take."""
        return self.settings.worker.deadline_seconds * _SCAN_SHARE

    async def find_archive(self, name: str | None) -> ArchiveFile:
        """Return the archive that a caller means, by its name, its title or its URI; without a name, the only one."""
        uri = parse_uri(name) if name else None
        name = uri.name_candidates[0] if uri and uri.name else name
        try:
            # In a thread, as disks may be slow.
            return await to_thread.run_sync(self.scanner.find_archive, name)
        except errors.ArchiveNotFound:
            archive = await self._find_archive_by_title(name) if name else None
            if archive is None:
                raise
            return archive

    async def _find_archive_by_title(self, title: str) -> ArchiveFile | None:
        archives = await self.usable_archives()
        descriptions = (await self.describe_each(archives)).results
        return match_title(archives, {name: row.title for name, row in descriptions.items()}, title)

    async def scan(self) -> ScanResult:
        """Scan the directories."""
        return await to_thread.run_sync(self.scanner.scan, abandon_on_cancel=True)

    async def is_unchanged(self, archive: ArchiveFile) -> bool:
        """Whether an archive is still the file that a scan found."""
        with contextlib.suppress(OSError):
            return (await to_thread.run_sync(stat_parts, archive.parts)).identity == archive.identity
        return False

    async def usable_archives(self) -> list[ArchiveFile]:
        """Scan the directories and return the archives that can be opened."""
        return [archive for archive in (await self.scan()).archives if not archive.problem]

    async def recent_archives(self) -> list[ArchiveFile]:
        """Return the archives that could be opened at most a second ago, for what is asked often and costs nothing."""
        async with self._scanning:
            if anyio.current_time() - self._scanned_at > _RECENT_SECONDS:
                self._recent = await self.usable_archives()
                self._scanned_at = anyio.current_time()
        return self._recent

    async def charge(self, caller: Caller, operation: Operation, times: int = 1) -> None:
        """Charge a caller for an operation, or raise an error that says when to try again."""
        await self.limiter.charge(caller.client, operation, times)
        if caller is not LOCAL:
            caller.charges.append((operation, times))

    async def refund_half(self, caller: Caller) -> None:
        """Give back half of what a call was charged that failed for what it asked for."""
        for operation, times in caller.charges:
            await self.limiter.refund_half(caller.client, operation, times)

    async def describe(self, archive: ArchiveFile) -> Description:
        """Describe an archive; a worker is called once for each state of its file."""
        facts = self.facts.of(archive.identity)
        if facts.description is None:
            await to_thread.run_sync(self.facts.load_descriptions, [archive])
        if facts.description is None:
            facts.description = await self.workers.call(archive, Describe())
            await to_thread.run_sync(self.facts.save_descriptions, [(archive, facts.description)])
        return facts.description

    async def describe_each(
        self,
        archives: Sequence[ArchiveFile],
        *,
        timeout: float = _DESCRIBE_TIMEOUT_SECONDS,  # noqa: ASYNC109  what is there by then is returned
        progress: ProgressCallback | None = None,
    ) -> Outcomes[Description]:
        """Describe many archives, each state of a file once; an archive that takes too long has an error."""
        facts = {archive.name: self.facts.of(archive.identity) for archive in archives}
        new = [archive for archive in archives if facts[archive.name].is_new]
        if new:
            await to_thread.run_sync(self.facts.load_descriptions, new)
        untried = [archive for archive in new if facts[archive.name].is_new]
        report = await _after_steps(progress, len(new) - len(untried), len(new)) if progress else None
        outcomes = await self.workers.call_each(untried, Describe(), timeout=timeout, progress=report)
        if outcomes.results:
            by_name = {archive.name: archive for archive in untried}
            rows = [(by_name[name], description) for name, description in outcomes.results.items()]
            await to_thread.run_sync(self.facts.save_descriptions, rows)
        for name, error in outcomes.errors.items():
            if isinstance(error, errors.ArchiveUnusable | errors.OutOfMemory):
                facts[name].unreadable = error
        descriptions = {name: row.description for name, row in facts.items() if row.description}
        unreadable = {name: row.unreadable for name, row in facts.items() if row.unreadable}
        return Outcomes(descriptions, outcomes.errors | unreadable)


async def _after_steps(progress: ProgressCallback, steps: int, total: int) -> ProgressCallback:
    """Report some steps that took no time, and return what reports the others."""
    for step in range(steps):
        await progress(step + 1, total)
    return lambda done, _: progress(steps + done, total)
