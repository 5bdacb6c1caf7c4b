"""Connections: how many there may be, and how long one may be open without asking for anything."""

from __future__ import annotations

import contextlib
import logging
import socket
from typing import TYPE_CHECKING, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from openzim_mcp.http.closing import Closing

log = logging.getLogger(__name__)

CONNECTIONS = 2000
CONNECTIONS_EACH = 256
HEADER_BYTES = 32 * 1024
HEADER_SECONDS = 10.0
_OWN_FILES = 128


class ImpatientProtocol(H11Protocol):
    """HTTP/1.1 that closes connections which are too many, or whose next request takes too long to arrive."""

    _waits: asyncio.TimerHandle | None = None
    _is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit a connection, or close it at once."""
        super().connection_made(transport)
        # A response is written in parts: none of them waits until the client has confirmed the one before.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        others = cast("set[H11Protocol]", self.connections)
        address = self.client[0] if self.client else None
        of_each = sum(other.client is not None and other.client[0] == address for other in others)
        if len(others) > room() or of_each > CONNECTIONS_EACH:
            self._is_refused = True
            transport.abort()
        else:
            self._hurry()

    def data_received(self, data: bytes) -> None:
        """Take what arrived; a request that is there need not hurry any more."""
        if self._is_refused:
            return
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._relax()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._relax()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Wait for the next request on this connection."""
        before = self.cycle
        super().on_response_complete()
        if self.cycle is before and not self.transport.is_closing():
            self._hurry(self.timeout_keep_alive + HEADER_SECONDS)

    def shutdown(self) -> None:
        """End this connection, as soon as it is idle."""
        closing: Closing | None = self.app_state.get("closing")
        if closing:
            closing.begin()
        super().shutdown()

    def _hurry(self, seconds: float = HEADER_SECONDS) -> None:
        self._relax()
        self._waits = self.loop.call_later(seconds, self.transport.abort)

    def _relax(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None


def room() -> int:
    """Return how many connections there may be: as many as the system lets this process have files, less its own."""
    return min(CONNECTIONS, max(_OWN_FILES, _files() - _OWN_FILES))


def make_room() -> None:
    """Ask the system for as many open files as it allows."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415  not on every system

        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        wanted = CONNECTIONS + 2 * _OWN_FILES if hard == resource.RLIM_INFINITY else hard
        soft = max(resource.getrlimit(resource.RLIMIT_NOFILE)[0], min(wanted, CONNECTIONS + 2 * _OWN_FILES))
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _files() -> int:
    with contextlib.suppress(ImportError):
        import resource  # noqa: PLC0415

        soft: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return soft if soft != resource.RLIM_INFINITY else CONNECTIONS + _OWN_FILES
    return CONNECTIONS + _OWN_FILES
