"""Calls that wait for a worker: each gets the next one that is free, whether it was busy or was started meanwhile."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from openzim_mcp.pool.process import WorkerProcess


@dataclass(eq=False)
class _WantedWorker:
    worker: WorkerProcess | None = None
    error: Exception | None = None
    is_settled: anyio.Event = field(default_factory=anyio.Event)


class WantedWorkers:
    """The calls that wait, in their order, and how many workers are being started for them."""

    def __init__(self) -> None:
        self._waiting: deque[_WantedWorker] = deque()
        self.starting = 0

    def __len__(self) -> int:
        return len(self._waiting)

    async def next_free(self) -> WorkerProcess:
        """Wait for a worker; or raise the error of one that could not be started."""
        wanted = _WantedWorker()
        self._waiting.append(wanted)
        try:
            await wanted.is_settled.wait()
        except BaseException:
            if wanted in self._waiting:
                self._waiting.remove(wanted)
            elif wanted.worker and not self.give(wanted.worker):
                await wanted.worker.stop()
            raise
        if wanted.worker is None:
            assert wanted.error is not None
            raise wanted.error
        return wanted.worker

    def give(self, worker: WorkerProcess) -> bool:
        """Give a free worker to the first call that waits; return whether one did."""
        if not self._waiting:
            return False
        wanted = self._waiting.popleft()
        wanted.worker = worker
        wanted.is_settled.set()
        return True

    def fail(self, error: Exception) -> None:
        """Let the first call that waits fail, as no worker could be started for it."""
        if self._waiting:
            wanted = self._waiting.popleft()
            wanted.error = error
            wanted.is_settled.set()
