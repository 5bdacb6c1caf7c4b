"""Checksums of whole archives, computed aside and remembered by the identity of the file."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
from anyio import to_thread

from openzim_mcp.zimfile import NotAZim, checksum_matches

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from openzim_mcp.library.verdicts import Verdicts
    from openzim_mcp.zimfile import ArchiveFile, Identity

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

    def __init__(self, verdicts: Verdicts | None = None) -> None:
        self._verdicts = verdicts
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

    async def verdict(self, archive: ArchiveFile) -> bool | None:
        """Return what is known of this state of the file, here or in another process: None if it was not verified."""
        known = await self._latest(archive)
        return known.valid if known else None

    async def _latest(self, archive: ArchiveFile) -> Verification | None:
        """Return the verification that is under way here, or that any process has done."""
        valid = await to_thread.run_sync(self._verdicts.recall, archive) if self._verdicts else None
        # Looked up after the wait: of two who ask at once, the second joins the run of the first.
        run = self._known.get(archive.identity)
        if valid is None or (run and (not run.done or run.valid is valid)):
            return run
        return Verification(archive.size, archive.size, valid, done=True)

    async def verify(
        self, archive: ArchiveFile, patience: float, listener: Listener | None = None, *, anew: bool = False
    ) -> Verification:
        """Return the verification, done if it takes less than `patience` seconds; otherwise it goes on by itself.

        One that was done before is taken, unless it shall be done `anew`. A run stops when the last one who waits for
        it is cancelled.
        """
        run = None if anew else await self._latest(archive)
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
                self._forget(archive, run)
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

    def _forget(self, archive: ArchiveFile, run: Verification) -> None:
        """Let the next one who asks have it verified, unless that is under way."""
        if self._known.get(archive.identity) is run:
            del self._known[archive.identity]

    async def _verify(self, archive: ArchiveFile, run: Verification) -> None:
        def report(done: int, total: int) -> None:
            run.bytes_done, run.bytes_total = done, total
            if run.is_abandoned or self._stop.is_set():
                raise _Stopped

        try:
            run.valid = await to_thread.run_sync(
                checksum_matches, archive.parts, report, limiter=self._one_at_a_time, abandon_on_cancel=True
            )
            if self._verdicts and run.valid is not None:
                await to_thread.run_sync(functools.partial(self._verdicts.keep, archive, valid=run.valid))
        except _Stopped:
            run.problem = "no longer waited for"
        except NotAZim:
            run.valid = False
        except OSError as error:
            # A disk may recover, a file come back: the next one who asks has it verified anew.
            self._forget(archive, run)
            run.problem = f"cannot be read to its end: {error.strerror or 'input/output error'}"
        finally:
            run.done = True
            run.finished.set()
