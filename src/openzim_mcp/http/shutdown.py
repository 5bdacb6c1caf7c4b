"""The end: calls under way are answered, streams that only wait are ended at once."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Closing:
    """Knows the streams that wait for something to happen, and ends them when the server does."""

    def __init__(self, *also: Callable[[], None]) -> None:
        self._also = also
        self._idle: set[anyio.CancelScope] = set()

    def begin(self) -> None:
        """End what only waits."""
        for end in self._also:
            end()
        for scope in list(self._idle):
            scope.cancel()

    @contextlib.contextmanager
    def stream(self, *, is_idle: bool) -> Iterator[None]:
        """Serve a request, which is ended at the end if it is an idle one."""
        with anyio.CancelScope() as scope:
            if is_idle:
                self._idle.add(scope)
            try:
                yield
            finally:
                self._idle.discard(scope)
