"""Several processes that serve the same socket: one that dies is replaced, and all of them end together."""

from __future__ import annotations

import contextlib
import logging
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing import connection
from typing import TYPE_CHECKING

from openzim_mcp.http import metrics

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable
    from multiprocessing.context import SpawnProcess

log = logging.getLogger(__name__)

CANNOT_START = 3
"""The exit code of a process whose like would not start either."""
_spawn = multiprocessing.get_context("spawn")


class Processes:
    """Keeps some processes running, each of which serves a listener."""

    def __init__(
        self, count: int, serve: Callable[[socket.socket], None], listener: socket.socket, *, grace_seconds: float
    ) -> None:
        self._count = count
        self._serve = serve
        self._listener = listener
        self._grace_seconds = grace_seconds
        self._running: list[SpawnProcess] = []

    def run(self) -> int:
        """Serve until a signal comes; return the exit code."""
        told, tell = _spawn.Pipe(duplex=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _frame: tell.send(number))
        code = 0
        while not code and not told.poll():
            while len(self._running) < self._count:
                self._start()
            connection.wait([told, *(process.sentinel for process in self._running)])
            code = self._bury()
        self._end()
        if told.poll() and told.recv() == signal.SIGINT:
            raise KeyboardInterrupt
        return code

    def _start(self) -> None:
        process = _spawn.Process(target=_serve_here, args=(self._serve, self._listener))
        process.start()
        self._running.append(process)

    def _bury(self) -> int:
        """Forget the processes that ended; return an exit code if there is no use in starting others."""
        dead = [process for process in self._running if process.exitcode is not None]
        self._running = [process for process in self._running if process not in dead]
        for process in dead:
            log.warning("a process ended with code %d; another takes its place", process.exitcode)
            metrics.forget(process.pid or 0)
        return CANNOT_START if any(process.exitcode == CANNOT_START for process in dead) else 0

    def _end(self) -> None:
        """Ask all processes to end, and see to it; who comes now is refused, and does not wait for nobody."""
        self._listener.close()
        for process in self._running:
            process.terminate()
        end = time.monotonic() + self._grace_seconds
        for process in self._running:
            process.join(max(0.0, end - time.monotonic()))
            process.kill()
            process.join()


def _serve_here(serve: Callable[[socket.socket], None], listener: socket.socket) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        serve(listener)


def _end_with_parent() -> None:
    """End this process, as if asked to, when the one that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
