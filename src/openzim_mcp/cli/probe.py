"""`probe`: whether a server is ready, over HTTP; and whether a command starts a server, over stdio (for `doctor`)."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import SplitResult, urljoin, urlsplit

import click

from openzim_mcp import __version__, errors
from openzim_mcp.cli import command
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.cli.terminal import Terminal

# Not loaded by `config`, which takes longer than the whole probe and reads the directories of the archives.
SETTING_DEFAULTS = {"OPENZIM_MCP_TRANSPORT": "stdio", "OPENZIM_MCP_HOST": "127.0.0.1", "OPENZIM_MCP_PORT": "8000"}
_HTTP_TRANSPORTS = {"http", "streamable-http", "streamable_http"}
_PROBE_TIMEOUT_SECONDS = 3.0
_HTTP_OK = 200
_LOOPBACK_BY_WILDCARD = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
_STDIO_MESSAGE = "Nothing to probe: the settings select stdio, which has no address."
_PROTOCOL_VERSION = "2025-06-18"
_LIST_URI = "zim://files"
_INITIALIZE_TIMEOUT_SECONDS = 30.0
_EXIT_TIMEOUT_SECONDS = 5.0


@command.command(
    "openzim-mcp probe                               # the server that OPENZIM_MCP_HOST and _PORT describe",
    "openzim-mcp probe https://zim.example.org/mcp",
)
@click.argument("url", required=False)
def run(terminal: Terminal, url: str | None) -> Exit | None:
    """Check whether the server at URL, or the one that the settings describe, is ready.

    The exit code is 0 if it is ready, and also if the settings select stdio; it is 1 if the server is not ready or
    does not respond within 3 seconds.
    """
    server_url = url or _url_from_settings()
    if server_url is None:
        terminal.show({"ready": None, "reason": _STDIO_MESSAGE}, Cell(_STDIO_MESSAGE))
        return None
    readyz = _readyz_url(server_url)
    url_without_password = f"{readyz.scheme}://{readyz.netloc.rpartition('@')[2]}{readyz.path}"
    problem = _find_problem(readyz)
    sentence = f"{url_without_password} {problem or 'is ready'}."
    terminal.show({"ready": not problem, "reason": sentence}, Cell(sentence, "bad" if problem else "good"))
    return Exit.NEGATIVE if problem else None


def _url_from_settings() -> str | None:
    """Return the URL of the server that the settings describe; None for stdio."""
    variables = SETTING_DEFAULTS | {name.upper(): value for name, value in os.environ.items() if value}
    transport, host, port = (variables[name] for name in SETTING_DEFAULTS)
    host = _LOOPBACK_BY_WILDCARD.get(host, host)
    bracketed = f"[{host}]" if ":" in host else host
    return f"http://{bracketed}:{port}" if transport in _HTTP_TRANSPORTS else None


def _readyz_url(server_url: str) -> SplitResult:
    try:
        parts = urlsplit(urljoin(server_url, "readyz"))
        is_valid = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        is_valid = False
    if not is_valid:
        raise errors.OpenZimMcpConfigurationError(
            f"{server_url!r} is not the URL of a server", hint="Write http://HOST:PORT or https://HOST."
        )
    return parts


def find_server_problem(server_url: str) -> str | None:
    """Return why the server at a URL is not ready, or None."""
    return _find_problem(_readyz_url(server_url))


def _find_problem(url: SplitResult) -> str | None:
    """Return why a server is not ready; the time limit includes the DNS lookup, so this needs a thread."""
    problems: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=lambda: problems.put(_request_readyz(url)), daemon=True).start()
    try:
        return problems.get(timeout=_PROBE_TIMEOUT_SECONDS)
    except queue.Empty:
        return f"does not respond within {_PROBE_TIMEOUT_SECONDS:.0f} seconds"


def _request_readyz(url: SplitResult) -> str | None:
    connection_classes = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    connection = connection_classes[url.scheme](str(url.hostname), url.port, timeout=_PROBE_TIMEOUT_SECONDS)
    try:
        connection.request("GET", url.path, headers={"User-Agent": f"openzim-mcp/{__version__}"})
        status = connection.getresponse().status
    except OSError as error:
        return f"does not respond: {error.strerror or error}"
    except (http.client.HTTPException, ValueError):
        return "does not send a valid HTTP response"
    finally:
        connection.close()
    return None if status == _HTTP_OK else f"is not ready (HTTP status {status})"


@dataclass(frozen=True)
class InitializeResult:
    """The name and version of a server that responded and the archives that it offers, or the problem."""

    server: str | None
    seconds: float
    problem: str | None = None
    archives: tuple[str, ...] = ()
    has_more: bool = False


def initialize_server(
    start_command: Sequence[str],
    variables: Mapping[str, str] | None = None,
    timeout_seconds: float = _INITIALIZE_TIMEOUT_SECONDS,
) -> InitializeResult:
    """Start a server as a client does, send `initialize` over stdio, and stop it."""
    start = time.monotonic()
    with tempfile.TemporaryFile() as log:
        try:
            process = _start_server(start_command, variables or {}, log)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return InitializeResult(None, 0.0, f"{start_command[0]!r} cannot be started: {reason}")
        try:
            connection = _Connection(process, timeout_seconds)
            response = connection.initialize()
            seconds = time.monotonic() - start
            archives, has_more = connection.list_archives() if response else ((), False)
        finally:
            _stop_server(process)
        if response is None:
            return InitializeResult(None, seconds, f"it does not respond{_last_log_line(log)}")
    return InitializeResult(response, seconds, None, archives, has_more)


def _start_server(
    start_command: Sequence[str], variables: Mapping[str, str], log: IO[bytes]
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603  the command comes from the user's own configuration
        list(start_command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=log,
        env={**os.environ, **variables},
    )


def _last_log_line(log: IO[bytes]) -> str:
    log.seek(0)
    lines = log.read().decode(errors="replace").strip().splitlines()
    return f"; its last log line: {lines[-1]}" if lines else ""


class _Connection:
    """Requests to a server that was started, one after the other."""

    def __init__(self, process: subprocess.Popen[bytes], timeout_seconds: float) -> None:
        assert process.stdin is not None
        self._input = process.stdin
        self._deadline = time.monotonic() + timeout_seconds
        self._lines: queue.Queue[bytes] = queue.Queue()
        threading.Thread(target=self._read_lines, args=(process,), daemon=True).start()

    def _read_lines(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        # The pipe may be closed while this thread reads from it.
        with contextlib.suppress(OSError, ValueError):
            for line in iter(process.stdout.readline, b""):
                self._lines.put(line)
        self._lines.put(b"")

    def _send(self, **message: object) -> None:
        self._input.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self._input.flush()

    def _request(self, number: int, method: str, params: Mapping[str, object]) -> Any:
        """Return the result of a request, or None without a valid response in time."""
        try:
            self._send(id=number, method=method, params=params)
            while True:
                line = self._lines.get(timeout=max(0.0, self._deadline - time.monotonic()))
                response = json.loads(line)
                if "id" in response:
                    return response["result"]
        except (OSError, queue.Empty, ValueError, KeyError, TypeError):
            return None

    def initialize(self) -> str | None:
        """Send `initialize`; return the server's name and version, or None without a valid response."""
        client = {"name": "openzim-mcp doctor", "version": __version__}
        params = {"protocolVersion": _PROTOCOL_VERSION, "capabilities": {}, "clientInfo": client}
        try:
            server = self._request(1, "initialize", params)["serverInfo"]
            return f"{server['name']} {server['version']}"
        except (KeyError, TypeError):
            return None

    def list_archives(self) -> tuple[tuple[str, ...], bool]:
        """Return the names of the archives that the server offers as resources, and whether there are more."""
        with contextlib.suppress(OSError):
            self._send(method="notifications/initialized")
        result = self._request(2, "resources/list", {})
        if not isinstance(result, dict):
            return (), False
        uris = [str(row.get("uri", "")) for row in result.get("resources", [])]
        names = tuple(uri.removeprefix("zim://") for uri in uris if uri != _LIST_URI)
        return names, bool(result.get("nextCursor"))


def _stop_server(process: subprocess.Popen[bytes]) -> None:
    """Close the server's input, as a client does; kill the server if it does not exit."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.close()
        process.wait(_EXIT_TIMEOUT_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
    process.stdout.close()
