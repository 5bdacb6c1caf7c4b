"""The pool of worker processes: `call` runs a call on one archive, `call_each` on many.

The server never imports libzim. A worker that crashes or exceeds its deadline is replaced, the caller gets an error
that names the archive, and every other call continues.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NoReturn

import anyio
import msgspec
from anyio import lowlevel

from openzim_mcp import calls, errors
from openzim_mcp.calls import Call, Result
from openzim_mcp.library.facts import archive_too_slow
from openzim_mcp.pool.fair_queue import FairSlots
from openzim_mcp.pool.process import WorkerExited, WorkerProcess, require_success, start_worker
from openzim_mcp.pool.wanted_workers import WantedWorkers
from openzim_mcp.text import safe_line
from openzim_mcp.token_bucket import TokenBucket
from openzim_mcp.zimfile import stat_parts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from openzim_mcp.library.facts import FactStore, Scope
    from openzim_mcp.pool.results import ResultCache
    from openzim_mcp.zimfile import ArchiveFile

log = logging.getLogger(__name__)

ProgressCallback = Callable[[int, int], Awaitable[None]]
"""Called with the steps done and in all."""

_IDLE_SECONDS = 60
_ABANDONED_SECONDS = 2
"""How long a call that nobody waits for may still take before its worker is ended: most are done in no time."""
_CALLS_PER_WORKER = 2
"""Calls of one request that wait at once: the next one is there when a worker is free."""
_MAX_CRASHES_PER_CALL = 4
"""After so many documents that each ended a worker, a call ends with an error."""
_RESTARTS_PER_SECOND = 4
_RESTART_BURST = 20


@dataclass(frozen=True)
class Outcomes(Generic[Result]):
    """What a call brought from many archives, by their names: results, and why the others failed."""

    results: dict[str, Result]
    errors: dict[str, errors.OpenZimMcpError]


class Pool:
    """Runs calls in at most `workers` processes, the first of them started at once."""

    def __init__(
        self, facts: FactStore, results: ResultCache, *, workers: int, deadline: float, memory_mib: int
    ) -> None:
        self.facts = facts
        self.results = results
        self._deadline = deadline
        self._memory_mib = memory_mib
        self._slots = FairSlots(workers)
        self._calls_at_once = _CALLS_PER_WORKER * workers
        self._idle: list[WorkerProcess] = []
        self._wanted = WantedWorkers()
        self._start_lock = anyio.Lock()
        self._restarts = TokenBucket(_RESTARTS_PER_SECOND, _RESTART_BURST)
        self._tasks: anyio.abc.TaskGroup | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep workers while the block runs; none is left after it."""
        try:
            async with anyio.create_task_group() as self._tasks:
                self._tasks.start_soon(self._start_first)
                self._tasks.start_soon(self._stop_idle)
                yield
                self._tasks.cancel_scope.cancel()
        finally:
            while self._idle:
                await self._idle.pop().stop()

    async def call(self, archive: ArchiveFile, call: Call[Result]) -> Result:
        """Run a call on an archive; if its index is quarantined, without the index where the call can do without."""
        try:
            return await self._call_cached(archive, call)
        except errors.ArchiveQuarantined as error:
            if error.details.get("scope") != "index" or not getattr(call, "use_index", False):
                raise
        return await self._call_cached(archive, msgspec.structs.replace(call, use_index=False))

    async def call_each(
        self,
        archives: Sequence[ArchiveFile],
        call: Call[Result],
        *,
        timeout: float | None = None,  # noqa: ASYNC109  what has replied until then is returned
        progress: ProgressCallback | None = None,
    ) -> Outcomes[Result]:
        """Run a call on many archives at once; one that has not replied in time, by default a call's, has an error."""
        results: dict[str, Result] = {}
        failures: dict[str, errors.OpenZimMcpError] = {}

        remaining = iter(archives)

        async def call_next() -> None:
            for archive in remaining:
                await lowlevel.checkpoint()  # results that are kept take no time, but there may be a thousand
                try:
                    results[archive.name] = await self.call(archive, call)
                except errors.OpenZimMcpError as error:
                    failures[archive.name] = error
                if progress:
                    await progress(len(results) + len(failures), len(archives))

        with anyio.move_on_after(self._deadline if timeout is None else timeout):
            async with anyio.create_task_group() as tasks:
                # A task for each archive would cost more than many a call, to start and to cancel.
                for _ in range(min(len(archives), self._calls_at_once)):
                    tasks.start_soon(call_next)
        too_late = errors.OpenZimMcpArchiveError("It did not answer before the deadline.")
        names = [archive.name for archive in archives]
        return Outcomes(
            {name: results[name] for name in names if name in results},
            {name: failures.get(name, too_late) for name in names if name not in results},
        )

    async def _call_cached(self, archive: ArchiveFile, call: Call[Result]) -> Result:
        if not call.cached:
            return (await self._call_worker(archive, call))[0]
        cached = self.results.get(call, archive.identity)
        if cached is not None:
            return cached
        result, size = await self._call_worker(archive, call)
        if not getattr(result, "is_partial", False):
            self.results.put(call, archive.identity, result, size)
        return result

    async def _call_worker(self, archive: ArchiveFile, call: Call[Result]) -> tuple[Result, int]:
        """Return the result and its encoded size."""
        if archive.problem:
            raise errors.ArchiveUnusable(
                f"{archive.name!r} cannot be opened: {archive.problem}.",
                hint="Download the file again, or wait until it is complete.",
                archive=archive.file_name,
            )
        success = require_success(archive, await self._request_until_read(archive, call))
        return calls.decode_result(call, success.result), len(memoryview(success.result))

    async def _request_until_read(self, archive: ArchiveFile, call: Call[Any]) -> calls.Reply:
        """Return the reply; a document that ended the worker is left out of the next attempt."""
        for _ in range(_MAX_CRASHES_PER_CALL):
            try:
                return await self._request(archive, call)
            except WorkerExited as exited:
                if exited.was_killed:
                    return await self._retry(archive, call)
        raise errors.WorkerFailed(
            f"Several documents of {archive.name!r} crashed the reader.",
            hint="Ask again: they are left out from now on.",
            archive=archive.file_name,
        )

    async def _request(self, archive: ArchiveFile, call: Call[Any], *, in_new_worker: bool = False) -> calls.Reply:
        await self._slots.acquire()
        is_abandoned = False
        try:
            self.facts.require_open(archive, asks_index=call.asks_index, entry=call.entry)
            worker = await (self._start() if in_new_worker else self._take(archive))
            try:
                with anyio.fail_after(self._deadline):
                    reply = await worker.request(
                        archive, call, crashed_entries=self.facts.of(archive.identity).crashed_entries
                    )
            except TimeoutError:
                await self._end_late(worker, archive, call)
            except WorkerExited as exited:
                await worker.stop()
                if exited.was_killed:
                    raise
                if worker.reading:
                    self._leave_out(archive, worker.reading, f"it {exited}")
                    raise
                self._quarantine(archive, call, f"it {exited}", is_timeout=False)
            except anyio.get_cancelled_exc_class():
                is_abandoned = True
                assert self._tasks is not None
                self._tasks.start_soon(self._finish_abandoned, worker, archive)
                raise
            except BaseException:
                await worker.stop()
                raise
            self.facts.note_reply(archive)
            had_others_open = bool(worker.last_archive)
            await self._put_back(worker, archive, reply)
        finally:
            if not is_abandoned:
                self._slots.release()
        if _is_out_of_memory(reply) and had_others_open:
            return await self._request(archive, call, in_new_worker=True)
        return reply

    async def _end_late(self, worker: WorkerProcess, archive: ArchiveFile, call: Call[Any]) -> NoReturn:
        """End a worker that exceeded its deadline, and raise the error of what was slow: disk, document, archive."""
        is_computing = await worker.is_computing()
        await worker.stop()
        if not is_computing:
            self.facts.note_slow_disk(archive)
            raise archive_too_slow(archive, f"a call waited for it for {self._deadline:g} s") from None
        reason = f"it took longer than {self._deadline:g} s"
        if worker.reading:
            self._leave_out(archive, worker.reading, reason)
            raise errors.entry_too_slow(archive.name, safe_line(worker.reading, 200)) from None
        self._quarantine(archive, call, reason, is_timeout=True)

    def _leave_out(self, archive: ArchiveFile, entry: str, reason: str) -> None:
        """Do not read a document again, and keep its archive."""
        self.facts.mark_crashed(archive, entry)
        log.warning("a document of %s is left out: %s", archive.name, reason)

    async def _finish_abandoned(self, worker: WorkerProcess, archive: ArchiveFile) -> None:
        """Give a worker a moment to finish a call that was cancelled, so that it need not be started again."""
        reply = None
        try:
            with anyio.move_on_after(_ABANDONED_SECONDS), contextlib.suppress(WorkerExited, errors.OpenZimMcpError):
                reply = await worker.receive()
        finally:
            if reply is None:
                await worker.stop()
            else:
                await self._put_back(worker, archive, reply)
            self._slots.release()

    async def _put_back(self, worker: WorkerProcess, archive: ArchiveFile, reply: calls.Reply) -> None:
        """Make a worker idle; one that ran out of memory is ended."""
        if _is_out_of_memory(reply):
            await worker.stop()
        else:
            self._put_idle(worker, archive)

    async def _retry(self, archive: ArchiveFile, call: Call[Any]) -> calls.Reply:
        log.warning("a worker was killed from outside; its call is tried once more")
        try:
            return await self._request(archive, call)
        except WorkerExited as exited:
            raise errors.WorkerFailed(
                f"The process that read {archive.name!r} was killed twice.",
                hint="The system may be short of memory; ask again, or for less at once.",
                archive=archive.file_name,
            ) from exited

    def _quarantine(self, archive: ArchiveFile, call: Call[Any], reason: str, *, is_timeout: bool) -> NoReturn:
        """Quarantine what was being read, unless its file has changed in the meantime, and tell the caller."""
        is_unchanged = False
        with contextlib.suppress(OSError):
            is_unchanged = stat_parts(archive.parts).identity == archive.identity
        if not is_unchanged:
            raise errors.ArchiveChanged(
                f"{archive.name!r} was replaced or removed during the call.",
                hint="Ask again.",
                archive=archive.file_name,
            )
        if is_timeout and call.entry is not None:
            # Calls about the archive as a whole tell whether it is the archive that does not answer.
            self.facts.mark_slow(archive, call.entry)
            log.warning("an entry of %s takes longer than %g s to read", archive.name, self._deadline)
            raise errors.entry_too_slow(archive.name, safe_line(call.entry, 200))
        scope: Scope = "index" if call.asks_index else "archive"
        self.facts.quarantine(archive, scope, reason, is_timeout=is_timeout)
        log.warning("%s of %s quarantined: %s", scope, archive.name, reason)
        subject = "Its search index" if scope == "index" else "It"
        raise errors.ArchiveQuarantined(
            f"{archive.name!r} could not be read: {reason}. {subject} stays quarantined until the file changes.",
            hint="Other archives are not affected. zim_health tells whether this one's checksum is right.",
            archive=archive.file_name,
            scope=scope,
        )

    async def _start(self) -> WorkerProcess:
        while wait := self._restarts.take():  # noqa: ASYNC110  it is time that is waited for
            await anyio.sleep(wait)
        return await start_worker(self._memory_mib, self._deadline)

    async def _start_first(self) -> None:
        """Have a first worker ready before the first call."""
        async with self._start_lock:
            with contextlib.suppress(errors.WorkerFailed):
                self._put_idle(await self._start())

    async def _stop_idle(self) -> None:
        """Keep one worker; end those that a burst of calls needed."""
        while True:
            await anyio.sleep(_IDLE_SECONDS / 2)
            while len(self._idle) > 1 and anyio.current_time() - self._idle[0].idle_since > _IDLE_SECONDS:
                await self._idle.pop(0).stop()

    async def _take(self, archive: ArchiveFile) -> WorkerProcess:
        """Return an idle worker; else the next one that is free, while another one is started."""
        worker = self._take_idle(archive)
        if worker is not None:
            return worker
        if self._wanted.starting <= len(self._wanted):
            assert self._tasks is not None
            self._wanted.starting += 1
            self._tasks.start_soon(self._start_another)
        return await self._wanted.next_free()

    async def _start_another(self) -> None:
        """Start a worker, one at a time, if a call still waits for one when it is its turn."""
        try:
            async with self._start_lock:
                if self._wanted:
                    self._put_idle(await self._start())
        except (errors.OpenZimMcpError, msgspec.MsgspecError) as error:
            self._wanted.fail(error)
        finally:
            self._wanted.starting -= 1

    def _take_idle(self, archive: ArchiveFile) -> WorkerProcess | None:
        """Prefer the worker that read this archive last: it has it open and its clusters cached."""
        self._idle = [worker for worker in self._idle if worker.is_alive]
        if not self._idle:
            return None
        newest = len(self._idle) - 1
        same = next((i for i, worker in enumerate(self._idle) if worker.last_archive == archive.name), newest)
        return self._idle.pop(same)

    def _put_idle(self, worker: WorkerProcess, archive: ArchiveFile | None = None) -> None:
        worker.last_archive = archive.name if archive else ""
        worker.idle_since = anyio.current_time()
        if not self._wanted.give(worker):
            self._idle.append(worker)


def _is_out_of_memory(reply: calls.Reply) -> bool:
    return isinstance(reply, calls.Failure) and reply.error == errors.OutOfMemory.__name__
