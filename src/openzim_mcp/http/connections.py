"""Connections: their number, the time to send a request, and the time to read a response."""

from __future__ import annotations

import contextlib
import errno
import logging
import os
import socket
import struct
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from openzim_mcp.http.errors import ErrorResponse
from openzim_mcp.http.middleware import is_trusted_proxy

if TYPE_CHECKING:
    import asyncio

    from openzim_mcp.http.shutdown import Shutdown

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 4000
HEADER_TIMEOUT_SECONDS = 10.0
WRITE_TIMEOUT_SECONDS, MIN_WRITE_BYTES = 20.0, 16 * 1024
"""A client has to read at least so many bytes in so many seconds."""
_RESERVED_FILES = 128
_MAX_BACKLOG = 1024
_LINGER_ZERO_SECONDS = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)


class TimeoutH11Protocol(H11Protocol):
    """HTTP/1.1 that closes connections which are too many or too slow."""

    _header_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _is_refused = False
    _connections_by_address: ClassVar[Counter[str]] = Counter()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, or close it at once if there are too many."""
        super().connection_made(transport)
        # A response is written in parts; without this, a part waits until the client has confirmed the previous one.
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        transport.set_write_buffer_limits(0)
        self._address = self.client[0] if self.client else ""
        self._connections_by_address[self._address] += 1
        self._is_refused = self._is_limit_reached()
        if self._is_refused:
            self._reset()
        else:
            self._start_header_timer()

    def data_received(self, data: bytes) -> None:
        """Handle incoming bytes; the header timer runs from the first byte of a request to the end of its headers."""
        if self._is_refused:
            return
        previous = self.cycle
        super().data_received(data)
        if self.cycle is not previous:
            self._cancel_header_timer()
        elif self._header_timer is None and (previous is None or previous.response_complete):
            self._start_header_timer()

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP; if it is in the body of a request, end that request too."""
        unfinished = self.cycle if self.cycle is not None and self.cycle.more_body else None
        if unfinished is not None:
            unfinished.disconnected = True
            unfinished.message_event.set()
        if unfinished is None or not unfinished.response_started:
            self._send_json_error(msg)
        self.transport.close()

    def _send_json_error(self, message: str) -> None:
        response = ErrorResponse(400, message.rstrip(".") + ".")
        head = h11.Response(status_code=400, headers=response.raw_headers, reason=b"Bad Request")
        for event in (head, h11.Data(data=bytes(response.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event))

    def pause_writing(self) -> None:
        """Wait for the client to read, as long as it reads fast enough."""
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        """Continue: the client has read everything."""
        super().resume_writing()
        self._cancel_write_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timers of a closed connection."""
        self._cancel_header_timer()
        self._cancel_write_timer()
        self._connections_by_address[self._address] -= 1
        if not self._connections_by_address[self._address]:
            del self._connections_by_address[self._address]
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Close this connection as soon as it is idle."""
        shutdown: Shutdown | None = self.app_state.get("shutdown")
        if shutdown:
            shutdown.begin()
        super().shutdown()

    def _is_limit_reached(self) -> bool:
        # One address may have half of the connections, a proxy all, as they are those of many clients.
        is_proxy = is_trusted_proxy(self._address, self.app_state.get("proxies", ()))
        of_address = self._connections_by_address[self._address]
        limit = max_connections()
        return len(self.connections) > limit or (of_address > limit // 2 and not is_proxy)

    def _should_upgrade(self) -> bool:
        """Refuse every upgrade: this server speaks HTTP/1.1 only."""
        return False

    def _reset(self) -> None:
        """Close at once, so that the system does not keep unread data for the client."""
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_ZERO_SECONDS)
        self.transport.abort()

    def _start_header_timer(self) -> None:
        self._header_timer = self.loop.call_later(HEADER_TIMEOUT_SECONDS, self._reset)

    def _cancel_header_timer(self) -> None:
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _start_write_timer(self) -> None:
        unread = self.transport.get_write_buffer_size()
        self._write_timer = self.loop.call_later(WRITE_TIMEOUT_SECONDS, self._check_write_progress, unread)

    def _check_write_progress(self, previously_unread: int) -> None:
        if previously_unread - self.transport.get_write_buffer_size() < MIN_WRITE_BYTES:
            self._reset()
        else:
            self._start_write_timer()

    def _cancel_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None


def max_connections() -> int:
    """Return the connection limit: what the limit of open files allows, minus the files that the server needs."""
    return min(MAX_CONNECTIONS, max(_RESERVED_FILES, _file_limit() - _RESERVED_FILES))


def backlog() -> int:
    """Return how many new connections may wait; all of them are accepted at once, and then need files."""
    return min(_MAX_BACKLOG, max(_RESERVED_FILES, _file_limit()) // 8)


def log_exhausted_files(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log in one line that connections have to wait for files, which asyncio reports with a traceback for each."""
    error = context.get("exception")
    if isinstance(error, OSError) and error.errno in {errno.EMFILE, errno.ENFILE}:
        log.warning("new connections have to wait: all %d open files are in use (ulimit -n)", _file_limit())
    else:
        loop.default_exception_handler(context)


def raise_file_limit() -> None:
    """Raise the limit of open files as far as the system allows."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource  # noqa: PLC0415  not on every system

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        needed = MAX_CONNECTIONS + 2 * _RESERVED_FILES
        allowed = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, allowed), hard))


def _file_limit() -> int:
    with contextlib.suppress(ImportError):
        import resource  # noqa: PLC0415

        soft: int = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return soft if soft != resource.RLIM_INFINITY else MAX_CONNECTIONS + _RESERVED_FILES
    return MAX_CONNECTIONS + _RESERVED_FILES
