"""`open`: show the page of a server in the browser; if none runs, start one."""

from __future__ import annotations

import os
import socket
import threading
import time
import webbrowser
from typing import TYPE_CHECKING

from openzim_mcp import server_state
from openzim_mcp.cli import command, main, runtime
from openzim_mcp.cli.command import Exit

if TYPE_CHECKING:
    from openzim_mcp.cli.terminal import Terminal

_START_SECONDS = 60.0
_POLL_SECONDS = 0.1


@command.command("openzim-mcp open ~/zims", "openzim-mcp open")
@command.directory_arguments
def run(terminal: Terminal, directories: list[str]) -> Exit | None:
    """Open the page in the browser: of a server that serves the DIRECTORY already, or of one that is started now.

    A server that is started runs until Ctrl-C.
    """
    settings = runtime.load_command_settings(directories)
    running = server_state.find_server(settings.served_directories)
    if running:
        terminal.info(f"{running.url}/ (already running)")
        webbrowser.open(f"{running.url}/")
        return None
    threading.Thread(target=_open_when_started, daemon=True).start()
    port = [] if _is_free(settings.host, settings.port) else ["--port", "0"]
    code = main.start_server(["--transport", "http", *port, *directories])
    return Exit(code) if code in set(Exit) else None


def _is_free(host: str, port: int) -> bool:
    """Whether a server could listen on a port."""
    try:
        socket.create_server((host, port)).close()
    except OSError:
        return False
    return True


def _open_when_started() -> None:
    """Open the page of this process as soon as it serves."""
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        own = [state for state in server_state.running_servers() if state.pid == os.getpid()]
        if own and server_state.responds(own[0]):
            webbrowser.open(f"{own[0].url}/")
            return
        time.sleep(_POLL_SECONDS)
