"""Long-running work on an archive, such as verification: progress, cancellation, low priority.

A job runs in a process of its own, outside the pool, so that it never holds up a call; it is never too slow, and a
crash does not quarantine the archive.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic

import anyio
from anyio import to_thread

from openzim_mcp import calls, errors
from openzim_mcp.calls import Call, Job, Result
from openzim_mcp.pool.process import WorkerExited, WorkerProcess, require_success, start_worker

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence

    from openzim_mcp.library.facts import FactStore
    from openzim_mcp.pool.activity import CallActivity
    from openzim_mcp.pool.outcomes import ProgressCallback
    from openzim_mcp.zimfile import ArchiveFile, Identity

_PROGRESS_INTERVAL_SECONDS = 0.5
_MAX_PAUSE_SECONDS = 1.0
"""How long a job that yields to calls waits for them until it goes on for a moment, a twentieth of the time."""


@dataclass
class JobRun(Generic[Result]):
    """One run of a job; `result` is None until it has finished, and if it failed (`error`).

    `has_crashed` if its process ended by itself.
    """

    done: int = 0
    total: int = 0
    result: Result | None = None
    error: str | None = None
    has_crashed: bool = False
    waiters: int = 0
    finished: anyio.Event = field(default_factory=anyio.Event)
    scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def progress(self) -> float:
        """How far it is, from 0 to 1."""
        return self.done / self.total if self.total else 0.0


class JobRunner:
    """Runs one job of each queue at a time; who asks for the same job on the same file shares its run."""

    def __init__(self, facts: FactStore, activity: CallActivity, *, memory_mib: int) -> None:
        self._facts = facts
        self._activity = activity
        self._memory_mib = memory_mib
        self._runs: dict[tuple[Identity, Job[Any]], JobRun[Any]] = {}
        self._slots: defaultdict[str, anyio.CapacityLimiter] = defaultdict(lambda: anyio.CapacityLimiter(1))
        self._tasks: anyio.abc.TaskGroup | None = None

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run jobs in the background while the block runs."""
        async with anyio.create_task_group() as self._tasks:
            try:
                yield
            finally:
                self._tasks.cancel_scope.cancel()

    async def latest(self, archive: ArchiveFile, job: Job[Result]) -> JobRun[Result] | None:
        """Return the run that is in progress here, or one with the result that any process has saved."""
        saved = await to_thread.run_sync(self._facts.load, archive, job.fact, calls.result_type(type(job)))
        # Looked up after the wait: of two who ask at once, the second joins the run of the first.
        run = self._runs.get((archive.identity, job))
        if run is not None or saved is None:
            return run
        run = JobRun(archive.size, archive.size, saved)
        run.finished.set()
        return run

    async def run(
        self,
        archive: ArchiveFile,
        job: Job[Result],
        *,
        timeout: float,  # noqa: ASYNC109  a run continues after it
        progress: ProgressCallback | None = None,
        force: bool = False,
    ) -> JobRun[Result]:
        """Return the run of a job, finished if it takes less than `timeout` seconds; otherwise it continues by itself.

        A saved result is taken, unless `force` asks for a new one. A run is cancelled with the last one who waits.
        """
        run = self._runs.get((archive.identity, job)) if force else await self.latest(archive, job)
        if run is None:
            run = self._start(archive, job)
        run.waiters += 1
        try:
            with anyio.move_on_after(timeout):
                await self._follow(run, progress)
        except anyio.get_cancelled_exc_class():
            if run.waiters == 1:
                run.scope.cancel()
            raise
        finally:
            run.waiters -= 1
        return run

    async def run_each(
        self, archives: Sequence[ArchiveFile], call: Call[object], *, max_seconds: float
    ) -> AsyncGenerator[tuple[ArchiveFile, str | None]]:
        """Run a short call on one archive after the other, in one process of low priority.

        Yield each archive when it is done, with the reason if it failed; another process goes on after one that ended.
        """
        worker: WorkerProcess | None = None
        try:
            for archive in archives:
                worker = worker or await start_worker(self._memory_mib, deadline=0)
                problem: str | None = "it takes too long"
                try:
                    with anyio.move_on_after(max_seconds):
                        require_success(archive, await worker.request(archive, call))
                        problem = None
                except errors.OpenZimMcpError as error:
                    problem = error.message
                except WorkerExited as exited:
                    problem = f"it {exited}"
                if problem:
                    await worker.stop()
                    worker = None
                yield archive, problem
        finally:
            if worker:
                await worker.stop()

    async def _follow(self, run: JobRun[Any], progress: ProgressCallback | None) -> None:
        while not run.finished.is_set():
            if progress:
                await progress(run.done, run.total)
            with anyio.move_on_after(_PROGRESS_INTERVAL_SECONDS):
                await run.finished.wait()

    def _start(self, archive: ArchiveFile, job: Job[Result]) -> JobRun[Result]:
        assert self._tasks is not None, "run() needs running()"
        run: JobRun[Result] = JobRun(total=archive.size)
        self._runs[archive.identity, job] = run
        self._tasks.start_soon(self._run, archive, job, run)
        return run

    async def _run(self, archive: ArchiveFile, job: Job[Result], run: JobRun[Result]) -> None:
        try:
            with run.scope:
                async with self._slots[job.queue]:
                    run.result, identity = await self._run_in_worker(archive, job, run)
                if identity == archive.identity and job.is_final(run.result):
                    await to_thread.run_sync(self._facts.save, archive, job.fact, run.result)
            if run.scope.cancelled_caught:
                run.error = "cancelled"
        except errors.OpenZimMcpError as error:
            run.error = error.message
        except WorkerExited as exited:
            run.error = f"it {exited}"
            run.has_crashed = True
        finally:
            del self._runs[archive.identity, job]
            run.finished.set()

    async def _run_in_worker(self, archive: ArchiveFile, job: Job[Result], run: JobRun[Result]) -> tuple[Result, str]:
        """Return the result, and the identity of the file that it is of."""

        async def report(progress: calls.Progress) -> None:
            run.done, run.total = progress.done, progress.total
            if job.yields_to_calls:
                await self._activity.wait_until_quiet(_MAX_PAUSE_SECONDS)

        worker = await start_worker(self._memory_mib, deadline=0)
        try:
            reply = await worker.request(archive, job, report)
        finally:
            await worker.stop()
        success = require_success(archive, reply)
        return calls.decode_result(job, success.result), success.identity
