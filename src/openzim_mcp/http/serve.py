"""Listening: the address, the first line on the console, one process or several, and the end."""

from __future__ import annotations

import functools
import logging
import os
import signal
import socket
import tempfile
from typing import TYPE_CHECKING

import uvicorn

from openzim_mcp import logs, telemetry
from openzim_mcp.errors import OpenZimMcpConfigurationError
from openzim_mcp.http import connections, security
from openzim_mcp.http.supervisor import Processes

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from openzim_mcp.config import Settings

log = logging.getLogger(__name__)

_KEEP_ALIVE_SECONDS = 30
_GRACE_SECONDS = 10
_BACKLOG = 1024


def run_server(settings: Settings, application: Callable[[Settings], ASGIApp], serving: str) -> int:
    """Serve an application until a signal comes, and return the exit code; `serving` says what there is."""
    connections.make_room()
    if hasattr(signal, "SIGHUP"):
        # The token file is read again by itself, so there is nothing that a hang-up could mean.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with _bind(settings) as listener:
        _announce(settings, listener, serving)
        if settings.processes == 1:
            _serve(settings, application, listener)
            return 0
        with _folder() as shared:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
            serve = functools.partial(_serve_among_others, settings, application)
            return Processes(settings.processes, serve, listener, grace_seconds=2 * _GRACE_SECONDS).run()


def _folder() -> tempfile.TemporaryDirectory[str]:
    """Return a folder for the numbers of several processes."""
    try:
        return tempfile.TemporaryDirectory(prefix="openzim-mcp-")
    except OSError:
        raise OpenZimMcpConfigurationError(
            "processes (OPENZIM_MCP_PROCESSES) above 1 takes a directory that can be written to: name one in TMPDIR"
        ) from None


def _serve_among_others(
    settings: Settings, application: Callable[[Settings], ASGIApp], listener: socket.socket
) -> None:
    """Serve, in a process that has just begun."""
    logs.set_up(settings)
    with telemetry.exporting_spans(settings.server_name):
        _serve(settings, application, listener)


def _serve(settings: Settings, application: Callable[[Settings], ASGIApp], listener: socket.socket) -> None:
    """Serve, in this process."""
    signal.signal(signal.SIGTERM, _nothing)
    config = uvicorn.Config(
        functools.partial(application, settings),
        factory=True,
        http=connections.ImpatientProtocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        h11_max_incomplete_event_size=security.HEADER_BYTES,
    )
    uvicorn.Server(config).run([listener])


def _nothing(_number: int, _frame: object) -> None:
    """Be told of a signal after the server has ended because of it."""


def _bind(settings: Settings) -> socket.socket:
    """Return a socket that listens; one that cannot is a setting that is wrong."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG)
    except OSError as error:
        raise OpenZimMcpConfigurationError(
            f"{settings.host}:{settings.port} cannot be listened on: {_reason(error)}; "
            "choose another --port, or end the program that has it"
        ) from None
    listener.set_inheritable(True)
    return listener


def _reason(error: OSError) -> str:
    return str(error.strerror) if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)


def _announce(settings: Settings, listener: socket.socket, serving: str) -> None:
    """Say where the server listens, what it serves and how to connect."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    url = f"http://{shown}:{port}/mcp"
    header = ' --header "Authorization: Bearer TOKEN"' if settings.requires_token else ""
    log.info("%s on %s; connect with: claude mcp add --transport http zim %s%s", serving, url, url, header)
    if not settings.requires_token and not settings.is_local:
        log.warning("everyone who can reach %s:%d is served: there is no token", host, port)
    if not settings.has_sessions:
        log.info("stateless: clients of the handshake revisions have no subscriptions")
