"""Run several server processes on one socket: a process that dies is replaced, and all are stopped together."""

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
"""Exit code of a process that cannot start, so that another try would fail too."""
_STABLE_SECONDS = 60.0
_MAX_DELAY_SECONDS = 30.0
_spawn = multiprocessing.get_context("spawn")


class Supervisor:
    """Keeps a number of processes running, each of which serves the same listening socket."""

    def __init__(
        self, count: int, serve: Callable[[socket.socket], None], listener: socket.socket, *, grace_seconds: float
    ) -> None:
        self._count = count
        self._serve = serve
        self._listener = listener
        self._grace_seconds = grace_seconds
        self._processes: list[SpawnProcess] = []
        self._started_at: dict[int, float] = {}
        # Processes that ended soon after their start, one after the other.
        self._failures = 0
        self._next_start = 0.0

    def run(self) -> int:
        """Serve until SIGTERM or SIGINT; return the exit code."""
        signals, signal_writer = _spawn.Pipe(duplex=False)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _frame: signal_writer.send(number))
        code = 0
        while not code and not signals.poll():
            delay = self._next_start - time.monotonic()
            while len(self._processes) < self._count and delay <= 0:
                self._start_process()
            timeout = delay if len(self._processes) < self._count else None
            connection.wait([signals, *(process.sentinel for process in self._processes)], timeout)
            code = self._reap()
        self._stop_all()
        if signals.poll() and signals.recv() == signal.SIGINT:
            raise KeyboardInterrupt
        return code

    def _start_process(self) -> None:
        process = _spawn.Process(target=_serve_in_child, args=(self._serve, self._listener))
        process.start()
        self._processes.append(process)
        self._started_at[process.pid or 0] = time.monotonic()

    def _reap(self) -> int:
        """Remove the processes that ended; return an exit code if new ones could not start either."""
        dead = [process for process in self._processes if process.exitcode is not None]
        self._processes = [process for process in self._processes if process not in dead]
        for process in dead:
            delay = self._delay_restart(time.monotonic() - self._started_at.pop(process.pid or 0))
            when = f" in {delay:g} s" if delay else ""
            log.warning("server process %s; restarting%s", _describe_exit(process.exitcode or 0), when)
            metrics.remove_process(process.pid or 0)
        return CANNOT_START if any(process.exitcode == CANNOT_START for process in dead) else 0

    def _delay_restart(self, lifetime: float) -> float:
        """Return how long to wait before the next start: longer each time that a process does not live long."""
        self._failures = self._failures + 1 if lifetime < _STABLE_SECONDS else 1
        delay = min(_MAX_DELAY_SECONDS, 2.0 ** (self._failures - 2)) if self._failures > 1 else 0.0
        self._next_start = time.monotonic() + delay
        return delay

    def _stop_all(self) -> None:
        """Stop all processes; kill those that are still there after the grace period."""
        # First, so that new connections are refused instead of waiting in the backlog.
        self._listener.close()
        for process in self._processes:
            process.terminate()
        deadline = time.monotonic() + self._grace_seconds
        for process in self._processes:
            process.join(max(0.0, deadline - time.monotonic()))
            process.kill()
            process.join()


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exited with code {code}"
    with contextlib.suppress(ValueError):
        return f"was ended by {signal.Signals(-code).name}"
    return f"was ended by signal {-code}"


def _serve_in_child(serve: Callable[[socket.socket], None], listener: socket.socket) -> None:
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        serve(listener)


def _stop_with_parent() -> None:
    """Send SIGTERM to this process when its parent has ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)
