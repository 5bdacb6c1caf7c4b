"""A worker process: opens archives with libzim and runs calls on them, one at a time.

It is disposable: libzim may abort, crash or loop in here, and the server starts another one.

    python -m openzim_mcp.worker.main MEMORY_MIB DEADLINE_SECONDS PARENT_PID

With a deadline of 0 the process runs one job, at low priority.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import os
import signal
import sys
import time
import traceback
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from openzim_mcp import calls, errors
from openzim_mcp.calls import archive, reading, search
from openzim_mcp.worker.zim import Archive
from openzim_mcp.zimfile import Identity, stat_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

CALL_MODULES = (archive, reading, search)
"""Importing these makes every call known."""
_GRACE_SECONDS = 2
_RESERVED_DESCRIPTORS = 64
_MAX_DESCRIPTORS = 4096
_JOB_NICENESS = 10
_PROGRESS_SECONDS = 0.1


class OpenArchives:
    """The open archives, each checked against its file on every use, the least recently used closed first."""

    def __init__(self, descriptors: int, memory: int) -> None:
        self._descriptors = descriptors
        self._memory = memory
        self._open: OrderedDict[tuple[str, ...], tuple[Identity, Archive]] = OrderedDict()

    def open(self, name: str, parts: Sequence[str]) -> Archive:
        """Return the archive; if its file has changed, it is opened again."""
        key = tuple(parts)
        try:
            identity = stat_parts(key).identity
            opened = self._open.pop(key, None)
            if opened is None or opened[0] != identity:
                del opened
                self._make_room(len(parts))
                opened = (identity, Archive(name, parts))
                if stat_parts(key).identity != identity:
                    raise errors.ArchiveChanged(f"{name!r} is being replaced.", hint="Ask again in a moment.")
        except OSError as error:
            raise errors.ArchiveUnusable(
                f"{name!r} cannot be read: {error.strerror or 'input/output error'}.",
                hint="The file was removed or its disk is gone; zim_health lists what is there now.",
            ) from error
        self._open[key] = opened
        return opened[1]

    def _make_room(self, parts: int) -> None:
        while self._open and (self._descriptors_after(parts) > self._descriptors or _data_bytes() > self._memory):
            self._open.popitem(last=False)

    def _descriptors_after(self, parts: int) -> int:
        """Count what libzim holds: a descriptor for each part and one for each index."""
        return sum(len(key) + 2 for key in self._open) + parts + 2


def _data_bytes() -> int:
    """Return the memory that the limit counts, where the system tells: mostly the windows of open decompressors.

    These are 8 MB (zstd) to 64 MB (lzma) for each cluster in use, hardly touched but counted.
    """
    if sys.platform != "linux":
        return 0
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")


def _limit_resources(memory_mib: int) -> int:
    """Bound memory and core dumps where the platform can; return how many descriptors archives may take."""
    if resource is None:
        return 256
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Linux counts only writable memory as data, so that the mapped tables of a 100 GB archive stay free.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (memory_mib << 20, resource.getrlimit(kind)[1]))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    raised = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, raised), hard))
        soft = max(soft, raised)
    return max(soft - _RESERVED_DESCRIPTORS, _RESERVED_DESCRIPTORS)


def _exit_with_parent(parent: int) -> None:
    """Have Linux end this process with its parent, even in the middle of a call into libzim."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415  only this needs it

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(0)


def _detach_standard_streams() -> tuple[int, int]:
    """Return private descriptors of the pipes to the server, so that nothing else can read or write them."""
    incoming, outgoing = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    return incoming, outgoing


def _requests(incoming: int) -> Iterator[calls.Request]:
    with open(incoming, "rb") as pipe:
        while len(head := pipe.read(calls.LENGTH.size)) == calls.LENGTH.size:
            yield calls.decode_request(pipe.read(calls.LENGTH.unpack(head)[0]))


class _ProgressReporter:
    """Sends the progress of a job, a few times a second."""

    def __init__(self, send: Callable[[calls.Reply], None]) -> None:
        self._send = send
        self._sent_at = 0.0

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() - self._sent_at >= _PROGRESS_SECONDS:
            self._sent_at = time.monotonic()
            self._send(calls.Progress(done, total))


def _run(archives: OpenArchives, request: calls.Request, report: _ProgressReporter) -> Any:
    """Run the function of a call; a job gets the files themselves, as they may be damaged."""
    call = calls.decode_call(request)
    module, _, name = call.function.partition(":")
    function = getattr(importlib.import_module(f"openzim_mcp.worker.{module}"), name)
    if isinstance(call, calls.Job):
        return function(request.parts, call, report)
    return function(archives.open(request.name, request.parts), call)


def handle(archives: OpenArchives, request: calls.Request, report: _ProgressReporter) -> calls.Reply:
    """Run a call, and return its result or what went wrong."""
    try:
        return calls.Success(calls.encode_result(_run(archives, request, report)))
    except errors.OpenZimMcpError as error:
        return calls.Failure(type(error).__name__, error.message, error.hint, error.details)
    except Exception:  # noqa: BLE001  the server logs it; the caller learns only that it happened
        return calls.Bug(traceback.format_exc(limit=-8))


def _serve(archives: OpenArchives, deadline: float) -> None:
    incoming, outgoing = _detach_standard_streams()
    with open(outgoing, "wb") as pipe, contextlib.suppress(BrokenPipeError), open(os.devnull, "w") as null:

        def send(reply: calls.Reply) -> None:
            pipe.write(calls.frame(reply))
            pipe.flush()

        send(calls.Ready())
        for request in _requests(incoming):
            if deadline:
                # The server ends a call that takes too long; this ends it when there is no server any more.
                faulthandler.dump_traceback_later(deadline + _GRACE_SECONDS, exit=True, file=null)
            reply = handle(archives, request, _ProgressReporter(send))
            faulthandler.cancel_dump_traceback_later()
            send(reply)


def main() -> None:
    """Serve requests until the pipe ends."""
    memory_mib, deadline, parent = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A page makes many objects and no cycles: looking for garbage less often saves a sixth of reading it.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    _exit_with_parent(parent)
    if not deadline and os.name == "posix":
        os.nice(_JOB_NICENESS)
    _serve(OpenArchives(_limit_resources(memory_mib), memory=(memory_mib << 20) // 2), deadline)


if __name__ == "__main__":
    main()
