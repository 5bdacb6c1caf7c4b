"""Connections: how many there may be, how long one may take to ask for something, and to take what it asked for."""

from __future__ import annotations

import contextlib
import logging
import os
import socket
import struct
from typing import TYPE_CHECKING, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

from openzim_mcp.http import middleware

if TYPE_CHECKING:
    import asyncio

    from openzim_mcp.http.concurrency import Shutdown

log = logging.getLogger(__name__)

CONNECTIONS = 2000
CONNECTIONS_EACH = 256
HEADER_SECONDS = 10.0
TAKE_SECONDS, TAKE_BYTES = 20.0, 16 * 1024
_OWN_FILES = 128
_AT_ONCE = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


class ImpatientProtocol(H11Protocol):
    """HTTP/1.1 that closes connections which are too many, or which let the server wait."""

    _waits: asyncio.TimerHandle | None = None
    _looks: asyncio.TimerHandle | None = None
    _is_refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Admit a connection, or close it at once."""
        super().connection_made(transport)
        # A response is written in parts: none of them waits until the client has confirmed the one before.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(0)
        self._is_refused = self._is_too_many()
        if self._is_refused:
            self._cut_off()
        else:
            self._hurry()

    def data_received(self, data: bytes) -> None:
        """Take what arrived; a request that has begun has to be there soon, one that is there need not hurry."""
        if self._is_refused:
            return
        before = self.cycle
        super().data_received(data)
        if self.cycle is not before:
            self._relax()
        elif self._waits is None and (before is None or before.response_complete):
            self._hurry()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP; if it was to be the rest of a request, that one has no answer of its own any more."""
        begun = self.cycle if self.cycle is not None and self.cycle.more_body else None
        if begun is not None:
            begun.disconnected = True
            begun.message_event.set()
        if begun is None or not begun.response_started:
            super().send_400_response(msg)
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        """Wait for a client to take what it was sent, as long as it takes some of it."""
        super().pause_writing()
        self._look_later()

    def resume_writing(self) -> None:
        """Go on: the client has taken all."""
        super().resume_writing()
        self._look_no_more()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection."""
        self._relax()
        self._look_no_more()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End this connection, as soon as it is idle."""
        closing: Shutdown | None = self.app_state.get("shutdown")
        if closing:
            closing.begin()
        super().shutdown()

    def _is_too_many(self) -> bool:
        """Say whether there are enough connections without this one; those of a proxy are of many clients."""
        others = cast("set[H11Protocol]", self.connections)
        address = self.client[0] if self.client else ""
        of_each = sum(other.client is not None and other.client[0] == address for other in others)
        is_greedy = of_each > CONNECTIONS_EACH and not middleware.is_proxy(address, self.app_state.get("proxies", ()))
        return len(others) > room() or is_greedy

    def _should_upgrade(self) -> bool:
        """Speak nothing but HTTP/1.1, whatever a client proposes."""
        return False

    def _cut_off(self) -> None:
        """Close at once: the system need not keep for the client what it has not taken."""
        own = self.transport.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
        self.transport.abort()

    def _hurry(self) -> None:
        self._waits = self.loop.call_later(HEADER_SECONDS, self._cut_off)

    def _relax(self) -> None:
        if self._waits is not None:
            self._waits.cancel()
            self._waits = None

    def _look_later(self) -> None:
        self._looks = self.loop.call_later(TAKE_SECONDS, self._look, self.transport.get_write_buffer_size())

    def _look(self, before: int) -> None:
        if before - self.transport.get_write_buffer_size() < TAKE_BYTES:
            self._cut_off()
        else:
            self._look_later()

    def _look_no_more(self) -> None:
        if self._looks is not None:
            self._looks.cancel()
            self._looks = None


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
