"""Standard input and output as lines whose reader and writer can be cancelled.

The SDK reads and writes in threads that it waits for, so that a signal could not end the server while the client is
silent, or does not read. Here the threads are daemons, and the waits are ordinary ones.
"""

from __future__ import annotations

import os
import queue
import threading
from typing import TYPE_CHECKING

import anyio
from anyio import from_thread, lowlevel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_CHUNK = 1 << 16
_STDIN, _STDOUT, _STDERR = range(3)


def _divert(descriptor: int) -> None:
    """Have a descriptor lead nowhere."""
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, descriptor)
    os.close(nothing)


class StdinLines:
    """The lines of standard input, which nothing else reads from now on."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[bytes](64)
        self._loop = lowlevel.current_token()
        wire = os.dup(_STDIN)
        _divert(_STDIN)
        threading.Thread(target=self._read, args=(wire,), name="stdin", daemon=True).start()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._receive.__aiter__()

    def _read(self, wire: int) -> None:
        pieces: list[bytes] = []
        try:
            while chunk := os.read(wire, _CHUNK):
                first, *others = chunk.split(b"\n")
                pieces.append(first)
                for piece in others:
                    self._pass_on(pieces)
                    pieces = [piece]
            self._pass_on(pieces)
            from_thread.run_sync(self._send.close, token=self._loop)
        except (OSError, RuntimeError, anyio.BrokenResourceError):
            return  # the server has ended

    def _pass_on(self, pieces: list[bytes]) -> None:
        line = b"".join(pieces).strip()
        if line:
            from_thread.run(self._send.send, line, token=self._loop)


class StdoutLines:
    """Standard output, which nothing else writes to from now on: what is printed by mistake goes to the log."""

    def __init__(self) -> None:
        self._loop = lowlevel.current_token()
        self._waiting: queue.SimpleQueue[tuple[bytes, anyio.Event]] = queue.SimpleQueue()
        self._is_broken = False
        wire = os.dup(_STDOUT)
        try:
            os.dup2(_STDERR, _STDOUT)
        except OSError:
            _divert(_STDOUT)  # there is no log either
        threading.Thread(target=self._write, args=(wire,), name="stdout", daemon=True).start()

    async def write(self, line: bytes) -> None:
        """Write a line and wait until the client has room for it; raise `BrokenResourceError` if there is none left."""
        written = anyio.Event()
        self._waiting.put((line + b"\n", written))
        await written.wait()
        if self._is_broken:
            raise anyio.BrokenResourceError

    def _write(self, wire: int) -> None:
        while True:
            rest, written = self._waiting.get()
            try:
                while rest and not self._is_broken:
                    rest = rest[os.write(wire, rest) :]
            except OSError:
                self._is_broken = True
            try:
                from_thread.run_sync(written.set, token=self._loop)
            except RuntimeError:
                return  # the server has ended
