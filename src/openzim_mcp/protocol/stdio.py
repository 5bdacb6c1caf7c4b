"""Standard input as a stream of lines whose reader can be cancelled.

The SDK reads standard input in a thread that it waits for, so that a signal could not end the server while the client
is silent. Here the thread is a daemon, and the wait for the next line is an ordinary one.
"""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import anyio
from anyio import from_thread, lowlevel

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_CHUNK = 1 << 16


class StdinLines:
    """The lines of standard input, as text."""

    def __init__(self) -> None:
        self._send, self._receive = anyio.create_memory_object_stream[str](64)
        self._loop = lowlevel.current_token()
        wire = os.dup(0)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        threading.Thread(target=self._read, args=(wire,), name="stdin", daemon=True).start()

    def __aiter__(self) -> AsyncIterator[str]:
        return self._receive.__aiter__()

    def _read(self, wire: int) -> None:
        rest = b""
        try:
            while chunk := os.read(wire, _CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    from_thread.run(self._send.send, line.decode(errors="replace"), token=self._loop)
            from_thread.run_sync(self._send.close, token=self._loop)
        except (OSError, RuntimeError, anyio.BrokenResourceError):
            return  # the server has ended
