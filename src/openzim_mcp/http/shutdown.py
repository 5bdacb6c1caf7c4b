"""Shutdown: streams that only wait for events end at once, calls in progress have the time of a call."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import anyio
from sse_starlette.sse import AppStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class Shutdown:
    """Ends streams and, after the grace period, calls."""

    def __init__(self, grace_seconds: float, *callbacks: Callable[[], None]) -> None:
        self._grace_seconds = grace_seconds
        self._callbacks = callbacks
        self._streams: set[anyio.CancelScope] = set()
        self._calls: set[anyio.CancelScope] = set()
        self._has_begun = False
        # Otherwise the responses of calls in progress, which are event streams too, would end without an answer.
        AppStatus.disable_automatic_graceful_drain()  # type: ignore[no-untyped-call]

    def begin(self) -> None:
        """End all streams; end all calls that are still in progress after the grace period."""
        if self._has_begun:
            return
        self._has_begun = True
        for callback in self._callbacks:
            callback()
        _cancel_all(self._streams)
        asyncio.get_running_loop().call_later(self._grace_seconds, _cancel_all, self._calls)

    @contextlib.contextmanager
    def request(self, *, is_stream: bool) -> Iterator[anyio.CancelScope]:
        """Serve a request in this block, which is cancelled on shutdown."""
        scopes = self._streams if is_stream else self._calls
        with anyio.CancelScope() as scope:
            scopes.add(scope)
            try:
                yield scope
            finally:
                scopes.discard(scope)


def _cancel_all(scopes: set[anyio.CancelScope]) -> None:
    for scope in list(scopes):
        scope.cancel()
