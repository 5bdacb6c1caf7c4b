"""Standard input and output as lines, read and written by threads that can be abandoned.

The SDK waits for its reader and writer threads, so a signal could not stop the server while the client is silent or
does not read. Here they are daemon threads, and only the event loop waits.
"""

from __future__ import annotations

import os
import queue
import select
import threading
from typing import TYPE_CHECKING

import anyio
from anyio import from_thread, lowlevel

from openzim_mcp.protocol.jsonrpc import MAX_MESSAGE_BYTES

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_CHUNK_BYTES = 1 << 16
_MAX_QUEUED_LINES = 64
_STDIN, _STDOUT, _STDERR = range(3)


def _redirect_to_null(descriptor: int) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, descriptor)
    os.close(null)


class LineReader:
    """The lines of standard input, which is redirected so that nothing else reads from it."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[bytes](_MAX_QUEUED_LINES)
        self._loop = lowlevel.current_token()
        descriptor = os.dup(_STDIN)
        _redirect_to_null(_STDIN)
        threading.Thread(target=self._read, args=(descriptor,), name="stdin", daemon=True).start()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._receive.__aiter__()

    def _read(self, descriptor: int) -> None:
        line = bytearray()
        try:
            while chunk := os.read(descriptor, _CHUNK_BYTES):
                end_of_line, *next_lines = chunk.split(b"\n")
                # Of a line that is too long, just enough is kept to see that it is.
                line += end_of_line[: MAX_MESSAGE_BYTES + 1 - len(line)]
                for start_of_line in next_lines:
                    self._enqueue(line)
                    line = bytearray(start_of_line)
            self._enqueue(line)
            from_thread.run_sync(self._send.close, token=self._loop)
        except (OSError, RuntimeError, anyio.BrokenResourceError):
            return  # the server has stopped

    def _enqueue(self, line: bytearray) -> None:
        message = bytes(line).strip()
        if message:
            from_thread.run(self._send.send, message, token=self._loop)


class LineWriter:
    """Writes lines to standard output, which is redirected so that a stray `print` ends up in the log."""

    def __init__(self) -> None:
        self._loop = lowlevel.current_token()
        self._queue: queue.SimpleQueue[tuple[bytes, anyio.Event]] = queue.SimpleQueue()
        self._is_broken = False
        self._descriptor = os.dup(_STDOUT)
        try:
            os.dup2(_STDERR, _STDOUT)
        except OSError:
            _redirect_to_null(_STDOUT)  # standard error is closed
        threading.Thread(target=self._write, args=(self._descriptor,), name="stdout", daemon=True).start()

    async def write(self, line: bytes) -> None:
        """Write a line and wait until the pipe has taken it; raise `BrokenResourceError` if the pipe is closed."""
        is_written = anyio.Event()
        self._queue.put((line + b"\n", is_written))
        await is_written.wait()
        if self._is_broken:
            raise anyio.BrokenResourceError

    def has_reader(self) -> bool:
        """Return whether somebody may still read what is written; where the system does not tell, yes."""
        if not hasattr(select, "poll"):
            return not self._is_broken
        poll = select.poll()
        poll.register(self._descriptor, 0)
        return not self._is_broken and not poll.poll(0)

    def _write(self, descriptor: int) -> None:
        while True:
            unwritten, is_written = self._queue.get()
            try:
                while unwritten and not self._is_broken:
                    unwritten = unwritten[os.write(descriptor, unwritten) :]
            except OSError:
                self._is_broken = True
            try:
                from_thread.run_sync(is_written.set, token=self._loop)
            except RuntimeError:
                return  # the server has stopped
