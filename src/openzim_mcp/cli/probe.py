"""`probe`: whether a server is ready, as a health check asks it."""

from __future__ import annotations

import http.client
import os
import queue
import threading
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urljoin, urlsplit

import click

from openzim_mcp import __version__, errors
from openzim_mcp.cli import command
from openzim_mcp.cli.exits import Exit
from openzim_mcp.cli.terminal import Cell

if TYPE_CHECKING:
    from openzim_mcp.cli.terminal import Terminal

# Read here and not by `config`: that takes twice as long as all the rest, and looks at the archives' disks.
DEFAULTS = {"OPENZIM_MCP_TRANSPORT": "stdio", "OPENZIM_MCP_HOST": "127.0.0.1", "OPENZIM_MCP_PORT": "8000"}
_SECONDS = 3.0
_READY = 200
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  where one that listens everywhere can be asked
_NOTHING = "There is nothing to ask: by the settings, the server speaks over standard input and output."


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
    return Exit.NO if problem else None


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
