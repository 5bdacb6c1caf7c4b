"""A worker process: opens archives with libzim and runs service calls on them, one at a time.

It is disposable: libzim may abort, crash or loop in here, and the server starts another one.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import json
import os
import signal
import sys
import traceback
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from openzim_mcp import errors
from openzim_mcp.calls import LENGTH, pack
from openzim_mcp.worker.zim import Archive
from openzim_mcp.zimfile import Identity, identify

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import resource
except ImportError:  # Windows has no such limits
    resource = None  # type: ignore[assignment]

_SERVICES = "openzim_mcp.worker."
_GRACE_SECONDS = 2
_SPARE_DESCRIPTORS = 64
_MOST_DESCRIPTORS = 4096


class Shelf:
    """The open archives, each checked against its file on every use, the least recently used closed first."""

    def __init__(self, descriptors: int, memory: int) -> None:
        self._descriptors = descriptors
        self._memory = memory
        self._open: OrderedDict[tuple[str, ...], tuple[Identity, Archive]] = OrderedDict()

    def open(self, name: str, parts: list[str]) -> Archive:
        """Return the archive, opened anew if its file is not the one it was."""
        key = tuple(parts)
        try:
            identity = identify(key)
            held = self._open.pop(key, None)
            if held is None or held[0] != identity:
                del held
                self._make_room(len(parts))
                held = (identity, Archive(name, parts))
                if identify(key) != identity:
                    raise errors.ArchiveChanged(f"{name!r} is being replaced.", hint="Ask again in a moment.")
        except OSError as error:
            raise errors.ArchiveUnusable(
                f"{name!r} cannot be read: {error.strerror or 'input/output error'}.",
                hint="The file was removed or its disk is gone; zim_health lists what is there now.",
            ) from error
        self._open[key] = held
        return held[1]

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


def _limit(memory_mib: int) -> int:
    """Bound memory and core dumps where the platform can; return how many descriptors archives may take."""
    if resource is None:
        return 256
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Linux counts only writable memory as data, so that the mapped tables of a 100 GB archive stay free.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(kind, (memory_mib << 20, resource.getrlimit(kind)[1]))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MOST_DESCRIPTORS)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
        soft = max(soft, wanted)
    return max(soft - _SPARE_DESCRIPTORS, _SPARE_DESCRIPTORS)


def _die_with(parent: int) -> None:
    """Have Linux end this process with its parent, even in the middle of a call into libzim."""
    if sys.platform != "linux":
        return
    import ctypes  # noqa: PLC0415  only this needs it

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:
        sys.exit(0)


def _take_pipes() -> tuple[int, int]:
    """Return private descriptors of the channel, so that nothing else can read or write it."""
    incoming, outgoing = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nothing, standard)
    return incoming, outgoing


def _requests(incoming: int) -> Iterator[dict[str, Any]]:
    with open(incoming, "rb") as pipe:
        while len(head := pipe.read(LENGTH.size)) == LENGTH.size:
            yield json.loads(pipe.read(LENGTH.unpack(head)[0]))


def _answer(shelf: Shelf, request: dict[str, Any]) -> dict[str, Any]:
    module, _, name = request["function"].partition(":")
    if not module.startswith(_SERVICES):
        raise ValueError(module)
    function = getattr(importlib.import_module(module), name)
    return {"result": function(shelf.open(**request["archive"]), **request["arguments"])}


def _serve(shelf: Shelf, request: dict[str, Any]) -> dict[str, Any]:
    try:
        return _answer(shelf, request)
    except errors.OpenZimMcpError as error:
        return error.to_wire()
    except Exception:  # noqa: BLE001  the server logs it; the caller learns only that it happened
        return {"failure": traceback.format_exc(limit=-8)}


def main() -> None:
    """Serve requests until the pipe ends."""
    memory_mib, deadline, parent = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # A page makes many objects and no cycles: looking for garbage less often saves a sixth of reading it.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
    _die_with(parent)
    shelf = Shelf(_limit(memory_mib), memory=(memory_mib << 20) // 2)
    incoming, outgoing = _take_pipes()
    with open(outgoing, "wb") as pipe, contextlib.suppress(BrokenPipeError), open(os.devnull, "w") as nothing:
        pipe.write(pack({"ready": True}))
        pipe.flush()
        for request in _requests(incoming):
            # The server ends a call that overstays; this ends it when there is no server any more.
            faulthandler.dump_traceback_later(deadline + _GRACE_SECONDS, exit=True, file=nothing)
            reply = _serve(shelf, request)
            faulthandler.cancel_dump_traceback_later()
            pipe.write(pack(reply))
            pipe.flush()


if __name__ == "__main__":
    main()
