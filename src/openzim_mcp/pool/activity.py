"""Whether calls are in progress: jobs in the background leave disk and processors to them."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUIET_SECONDS = 0.3
"""How long no call must have been in progress: a question makes several, one after the other."""


class CallActivity:
    """Counts the calls in progress."""

    def __init__(self) -> None:
        self._has_begun = anyio.Event()
        self._calls = 0
        self._last_end = -math.inf
        self._are_done = anyio.Event()

    @contextlib.contextmanager
    def call(self) -> Iterator[None]:
        """Count a call for the block."""
        self._calls += 1
        self._has_begun.set()
        try:
            yield
        finally:
            self._calls -= 1
            if not self._calls:
                self._last_end = anyio.current_time()
                self._are_done.set()
                self._are_done = anyio.Event()

    async def wait_for_first_call(self, max_seconds: float) -> None:
        """Wait until a first call has been made and is done, at most so long."""
        with anyio.move_on_after(max_seconds):
            await self._has_begun.wait()
            await self.wait_until_quiet(max_seconds)

    async def wait_until_quiet(self, max_seconds: float) -> None:
        """Wait until no call has been in progress for a moment; at most so long, so that work under load goes on."""
        with anyio.move_on_after(max_seconds):
            while self._calls or anyio.current_time() < self._last_end + _QUIET_SECONDS:
                if self._calls:
                    await self._are_done.wait()
                else:
                    await anyio.sleep(self._last_end + _QUIET_SECONDS - anyio.current_time())
