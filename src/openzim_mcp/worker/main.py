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

import msgspec

from openzim_mcp import calls, errors
from openzim_mcp.calls import archive, links, page, places, reading, search, subjects
from openzim_mcp.memory import return_large_blocks
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers.html import ParserError
from openzim_mcp.worker.readers.pdf.crashes import crash_reporter
from openzim_mcp.worker.reading.article import forget_documents
from openzim_mcp.worker.zim import Archive, ClosedArchive, enlarge_cluster_cache, out_of_memory, reduce_cluster_cache
from openzim_mcp.zimfile import Identity, stat_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import BinaryIO

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

CALL_MODULES = (archive, links, page, places, reading, search, subjects)
"""Imported so that every call is registered."""
_GRACE_SECONDS = 2
_MAX_OPEN, _MAX_OPEN_OF_MANY = 32, 12
"""How many archives stay open: each takes 0.3 MB and 0.6 ms to open again; two workers have those of most libraries.

Where there are more, the next one that is asked for is hardly ever among those that are open, so fewer are kept.
"""
_RESERVED_DESCRIPTORS = 64
_MAX_DESCRIPTORS = 4096
_MAX_INDEXES = 3
"""Titles and full text, in the archive, and passages, in the cache."""
_JOB_NICENESS = 10
_PROGRESS_SECONDS = 0.05
"""How long a job works before it may have to wait for calls."""


class OpenArchives:
    """The open archives; the least recently used is closed first, and one whose file has changed is opened again."""

    def __init__(self, max_descriptors: int, max_data_bytes: int) -> None:
        self._max_descriptors = max_descriptors
        self._max_data_bytes = max_data_bytes
        self._max_open = _MAX_OPEN
        self._descriptors_before = _count_descriptors()
        self._open: OrderedDict[tuple[str, ...], tuple[Identity, Archive]] = OrderedDict()

    def closed(self, name: str, parts: Sequence[str]) -> ClosedArchive:
        """Return an archive for a call that may do without opening it."""
        with _translated_errors(name):
            return ClosedArchive(stat_parts(parts).identity, lambda: self.open(name, parts))

    def open(self, name: str, parts: Sequence[str]) -> Archive:
        """Return the archive, opened if it is not, or if its file has changed."""
        key = tuple(parts)
        with _translated_errors(name):
            identity = stat_parts(key).identity
            opened = self._open.pop(key, None)
            # Also for an open one: its indexes are opened when they are first asked.
            self._close_least_recently_used(len(parts))
            if opened is None or opened[0] != identity:
                del opened
                opened = (identity, Archive(name, parts))
                if stat_parts(key).identity != identity:
                    raise errors.ArchiveChanged(f"{name!r} is being replaced.", hint="Ask again in a moment.")
        self._open[key] = opened
        return opened[1]

    def _close_least_recently_used(self, parts: int) -> None:
        if _data_bytes() > self._max_data_bytes:
            reduce_cluster_cache()
        if len(self._open) >= _MAX_OPEN:
            self._max_open = _MAX_OPEN_OF_MANY
        while self._open and (
            len(self._open) >= self._max_open
            or self._descriptors_after(parts) > self._max_descriptors
            or _data_bytes() > self._max_data_bytes
        ):
            _, (_, archive) = self._open.popitem(last=False)
            forget_documents(archive)
            del archive
            if _count_descriptors() - self._descriptors_before > self._max_descriptors:
                gc.collect()  # an archive that is part of a cycle is closed only then

    def _descriptors_after(self, parts: int) -> int:
        """Return how many descriptors archives use with one more: one per part and index, or as many as there are."""
        assumed = sum(len(key) + _MAX_INDEXES for key in self._open)
        return max(assumed, _count_descriptors() - self._descriptors_before) + parts + _MAX_INDEXES


@contextlib.contextmanager
def _translated_errors(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise errors.ArchiveUnusable(
            f"{name!r} cannot be read: {error.strerror or 'input/output error'}.",
            hint="The file or its disk was removed; zim_health lists the archives that are there now.",
        ) from error


def _count_descriptors() -> int:
    """Return how many descriptors are open; 0 if the system does not tell."""
    try:
        return len(os.listdir("/proc/self/fd"))
    except OSError:
        return 0


def _data_bytes() -> int:
    """Return the memory that counts towards the limit; 0 if the system does not tell.

    Most of it are the windows of decompressors: 8 MB (zstd) to 64 MB (lzma) per cluster, counted even if untouched.
    """
    if sys.platform != "linux":
        return 0
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[5]) * os.sysconf("SC_PAGE_SIZE")


def _limit_resources(memory_mib: int) -> int:
    """Limit memory and core dumps, if the platform can; return how many descriptors archives may use."""
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
    """Have Linux kill this process when its parent exits, even in the middle of a call into libzim."""
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


def _read_frame(pipe: BinaryIO) -> bytes | None:
    """Return the next message; None if the server is gone."""
    head = pipe.read(calls.LENGTH.size)
    return pipe.read(calls.LENGTH.unpack(head)[0]) if len(head) == calls.LENGTH.size else None


class _ProgressReporter:
    """Sends the progress of a job, several times a second, and waits until the server lets it go on."""

    def __init__(self, send: Callable[[calls.Reply], None], wait: Callable[[], object]) -> None:
        self._send = send
        self._wait = wait
        self._continued_at = 0.0

    def __call__(self, done: int, total: int) -> None:
        if time.monotonic() - self._continued_at >= _PROGRESS_SECONDS:
            self._send(calls.Progress(done, total))
            self._wait()
            self._continued_at = time.monotonic()


def _dispatch(
    archives: OpenArchives, request: calls.Request, report: _ProgressReporter, deadline_seconds: float
) -> tuple[Any, str]:
    """Run the function of a call on the open archive, and return its result and the identity of the file.

    A job gets the paths of the files, as they may be damaged.
    """
    call = calls.decode_call(request)
    timer.start_call(deadline_seconds, is_about_entry=call.entry is not None)
    module, _, name = call.function.partition(":")
    function = getattr(importlib.import_module(f"openzim_mcp.worker.{module}"), name)
    name, parts = request.target.name, request.target.parts
    if isinstance(call, calls.Job):
        before = _find_identity(parts)
        result = function(parts, call, report)
        return result, before if _find_identity(parts) == before else ""
    archive = archives.open(name, parts) if call.opens_archive else archives.closed(name, parts)
    return function(archive, call), archive.identity


def _find_identity(parts: Sequence[str]) -> str:
    """Return the identity of a file; empty if it is gone."""
    with contextlib.suppress(OSError):
        return stat_parts(parts).identity
    return ""


def handle_request(
    archives: OpenArchives, request: calls.Request, report: _ProgressReporter, deadline_seconds: float = 0
) -> calls.Reply:
    """Run a call and return its result or its error."""
    try:
        try:
            result, identity = _dispatch(archives, request, report, deadline_seconds)
            return calls.Success(calls.encode_result(result), identity)
        except (MemoryError, ParserError) as error:
            # Any bytes are HTML to the parser and its selectors are ours: it fails only where memory ends.
            raise out_of_memory(request.target.name) from error
    except errors.OpenZimMcpError as error:
        return calls.Failure(type(error).__name__, error.message, error.hint, error.details)
    except Exception:  # noqa: BLE001  the server logs it and answers with a generic error
        return calls.Bug(traceback.format_exc(limit=-8))


def _handle_requests(archives: OpenArchives, deadline_seconds: float) -> None:
    incoming, outgoing = _detach_standard_streams()
    with (
        open(incoming, "rb") as server,
        open(outgoing, "wb") as pipe,
        contextlib.suppress(BrokenPipeError),
        open(os.devnull, "w") as null,
    ):

        def send(reply: calls.Reply) -> None:
            pipe.write(calls.encode_frame(reply))
            pipe.flush()

        def handle(request: calls.Request) -> None:
            crash_reporter.start_call(lambda path: send(calls.Reading(path)), request.target.crashed_entries)
            report = _ProgressReporter(send, lambda: _read_frame(server))
            send(handle_request(archives, request, report, deadline_seconds))

        def restart_timer() -> float:
            # The server ends a call that takes too long; this ends it if the server is gone.
            if deadline_seconds:
                seconds = deadline_seconds * (1 + calls.WAITING_SHARE) + _GRACE_SECONDS
                faulthandler.dump_traceback_later(seconds, exit=True, file=null)
            return time.monotonic()

        send(calls.Ready())
        while (frame := _read_frame(server)) is not None:
            request = calls.decode_request(frame)
            started = timed = restart_timer()
            handle(request)
            for target in request.others:
                now = time.monotonic()
                if now - started >= request.seconds:
                    send(calls.Paused())
                    break
                timed = restart_timer() if now - timed > _GRACE_SECONDS / 2 else timed
                handle(msgspec.structs.replace(request, target=target))
            faulthandler.cancel_dump_traceback_later()


def main() -> None:
    """Handle requests until the pipe is closed."""
    memory_mib, deadline_seconds, parent = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A page makes many objects and no cycles: fewer collections save a sixth of the time to read it.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    return_large_blocks()
    enlarge_cluster_cache(memory_mib)
    _exit_with_parent(parent)
    if not deadline_seconds and os.name == "posix":
        os.nice(_JOB_NICENESS)
    _handle_requests(
        OpenArchives(_limit_resources(memory_mib), max_data_bytes=(memory_mib << 20) // 2), deadline_seconds
    )


if __name__ == "__main__":
    main()
