"""`probe`: whether a server is ready, as a health check asks it."""

from __future__ import annotations

import http.client
import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, urljoin, urlsplit

import click

from openzim_mcp import __version__, errors
from openzim_mcp.cli import command
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.cli.terminal import Terminal

# Read here and not by `config`: that takes twice as long as all the rest, and looks at the archives' disks.
DEFAULTS = {"OPENZIM_MCP_TRANSPORT": "stdio", "OPENZIM_MCP_HOST": "127.0.0.1", "OPENZIM_MCP_PORT": "8000"}
_SECONDS = 3.0
_READY = 200
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  where one that listens everywhere can be asked
_NOTHING = "There is nothing to ask: by the settings, the server speaks over standard input and output."
_PROTOCOL = "2025-06-18"
_PATIENCE = 30.0
_LEAVE_SECONDS = 5.0


@command.command(
    "openzim-mcp probe                               # the server that OPENZIM_MCP_HOST and _PORT describe",
    "openzim-mcp probe https://zim.example.org/mcp",
)
@click.argument("url", required=False)
def run(terminal: Terminal, url: str | None) -> Exit | None:
    """Ask the server of the settings, or the one at URL, whether it is ready.

    Ends with 0 if it is, and where it speaks over standard input and output; with 1 if it is not, or does not answer
    within 3 seconds.
    """
    address = url or _described()
    if address is None:
        terminal.show({"ready": None, "reason": _NOTHING}, Cell(_NOTHING))
        return None
    parts = _parts(address)
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    problem = _problem(parts)
    said = f"{shown} {problem or 'is ready'}."
    terminal.show({"ready": not problem, "reason": said}, Cell(said, "bad" if problem else "good"))
    return Exit.NEGATIVE if problem else None


def _described() -> str | None:
    """Return the address of the server that the settings describe, or None where it has none."""
    given = DEFAULTS | {name.upper(): value for name, value in os.environ.items() if value}
    transport, host, port = (given[name] for name in DEFAULTS)
    reachable = _LOOPBACK.get(host, host)
    bracketed = f"[{reachable}]" if ":" in reachable else reachable
    return f"http://{bracketed}:{port}" if transport == "http" else None


def _parts(address: str) -> SplitResult:
    """Return the parts of the address that tells whether the server at another one is ready."""
    try:
        parts = urlsplit(urljoin(address, "readyz"))
        known = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        known = False
    if not known:
        raise errors.OpenZimMcpConfigurationError(
            f"{address!r} is no address of a server", hint="Give http://HOST:PORT or https://HOST."
        )
    return parts


def _problem(parts: SplitResult) -> str | None:
    """Return what keeps a server from being ready; looking up its name counts as waiting too."""
    answer: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    threading.Thread(target=lambda: answer.put(_ask(parts)), daemon=True).start()
    try:
        return answer.get(timeout=_SECONDS)
    except queue.Empty:
        return f"does not answer within {_SECONDS:.0f} seconds"


def _ask(parts: SplitResult) -> str | None:
    kinds = {"http": http.client.HTTPConnection, "https": http.client.HTTPSConnection}
    connection = kinds[parts.scheme](str(parts.hostname), parts.port, timeout=_SECONDS)
    try:
        connection.request("GET", parts.path, headers={"User-Agent": f"openzim-mcp/{__version__}"})
        status = connection.getresponse().status
    except OSError as error:
        return f"does not answer: {error.strerror or error}"
    except (http.client.HTTPException, ValueError):
        return "does not answer as a web server does"
    finally:
        connection.close()
    return None if status == _READY else f"is not ready: it answers {status}"


@dataclass(frozen=True)
class Greeting:
    """How a server answered: its name and version, or the problem."""

    server: str | None
    seconds: float
    problem: str | None = None


def greet(command: Sequence[str], variables: Mapping[str, str] | None = None, patience: float = _PATIENCE) -> Greeting:
    """Start a command, say hello to it over its pipes, and end it."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(  # noqa: S603  the user's own configuration names it
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **(variables or {})},
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return Greeting(None, 0.0, f"{command[0]!r} cannot be started: {reason}")
        try:
            answer = _initialize(process, patience)
        finally:
            _end(process)
        took = time.monotonic() - began
        if answer is None:
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines()
            return Greeting(None, took, f"it does not answer{f'; it says: {said[-1]}' if said else ''}")
    told = answer.get("result", {}).get("serverInfo", {})
    return Greeting(f"{told.get('name')} {told.get('version')}", took)


def _initialize(process: subprocess.Popen[bytes], patience: float) -> dict[str, Any] | None:
    """Return the answer to `initialize`, or None."""
    client = {"name": "openzim-mcp doctor", "version": __version__}
    params = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    except OSError:
        return None
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read_line, args=(process, lines), daemon=True).start()
    try:
        answer = json.loads(lines.get(timeout=patience))
    except (queue.Empty, ValueError):
        return None
    return answer if isinstance(answer, dict) and "result" in answer else None


def _read_line(process: subprocess.Popen[bytes], lines: queue.Queue[bytes]) -> None:
    assert process.stdout is not None
    lines.put(process.stdout.readline())


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let a server go, as a client does: its input ends; one that stays is ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.close()
        process.wait(_LEAVE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
    process.stdout.close()
