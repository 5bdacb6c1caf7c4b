"""Checksums of whole archives, computed aside and remembered by the identity of the file."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from openzim_mcp.archive.file import NotAZim, checksum_matches

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openzim_mcp.archive.file import ArchiveFile, Identity

Listener = Callable[[int, int], Coroutine[Any, Any, None]]
_LOOK_SECONDS = 0.5


class _Stopped(Exception):
    """The server ends, or nobody wants to know any more."""


@dataclass
class Verification:
    """One run over one state of a file.

    `valid` is None until it is `done`, and where the file has no checksum or, as `problem` then says, cannot be read.
    """

    bytes_done: int = 0
    bytes_total: int = 0
    valid: bool | None = None
    problem: str | None = None
    done: bool = False
    waiting: int = 0
    is_abandoned: bool = False
    finished: anyio.Event = field(default_factory=anyio.Event)

    @property
    def progress(self) -> float:
        """How far it has come, from 0 to 1."""
        return self.bytes_done / self.bytes_total if self.bytes_total else 0.0


class Verifier:
    """Verifies one archive at a time in a thread: hashing and reading leave the server free to answer."""

    def __init__(self) -> None:
        self._known: dict[Identity, Verification] = {}
        self._one_at_a_time = anyio.CapacityLimiter(1)
        self._tasks: anyio.abc.TaskGroup | None = None
        self._stop = threading.Event()

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Verify in the background while the block runs."""
        async with anyio.create_task_group() as self._tasks:
            try:
                yield
            finally:
                self._stop.set()
                self._tasks.cancel_scope.cancel()

    def verdict(self, archive: ArchiveFile) -> bool | None:
        """Return what is known of this state of the file: None if it was never verified."""
        known = self._known.get(archive.identity)
        return known.valid if known else None

    async def verify(self, archive: ArchiveFile, patience: float, listener: Listener | None = None) -> Verification:
        """Return the verification, done if it takes less than `patience` seconds; otherwise it goes on by itself.

        It stops when the last one who waits for it is cancelled.
        """
        run = self._known.get(archive.identity)
        if run is None:
            assert self._tasks is not None, "verify() needs running()"
            run = self._known[archive.identity] = Verification(bytes_total=archive.size)
            self._tasks.start_soon(self._verify, archive, run)
        run.waiting += 1
        try:
            with anyio.move_on_after(patience):
                await self._follow(run, listener)
        except anyio.get_cancelled_exc_class():
            if run.waiting == 1 and not run.done:
                run.is_abandoned = True
                self._known.pop(archive.identity, None)
            raise
        finally:
            run.waiting -= 1
        return run

    async def _follow(self, run: Verification, listener: Listener | None) -> None:
        while not run.done:
            if listener:
                await listener(run.bytes_done, run.bytes_total)
            with anyio.move_on_after(_LOOK_SECONDS):
                await run.finished.wait()

    async def _verify(self, archive: ArchiveFile, run: Verification) -> None:
        def report(done: int, total: int) -> None:
            run.bytes_done, run.bytes_total = done, total
            if run.is_abandoned or self._stop.is_set():
                raise _Stopped

        try:
            run.valid = await to_thread.run_sync(
                checksum_matches, archive.parts, report, limiter=self._one_at_a_time, abandon_on_cancel=True
            )
        except _Stopped:
            run.problem = "no longer waited for"
        except NotAZim:
            run.valid = False
        except OSError as error:
            # A disk may recover, a file come back: the next one who asks has it verified anew.
            self._known.pop(archive.identity, None)
            run.problem = f"cannot be read to its end: {error.strerror or 'input/output error'}"
        finally:
            run.done = True
            run.finished.set()
