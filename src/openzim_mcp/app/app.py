"""What every handler works with: the settings, the library, the workers, and the answers that are kept."""

from __future__ import annotations

import contextlib
import json
import weakref
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread
from cachetools import TTLCache

from openzim_mcp import errors
from openzim_mcp.app.limits import BucketStore, RateLimiter
from openzim_mcp.library.verdicts import Verdicts
from openzim_mcp.pool.jobs import Verifier
from openzim_mcp.pool.pool import Engine

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from openzim_mcp.config import CacheSettings, Settings
    from openzim_mcp.library.scan import Library, Listing
    from openzim_mcp.zimfile import ArchiveFile, Identity

Payload = dict[str, Any]
_SCAN_SHARE = 0.6


@dataclass(frozen=True)
class Markdown:
    """A result that is read as it is."""

    text: str


@dataclass(frozen=True)
class Picture:
    """A result that clients can also show."""

    payload: Payload


class Answers:
    """Answers of the workers, kept by the state of the archive's file, so that none outlives it."""

    def __init__(self, settings: CacheSettings) -> None:
        self._kept: TTLCache[str, Payload] = TTLCache(
            settings.max_size if settings.enabled else 0, settings.ttl_seconds
        )
        self.hits = 0
        self.misses = 0

    def get(self, key: str) -> Payload | None:
        """Return a kept answer."""
        found = self._kept.get(key)
        self.hits += found is not None
        self.misses += found is None
        return found

    def keep(self, key: str, answer: Payload) -> None:
        """Keep an answer, if there is room for any."""
        if self._kept.maxsize:
            self._kept[key] = answer


class Places:
    """Where the last answer to each connection goes on, so that a client can ask for "the next page"."""

    def __init__(self) -> None:
        self._kept: dict[int, Any] = {}

    def of(self, connection: object) -> Any:
        """Return what continues the last answer."""
        return self._kept.get(id(connection))

    def keep(self, connection: object, rest: Any) -> None:
        """Note what continues an answer, for as long as the connection lasts."""
        if connection is None:
            return
        if id(connection) not in self._kept:
            weakref.finalize(connection, self._kept.pop, id(connection), None).atexit = False
        self._kept[id(connection)] = rest


@dataclass
class Backend:
    """The parts of a running server."""

    settings: Settings
    library: Library
    engine: Engine
    verifier: Verifier
    limiter: RateLimiter
    answers: Answers
    places: Places = field(default_factory=Places)
    opened: dict[Identity, str | None] = field(default_factory=dict)
    """Why each archive that was tried cannot be opened, or None."""
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @classmethod
    @contextlib.asynccontextmanager
    async def running(
        cls, settings: Settings, library: Library, workers: int, buckets: BucketStore | None = None
    ) -> AsyncIterator[Backend]:
        """Build the parts and keep them while the block runs."""
        worker = settings.worker
        engine = Engine(workers=workers, deadline=worker.deadline_seconds, memory_mib=worker.memory_mib)
        verifier = Verifier(Verdicts())
        async with engine.running(), verifier.running():
            limiter = RateLimiter(settings.rate_limit, buckets)
            yield cls(settings, library, engine, verifier, limiter, Answers(settings.cache))

    @property
    def scan_seconds(self) -> float:
        """How long reading an archive that has no index may take, so that there is time to rank what was found."""
        return self.settings.worker.deadline_seconds * _SCAN_SHARE

    async def find(self, zim_file_path: str | None) -> ArchiveFile:
        """Return the archive that a call names. Disks may be slow: this never waits for one on the event loop."""
        return await to_thread.run_sync(self.library.find, zim_file_path)

    async def scan(self) -> Listing:
        """Return all archives that are there now."""
        return await to_thread.run_sync(self.library.scan, abandon_on_cancel=True)

    async def run(self, function: Callable[..., Any], archive: ArchiveFile, /, **arguments: Any) -> Payload:
        """Run a service function on an archive in a worker."""
        answer: Payload = await self.engine.call(function, archive, **arguments)
        return answer

    async def ask(
        self,
        function: Callable[..., Any],
        archive: ArchiveFile,
        /,
        without_index: Callable[..., Any] | None = None,
        **arguments: Any,
    ) -> Payload:
        """Run a service function on an archive in a worker, or return the answer that it gave before.

        Where the archive's index is closed, `without_index` does it, if there is such a way.
        """
        try:
            return await self._ask(function, archive, arguments)
        except errors.ArchiveQuarantined as closed:
            if without_index is None or closed.details.get("scope") != "index":
                raise
            return await self._ask(without_index, archive, arguments)

    async def _ask(self, function: Callable[..., Any], archive: ArchiveFile, arguments: Payload) -> Payload:
        name = f"{function.__module__}.{function.__qualname__}"
        key = json.dumps([name, archive.name, archive.identity, arguments], sort_keys=True)
        answer = self.answers.get(key)
        if answer is None:
            answer = await self.run(function, archive, **arguments)
            self.answers.keep(key, answer)
        return answer

    async def each(
        self, archives: Sequence[ArchiveFile], ask: Callable[[ArchiveFile], Awaitable[Payload]]
    ) -> list[Payload | errors.OpenZimMcpError]:
        """Ask all of some archives at once; for one that fails or is late, the answer is the error."""
        late = errors.OpenZimMcpArchiveError("It did not answer before the deadline.")
        answers: list[Payload | errors.OpenZimMcpError] = [late for _ in archives]

        async def one(number: int, archive: ArchiveFile) -> None:
            try:
                answers[number] = await ask(archive)
            except errors.OpenZimMcpError as error:
                answers[number] = error

        with anyio.move_on_after(self.settings.worker.deadline_seconds):
            async with anyio.create_task_group() as tasks:
                for number, archive in enumerate(archives):
                    tasks.start_soon(one, number, archive)
        return answers
