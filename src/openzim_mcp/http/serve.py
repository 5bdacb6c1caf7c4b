"""Listen on an address and serve, with one process or several."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import os
import signal
import socket
import tempfile
from typing import TYPE_CHECKING

import uvicorn

from openzim_mcp import addresses, logs, server_state, telemetry
from openzim_mcp.errors import OpenZimMcpConfigurationError
from openzim_mcp.http import connections, metrics, security
from openzim_mcp.http.supervisor import Supervisor
from openzim_mcp.memory import return_large_blocks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

    from openzim_mcp.config import Settings

log = logging.getLogger(__name__)

_KEEP_ALIVE_SECONDS = 30
_LOOPBACK_BY_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
# After the calls have ended, at their deadline, the rest of a shutdown has this time.
_SHUTDOWN_SECONDS = 5


def run_server(settings: Settings, make_app: Callable[[Settings], ASGIApp], summary: str) -> int:
    """Serve until SIGTERM or SIGINT, and return the exit code; `summary` starts the first line of the log."""
    connections.raise_file_limit()
    if hasattr(signal, "SIGHUP"):
        # Usually a request to reload, but the token file is reloaded without it.
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with _bind(settings) as listener, _recorded(settings, listener):
        _log_address(settings, listener, summary)
        if settings.processes == 1:
            _serve(settings, make_app, listener)
            return 0
        with _metrics_directory():
            serve = functools.partial(_serve_in_process, settings, make_app)
            grace_seconds = _grace_seconds(settings) + _SHUTDOWN_SECONDS
            return Supervisor(settings.processes, serve, listener, grace_seconds=grace_seconds).run()


def _recorded(settings: Settings, listener: socket.socket) -> contextlib.AbstractContextManager[None]:
    """Record that this server runs, so that commands can link to its page."""
    host, port = listener.getsockname()[:2]
    address = f"http://{_authority(_LOOPBACK_BY_WILDCARD.get(host, host), port)}"
    return server_state.recorded_server(address, settings.public_url or address, settings.served_directories)


@contextlib.contextmanager
def _metrics_directory() -> Iterator[None]:
    """Make a directory where the processes share their metrics; if none is writable, each has its own."""
    try:
        directory = tempfile.TemporaryDirectory(prefix="openzim-mcp-", ignore_cleanup_errors=True)
    except OSError as error:
        log.warning("/metrics is about single processes: no directory for temporary files (%s)", error.strerror)
        yield
        return
    with directory as path:
        os.environ[metrics.DIRECTORY_VARIABLE] = path
        yield


def _serve_in_process(settings: Settings, make_app: Callable[[Settings], ASGIApp], listener: socket.socket) -> None:
    """Serve in a new process, which inherits no logging and no telemetry."""
    logs.configure_logging(settings)
    with telemetry.exporting_spans(settings.server_name):
        _serve(settings, make_app, listener)


def _serve(settings: Settings, make_app: Callable[[Settings], ASGIApp], listener: socket.socket) -> None:
    return_large_blocks()
    # uvicorn raises the signal again after it has stopped; the default action would turn that into a failure.
    signal.signal(signal.SIGTERM, _ignore_signal)
    config = uvicorn.Config(
        functools.partial(make_app, settings),
        factory=True,
        http=connections.TimeoutH11Protocol,
        ws="none",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=connections.backlog(),
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_grace_seconds(settings),
        h11_max_incomplete_event_size=security.MAX_HEADER_BYTES,
    )
    uvicorn.Server(config).run([listener])


def _grace_seconds(settings: Settings) -> int:
    """Return how long a server process may take to stop."""
    return math.ceil(settings.worker.deadline_seconds) + _SHUTDOWN_SECONDS


def _ignore_signal(_number: int, _frame: object) -> None:
    pass


def _bind(settings: Settings) -> socket.socket:
    try:
        family, _, _, _, address = socket.getaddrinfo(
            settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.create_server(address[:2], family=family, backlog=connections.backlog())
    except OSError as error:
        reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
        raise OpenZimMcpConfigurationError(
            f"cannot listen on {settings.host}:{settings.port}: {reason}; "
            "choose another --port, or stop the program that uses it"
        ) from None
    listener.set_inheritable(True)
    return listener


def _log_address(settings: Settings, listener: socket.socket, summary: str) -> None:
    """Log where the server listens, what it serves and how to connect."""
    host, port = listener.getsockname()[:2]
    authority = _authority(host, port)
    url = f"http://{authority}{addresses.MCP}"
    header = ' --header "Authorization: Bearer TOKEN"' if settings.requires_token else ""
    log.info("%s on %s; connect with: claude mcp add --transport http zim %s%s", summary, url, url, header)
    log.info("open %s/ in a browser", settings.public_url or f"http://{authority}")
    if not settings.requires_token and not settings.is_local:
        log.warning("authentication is off: anyone who can reach %s has access", authority)
    if not settings.has_sessions:
        log.info("stateless: clients that send initialize cannot subscribe to resources")


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
