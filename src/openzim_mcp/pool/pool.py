"""The pool of worker processes, seen from the server: `call` runs a service function on an archive.

The server never imports libzim. A worker that crashes or overstays its deadline is replaced, the caller gets an error
that names the archive, and every other call goes on.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream

from openzim_mcp import errors
from openzim_mcp.calls import LARGEST, LENGTH, pack
from openzim_mcp.library.quarantine import SCOPE_ATTRIBUTE, Quarantine, Scope
from openzim_mcp.token_bucket import TokenBucket
from openzim_mcp.zimfile import identify

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from anyio.abc import Process

    from openzim_mcp.zimfile import ArchiveFile

log = logging.getLogger(__name__)

_START_SECONDS = 60
_IDLE_SECONDS = 60
_RESTARTS_PER_SECOND = 4
_RESTART_BURST = 20
_ENVIRONMENT_PREFIX = "OPENZIM_MCP_"


class _Gone(Exception):
    """The worker ended in the middle of an exchange."""

    def __init__(self, returncode: int) -> None:
        super().__init__(returncode)
        self.returncode = returncode

    @property
    def killed_from_outside(self) -> bool:
        """Whether something other than the archive ended it: an operator, or a system short of memory."""
        return os.name == "posix" and self.returncode in {-signal.SIGKILL, -signal.SIGTERM}

    def __str__(self) -> str:
        with contextlib.suppress(ValueError):
            return f"crashed the reader ({signal.Signals(-self.returncode).name})"
        return f"ended the reader (exit code {self.returncode})"


class _Worker:
    """One process and the channel to it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self._output = BufferedByteReceiveStream(process.stdout)
        self.last_archive = ""
        self.idle_since = 0.0

    @classmethod
    async def start(cls, memory_mib: int, deadline: float) -> _Worker:
        arguments = [str(memory_mib), str(deadline), str(os.getpid())]
        process = await anyio.open_process(
            [sys.executable, "-P", "-m", "openzim_mcp.worker.main", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,  # the worker closes it once it runs; until then it says why it cannot
            env={k: v for k, v in os.environ.items() if not k.startswith(_ENVIRONMENT_PREFIX)},
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        worker = cls(process)
        try:
            with anyio.fail_after(_START_SECONDS):
                await worker._receive()
        except BaseException:
            await worker.stop()
            raise
        return worker

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.returncode is None

    async def exchange(self, request: bytes) -> dict[str, Any]:
        """Send a request and return the reply, or raise `_Gone`."""
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._input.send(request)
        return await self._receive()

    async def _receive(self) -> dict[str, Any]:
        try:
            (size,) = LENGTH.unpack(await self._output.receive_exactly(LENGTH.size))
            if size > LARGEST:
                raise errors.OpenZimMcpArchiveError(f"The answer is too large ({size} bytes).", hint="Ask for less.")
            reply: dict[str, Any] = json.loads(await self._output.receive_exactly(size))
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
            raise _Gone(await self._process.wait()) from None
        return reply

    async def stop(self) -> None:
        """End the process and wait until it has ended, whatever it is doing."""
        with anyio.CancelScope(shield=True):
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.aclose()


class Engine:
    """Runs service functions in at most `workers` processes, the first of them started at once."""

    def __init__(self, *, workers: int, deadline: float, memory_mib: int) -> None:
        self.quarantine = Quarantine()
        self._deadline = deadline
        self._memory_mib = memory_mib
        self._slots = anyio.CapacityLimiter(workers)
        self._idle: list[_Worker] = []
        self._hiring = anyio.Lock()
        self._restarts = TokenBucket(_RESTARTS_PER_SECOND, _RESTART_BURST)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Keep workers while the block runs; none is left after it."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._warm_up)
                tasks.start_soon(self._dismiss_idle)
                yield
                tasks.cancel_scope.cancel()
        finally:
            while self._idle:
                await self._idle.pop().stop()

    async def call(self, function: Callable[..., Any], archive: ArchiveFile, /, **arguments: Any) -> Any:
        """Run `function(archive, **arguments)` in a worker and return its value as plain data."""
        if archive.problem:
            raise errors.ArchiveUnusable(
                f"{archive.name!r} cannot be opened: {archive.problem}.",
                hint="Download the file again, or wait until it is complete.",
                archive=archive.shown,
            )
        request = pack(
            {
                "function": f"{function.__module__}:{function.__qualname__}",
                "archive": archive.to_wire(),
                "arguments": arguments,
            }
        )
        scope: Scope = getattr(function, SCOPE_ATTRIBUTE, "archive")
        try:
            reply = await self._run(archive, scope, request)
        except _Gone as gone:
            if not gone.killed_from_outside:
                raise
            reply = await self._run_again(archive, scope, request)
        return self._unpack(archive, reply)

    async def _run(self, archive: ArchiveFile, scope: Scope, request: bytes) -> dict[str, Any]:
        async with self._slots:
            self.quarantine.check(archive, scope)
            worker = await self._take(archive)
            try:
                with anyio.fail_after(self._deadline):
                    reply = await worker.exchange(request)
            except BaseException as error:
                await worker.stop()
                if isinstance(error, TimeoutError):
                    self._give_up(archive, scope, f"it took longer than {self._deadline:g} s", too_slow=True)
                if isinstance(error, _Gone) and not error.killed_from_outside:
                    self._give_up(archive, scope, f"it {error}", too_slow=False)
                raise
            if reply.get("error") == errors.OutOfMemory.__name__:
                await worker.stop()
            else:
                self._put_idle(worker, archive)
            return reply

    async def _run_again(self, archive: ArchiveFile, scope: Scope, request: bytes) -> dict[str, Any]:
        log.warning("a worker was killed from outside; its call is tried once more")
        try:
            return await self._run(archive, scope, request)
        except _Gone as gone:
            raise errors.WorkerFailed(
                f"The process that read {archive.name!r} was killed twice.",
                hint="The system may be short of memory; ask again, or for less at once.",
                archive=archive.shown,
            ) from gone

    def _give_up(self, archive: ArchiveFile, scope: Scope, reason: str, *, too_slow: bool) -> NoReturn:
        """Close what was being read, unless its file has changed in the meantime, and tell the caller."""
        unchanged = False
        with contextlib.suppress(OSError):
            unchanged = identify(archive.parts) == archive.identity
        if not unchanged:
            raise errors.ArchiveChanged(
                f"{archive.name!r} was replaced or removed during the call.", hint="Ask again.", archive=archive.shown
            )
        self.quarantine.add(archive, scope, reason, too_slow=too_slow)
        log.warning("%s of %s quarantined: %s", scope, archive.name, reason)
        what = "Its search index" if scope == "index" else "It"
        raise errors.ArchiveQuarantined(
            f"{archive.name!r} could not be read: {reason}. {what} stays closed until the file changes.",
            hint="Other archives are not affected. zim_health tells whether this one's checksum is right.",
            archive=archive.shown,
            scope=scope,
        )

    def _unpack(self, archive: ArchiveFile, reply: dict[str, Any]) -> Any:
        if "error" in reply:
            error = errors.from_wire(reply)
            error.details.setdefault("archive", archive.shown)
            raise error
        if "failure" in reply:
            log.error("a service call failed in the worker:\n%s", reply["failure"])
            raise errors.OpenZimMcpArchiveError(
                f"Reading {archive.name!r} failed unexpectedly.",
                hint="The server's log has the details; please report them.",
                archive=archive.shown,
            )
        return reply["result"]

    async def _start(self) -> _Worker:
        while wait := self._restarts.take():  # noqa: ASYNC110  it is time that is waited for
            await anyio.sleep(wait)
        try:
            return await _Worker.start(self._memory_mib, self._deadline)
        except (_Gone, TimeoutError, OSError) as error:
            raise errors.WorkerFailed(
                "The process that reads archives cannot be started.",
                hint="The server's log says why; reinstalling openzim-mcp usually helps.",
            ) from error

    async def _warm_up(self) -> None:
        """Have a first worker ready before the first call."""
        async with self._hiring:
            with contextlib.suppress(errors.WorkerFailed):
                self._put_idle(await self._start())

    async def _dismiss_idle(self) -> None:
        """Keep one worker; end those that a burst of calls needed."""
        while True:
            await anyio.sleep(_IDLE_SECONDS / 2)
            while len(self._idle) > 1 and anyio.current_time() - self._idle[0].idle_since > _IDLE_SECONDS:
                await self._idle.pop(0).stop()

    async def _take(self, archive: ArchiveFile) -> _Worker:
        """Return an idle worker, or a new one; not a second one while the first is about to be ready."""
        worker = self._take_idle(archive)
        if worker is None:
            async with self._hiring:
                worker = self._take_idle(archive) or await self._start()
        return worker

    def _take_idle(self, archive: ArchiveFile) -> _Worker | None:
        """Prefer the worker that read this archive last: it has it open and its clusters cached."""
        self._idle = [worker for worker in self._idle if worker.alive]
        if not self._idle:
            return None
        newest = len(self._idle) - 1
        same = next((i for i, worker in enumerate(self._idle) if worker.last_archive == archive.name), newest)
        return self._idle.pop(same)

    def _put_idle(self, worker: _Worker, archive: ArchiveFile | None = None) -> None:
        worker.last_archive = archive.name if archive else ""
        worker.idle_since = anyio.current_time()
        self._idle.append(worker)
