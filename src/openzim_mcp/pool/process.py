"""One worker process, as the server sees it: start, request, stop."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import anyio
import msgspec
from anyio.streams.buffered import BufferedByteReceiveStream

from openzim_mcp import calls, errors
from openzim_mcp.logs import TRACEBACK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anyio.abc import Process

    from openzim_mcp.zimfile import ArchiveFile

log = logging.getLogger(__name__)

ReportCallback = Callable[[calls.Progress], Awaitable[None]]
"""Is called with the progress of a job, which goes on when it returns."""

_START_TIMEOUT_SECONDS = 60
_SETTINGS_PREFIX = "OPENZIM_MCP_"
_MAX_PATH_CHARS = 10_000
_STATE_SAMPLES = 9
_STATE_INTERVAL_SECONDS = 0.01


class WorkerExited(Exception):
    """The worker process ended in the middle of a request."""

    def __init__(self, returncode: int) -> None:
        super().__init__(returncode)
        self.returncode = returncode

    @property
    def was_killed(self) -> bool:
        """Whether something other than the archive ended it: an operator, or a system that is out of memory."""
        return os.name == "posix" and self.returncode in {-signal.SIGKILL, -signal.SIGTERM}

    def __str__(self) -> str:
        with contextlib.suppress(ValueError):
            return f"crashed the reader ({signal.Signals(-self.returncode).name})"
        return f"ended the reader (exit code {self.returncode})"


class WorkerProcess:
    """A process and the pipes to it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        assert process.stdin is not None
        assert process.stdout is not None
        self._input = process.stdin
        self._output = BufferedByteReceiveStream(process.stdout)
        self._frame_bytes: int | None = None
        """The size of the frame that is being received: its header has been read."""
        self.reading = ""
        """The entry that it is reading with a library that may end it."""
        self.lane: int | None = None
        """Which archives it is asked about first: each has its lane, so that it is open in one worker only."""
        self.last_archive = ""
        self.idle_since = 0.0

    @classmethod
    async def start(cls, memory_mib: int, deadline: float) -> WorkerProcess:
        """Start a process and wait until it is ready; without a deadline (0) it is one for a job."""
        arguments = [str(memory_mib), str(deadline), str(os.getpid())]
        process = await anyio.open_process(
            [sys.executable, "-P", "-m", "openzim_mcp.worker.main", *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None,  # the worker closes it once it runs; until then it says why it cannot
            env={k: v for k, v in os.environ.items() if not k.startswith(_SETTINGS_PREFIX)},
            # Ctrl-C on a terminal reaches all processes of its session; a worker would print where it was importing.
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        worker = cls(process)
        try:
            with anyio.fail_after(_START_TIMEOUT_SECONDS):
                await worker.receive()
        except BaseException:
            await worker.stop()
            raise
        return worker

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.returncode is None

    async def request(
        self, archive: ArchiveFile, call: calls.Call[Any], on_progress: ReportCallback | None = None
    ) -> calls.Reply:
        """Send a call and return the reply; or raise `WorkerExited`."""
        await self.send(call, [calls.Target(archive.name, archive.parts)])
        return await self.receive(on_progress)

    async def send(self, call: calls.Call[Any], targets: Sequence[calls.Target], seconds: float = 0.0) -> None:
        """Send a call for some archives; `receive` returns a reply for each, or `Paused` after so many seconds."""
        self.reading = ""
        arguments = msgspec.Raw(calls.encode_call(call))
        await self._send_frame(calls.Request(call.function, targets[0], arguments, list(targets[1:]), seconds))

    async def _send_frame(self, message: calls.Struct) -> None:
        with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await self._input.send(calls.encode_frame(message))

    async def receive(self, on_progress: ReportCallback | None = None) -> calls.Reply:
        """Return the next reply; if this is cancelled, the next call returns it."""
        while isinstance(reply := await self._receive_frame(), calls.Progress | calls.Reading):
            if isinstance(reply, calls.Reading):
                self.reading = reply.entry[:_MAX_PATH_CHARS]
                continue
            if on_progress:
                await on_progress(reply)
            await self._send_frame(calls.Continue())
        return reply

    async def wait(self) -> None:
        """Wait until a reply begins, or the process has ended; `receive` says which."""
        with contextlib.suppress(anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
            await self._receive_length()

    async def _receive_length(self) -> int:
        if self._frame_bytes is None:
            (self._frame_bytes,) = calls.LENGTH.unpack(await self._output.receive_exactly(calls.LENGTH.size))
        return self._frame_bytes

    async def _receive_frame(self) -> calls.Reply:
        try:
            self._frame_bytes = await self._receive_length()
            if self._frame_bytes > calls.MAX_FRAME_BYTES:
                raise errors.OpenZimMcpArchiveError(
                    f"The answer is too large ({self._frame_bytes} bytes).", hint="Ask for less."
                )
            body = await self._output.receive_exactly(self._frame_bytes)
        except (anyio.IncompleteRead, anyio.EndOfStream, anyio.BrokenResourceError):
            raise WorkerExited(await self._process.wait()) from None
        self._frame_bytes = None
        return calls.decode_reply(body)

    async def is_computing(self) -> bool:
        """Return whether the process runs, or would if a core were free, and does not wait for a disk.

        True also where the system does not tell.
        """
        states = []
        for _ in range(_STATE_SAMPLES):
            try:
                stat = await anyio.Path(f"/proc/{self._process.pid}/stat").read_text()
            except OSError:
                return True
            states.append(stat.rpartition(")")[2].split()[0])
            await anyio.sleep(_STATE_INTERVAL_SECONDS)
        return states.count("R") > _STATE_SAMPLES // 2

    async def stop(self) -> None:
        """End the process and wait until it has ended, whatever it is doing."""
        with anyio.CancelScope(shield=True):
            with contextlib.suppress(ProcessLookupError):
                self._process.kill()
            await self._process.aclose()


async def start_worker(memory_mib: int, deadline: float) -> WorkerProcess:
    """Start a worker process, another one if something kills it before it is ready, or raise `WorkerFailed`."""
    try:
        try:
            return await WorkerProcess.start(memory_mib, deadline)
        except WorkerExited as exited:
            if not exited.was_killed:
                raise
            return await WorkerProcess.start(memory_mib, deadline)
    except (WorkerExited, TimeoutError, OSError) as error:
        raise errors.WorkerFailed(
            "The process that reads archives cannot be started.",
            hint="The server's log says why; reinstalling openzim-mcp usually helps.",
        ) from error


def require_success(archive: ArchiveFile, reply: calls.Reply) -> calls.Success:
    """Return a successful reply, or raise the error that it carries."""
    if isinstance(reply, calls.Success):
        return reply
    if isinstance(reply, calls.Failure):
        raise errors.rebuild_error(
            reply.error, reply.message, reply.hint, {"archive": archive.file_name} | reply.details
        )
    traceback = reply.traceback.strip() if isinstance(reply, calls.Bug) else str(reply)
    log.error("a call failed in the worker: %s", traceback.rpartition("\n")[2], extra={TRACEBACK: traceback})
    raise errors.OpenZimMcpArchiveError(
        f"Reading {archive.name!r} failed unexpectedly.",
        hint="The server's log has the details; please report them.",
        archive=archive.file_name,
    )
