"""The pool of worker processes: `call` runs a call on one archive, `call_each` on many.

The server never imports libzim. A worker that crashes or exceeds its deadline is replaced, the caller gets an error
that names the archive, and every other call continues.
"""

from __future__ import annotations

import contextlib
import logging
import zlib
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
import msgspec
from anyio import lowlevel

from openzim_mcp import calls, errors
from openzim_mcp.calls import Call, Result
from openzim_mcp.pool.activity import CallActivity
from openzim_mcp.pool.fair_queue import FairSlots
from openzim_mcp.pool.faults import Faults
from openzim_mcp.pool.outcomes import Collected, Outcomes, ProgressCallback
from openzim_mcp.pool.process import WorkerExited, WorkerProcess, require_success, start_worker
from openzim_mcp.pool.wanted_workers import WantedWorkers
from openzim_mcp.token_bucket import TokenBucket

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from anyio.abc import TaskGroup

    from openzim_mcp.library.facts import FactStore
    from openzim_mcp.pool.results import ResultCache
    from openzim_mcp.zimfile import ArchiveFile

log = logging.getLogger(__name__)

_ReplyHandler = Callable[["ArchiveFile", calls.Reply], Awaitable[None]]

_IDLE_SECONDS = 60
_ABANDONED_SECONDS = 2
"""How long a call that nobody waits for may still take before its worker is ended: most are done in no time."""
_TURN_SECONDS = 0.1
"""How long a worker works for one of many requests before others have their turn."""
_MAX_ARCHIVES = 200
"""How many archives one message names."""
_LONG_CALL_SECONDS = 1.0
_MAX_CRASHES_PER_CALL = 4
"""After so many documents that each ended a worker, a call ends with an error."""
_RESTARTS_PER_SECOND = 4
_RESTART_BURST = 20


class Pool:
    """Runs calls in at most `workers` processes, the first of them started at once."""

    def __init__(
        self, facts: FactStore, results: ResultCache, *, workers: int, deadline: float, memory_mib: int
    ) -> None:
        self.facts = facts
        self.results = results
        self.activity = CallActivity()
        self._deadline = deadline
        self._memory_mib = memory_mib
        self._faults = Faults(facts, deadline)
        self._slots = FairSlots(workers)
        self._lanes = workers
        self._idle: list[WorkerProcess] = []
        self._wanted = WantedWorkers()
        self._start_lock = anyio.Lock()
        self._restarts = TokenBucket(_RESTARTS_PER_SECOND, _RESTART_BURST)
        self._tasks: TaskGroup | None = None

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
            return await self._call_without_index(archive, call, error)

    async def _call_without_index(
        self, archive: ArchiveFile, call: Call[Result], error: errors.OpenZimMcpError
    ) -> Result:
        """Repeat a call without the index, if that is quarantined and the call can do without; else raise the error."""
        if error.details.get("scope") != "index" or not getattr(call, "use_index", False):
            raise error
        return await self._call_cached(archive, msgspec.structs.replace(call, use_index=False))

    async def call_each(
        self,
        archives: Sequence[ArchiveFile],
        call: Call[Result],
        *,
        timeout: float | None = None,  # noqa: ASYNC109  what has replied until then is returned
        progress: ProgressCallback | None = None,
    ) -> Outcomes[Result]:
        """Run a call on many archives at once; one that has not replied in time, by default a call's, has an error.

        A worker gets one message for all archives of its lane.
        """
        collected = Collected[Result](archives, progress)
        lanes: defaultdict[int, list[ArchiveFile]] = defaultdict(list)
        single: list[ArchiveFile] = []
        with anyio.move_on_after(self._deadline if timeout is None else timeout):
            for archive in archives:
                await lowlevel.checkpoint()  # results that are kept take no time, but there may be a thousand
                cached = self.results.get(call, archive.identity) if call.cached else None
                if cached is not None:
                    await collected.add(archive, _return(cached))
                elif self._can_share_message(archive, call):
                    lanes[self._lane_of(archive)].append(archive)
                else:
                    single.append(archive)
            async with anyio.create_task_group() as tasks:
                for lane in lanes.values():
                    tasks.start_soon(self._call_lane, tasks, lane, call, collected)
                tasks.start_soon(self._call_one_by_one, single, call, collected)
        return collected.outcomes()

    def _can_share_message(self, archive: ArchiveFile, call: Call[Any]) -> bool:
        """Return whether an archive is not known to have a problem."""
        try:
            self.facts.require_open(archive, asks_index=call.asks_index, entry=call.entry)
        except errors.OpenZimMcpError:
            return False
        return not archive.problem

    async def _call_one_by_one(
        self, archives: Sequence[ArchiveFile], call: Call[Result], collected: Collected[Result]
    ) -> None:
        for archive in archives:
            await collected.add(archive, self.call(archive, call))

    async def _call_lane(
        self, tasks: TaskGroup, archives: list[ArchiveFile], call: Call[Result], collected: Collected[Result]
    ) -> None:
        """Run a call on some archives in one worker; one that ends it is left out of the next message."""
        remaining = list(reversed(archives))
        to_repeat: list[ArchiveFile] = []

        async def collect(archive: ArchiveFile, reply: calls.Reply) -> None:
            remaining.pop()
            if _is_out_of_memory(reply):  # others may have taken the memory
                to_repeat.append(archive)
            else:
                await collected.add(archive, self._keep(archive, call, reply))

        def leave_others() -> None:
            others = remaining[:-1]
            del remaining[:-1]
            tasks.start_soon(self._call_lane, tasks, others[::-1], call, collected)

        while remaining:
            try:
                with self.activity.call():
                    await self._request_each(remaining[: -_MAX_ARCHIVES - 1 : -1], call, collect, leave_others)
            except WorkerExited:
                to_repeat += remaining[-1:]  # none if it was one of those that are left to another worker
                del remaining[-1:]
            except errors.WorkerFailed as error:  # no worker can be started
                while remaining:
                    await collected.add(remaining.pop(), _raise(error))
            except errors.OpenZimMcpError as error:
                for archive in remaining[-1:]:
                    remaining.pop()
                    await collected.add(archive, self._call_without_index(archive, call, error))
        await self._call_one_by_one(to_repeat, call, collected)

    async def _call_cached(self, archive: ArchiveFile, call: Call[Result]) -> Result:
        cached = self.results.get(call, archive.identity) if call.cached else None
        if cached is not None:
            return cached
        if archive.problem:
            raise errors.ArchiveUnusable(
                f"{archive.name!r} cannot be opened: {archive.problem}.",
                hint="Download the file again, or wait until it is complete.",
                archive=archive.file_name,
            )
        return await self._keep(archive, call, await self._request_until_read(archive, call))

    async def _keep(self, archive: ArchiveFile, call: Call[Result], reply: calls.Reply) -> Result:
        """Return the result in a reply, and keep it if it is to be; raise the error in it."""
        success = require_success(archive, reply)
        result = calls.decode_result(call, success.result)
        is_of_file = success.identity == archive.identity
        if call.describes_file and not is_of_file:
            raise errors.ArchiveChanged(f"{archive.name!r} was replaced.", hint="Ask again in a moment.")
        if call.cached and is_of_file and not getattr(result, "is_partial", False):
            self.results.put(call, archive.identity, result, len(memoryview(success.result)))
        return result

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
        replies: list[calls.Reply] = []

        async def collect(_archive: ArchiveFile, reply: calls.Reply) -> None:
            replies.append(reply)

        with self.activity.call():
            had_others_open = await self._request_each([archive], call, collect, in_new_worker=in_new_worker)
        if _is_out_of_memory(replies[0]) and had_others_open:
            return await self._request(archive, call, in_new_worker=True)
        return replies[0]

    async def _request_each(
        self,
        archives: Sequence[ArchiveFile],
        call: Call[Any],
        on_reply: _ReplyHandler,
        leave_others: Callable[[], None] | None = None,
        *,
        in_new_worker: bool = False,
    ) -> bool:
        """Send a call on some archives to one worker, and hand over its replies until its turn is over.

        `leave_others` is called if one takes long: the others, which this worker will not be asked, need not wait.

        Return whether it had other archives open. If it ends, the first archive without a reply is to blame: raise its
        error, or `WorkerExited` if it may be asked again.
        """
        await self._slots.acquire()
        is_abandoned = False
        pending = list(reversed(archives))
        try:
            self.facts.require_open(archives[0], asks_index=call.asks_index, entry=call.entry)
            worker = await (self._start() if in_new_worker else self._take(archives[0]))
            had_others_open = bool(worker.last_archive)
            try:
                await self._exchange(worker, call, pending, on_reply, leave_others)
            except TimeoutError:
                await self._faults.end_late(worker, pending[-1], call)
            except WorkerExited as exited:
                await worker.stop()
                self._faults.blame_crash(worker, pending[-1], call, exited)
                raise
            except anyio.get_cancelled_exc_class():
                is_abandoned = True
                assert self._tasks is not None
                self._tasks.start_soon(self._finish_abandoned, worker, pending)
                raise
            except BaseException:
                await worker.stop()
                raise
        finally:
            if not is_abandoned:
                self._slots.release()
        return had_others_open

    async def _exchange(
        self,
        worker: WorkerProcess,
        call: Call[Any],
        pending: list[ArchiveFile],
        on_reply: _ReplyHandler,
        leave_others: Callable[[], None] | None,
    ) -> None:
        """Send a call and hand over the replies; `pending` keeps the archives without one, the next one last."""
        await worker.send(call, [self._target(archive) for archive in reversed(pending)], _TURN_SECONDS)
        has_left_others = False
        while pending:
            is_ignored = has_left_others  # another worker was asked
            if not has_left_others:
                has_left_others = await self._wait_long(worker, leave_others if len(pending) > 1 else None)
            reply = await self._receive_in_time(worker)
            if isinstance(reply, calls.Paused):
                break
            archive = pending.pop()
            self.facts.note_reply(archive)
            worker.last_archive = archive.name
            if _is_out_of_memory(reply):
                await worker.stop()
                pending.clear()
            if not is_ignored:
                await on_reply(archive, reply)
        if worker.is_alive:
            self._put_idle(worker)

    async def _receive_in_time(self, worker: WorkerProcess) -> calls.Reply:
        """Return the next reply, or raise `TimeoutError`.

        A worker that waits for its disk, which may have to spin up, has more time once: it cannot work meanwhile.
        """
        with anyio.move_on_after(self._deadline):
            return await worker.receive()
        if await worker.is_computing():
            raise TimeoutError
        with anyio.fail_after(self._deadline * calls.WAITING_SHARE):
            return await worker.receive()

    async def _wait_long(self, worker: WorkerProcess, leave_others: Callable[[], None] | None) -> bool:
        """Wait for a reply for a while; if there is none, leave the other archives to other workers, and say so."""
        if leave_others is None:
            return False
        with anyio.move_on_after(_LONG_CALL_SECONDS):
            await worker.wait()
            return False
        leave_others()
        return True

    def _target(self, archive: ArchiveFile) -> calls.Target:
        crashed_entries = self.facts.of(archive.identity).crashed_entries
        return calls.Target(archive.name, archive.parts, tuple(crashed_entries))

    async def _finish_abandoned(self, worker: WorkerProcess, pending: list[ArchiveFile]) -> None:
        """Give a worker a moment to finish calls that were cancelled, so that it need not be started again."""
        try:
            with anyio.move_on_after(_ABANDONED_SECONDS), contextlib.suppress(WorkerExited, errors.OpenZimMcpError):
                while pending:
                    reply = await worker.receive()
                    if isinstance(reply, calls.Paused):
                        pending.clear()
                    elif _is_out_of_memory(reply):
                        break
                    else:
                        worker.last_archive = pending.pop().name
        finally:
            if pending:
                await worker.stop()
            else:
                self._put_idle(worker)
            self._slots.release()

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
        if worker is None:
            if self._wanted.starting <= len(self._wanted):
                assert self._tasks is not None
                self._wanted.starting += 1
                self._tasks.start_soon(self._start_another)
            worker = await self._wanted.next_free()
        if worker.lane is None:
            worker.lane = self._lane_of(archive)
        return worker

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
        """Prefer the worker of the archive's lane: it has it open and what it read of it cached."""
        self._idle = [worker for worker in self._idle if worker.is_alive]
        if not self._idle:
            return None
        lane, newest = self._lane_of(archive), len(self._idle) - 1
        same = next((i for i, worker in enumerate(self._idle) if worker.lane == lane), newest)
        return self._idle.pop(same)

    def _lane_of(self, archive: ArchiveFile) -> int:
        return zlib.crc32(archive.identity.encode()) % self._lanes

    def _put_idle(self, worker: WorkerProcess) -> None:
        worker.idle_since = anyio.current_time()
        if not self._wanted.give(worker):
            self._idle.append(worker)


async def _return(result: Result) -> Result:  # type: ignore[misc]
    return result


async def _raise(error: errors.OpenZimMcpError) -> NoReturn:
    raise error


def _is_out_of_memory(reply: calls.Reply) -> bool:
    return isinstance(reply, calls.Failure) and reply.error == errors.OutOfMemory.__name__
