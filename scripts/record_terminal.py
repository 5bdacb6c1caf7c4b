"""Record commands on a terminal as the picture `docs/terminal.svg`: the real output for the handbook."""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "terminal.svg"
NO_LIBRARY = ROOT / ".venv" / "no-library"
"""A directory that does not exist, so that the handbook is used."""
WIDTH = 92
COMMANDS = (
    "openzim-mcp list",
    'openzim-mcp ask "does the server make network requests?" --budget 120',
    "openzim-mcp read safety --toc",
)
_WEB_FONT = re.compile(r',?\s*url\("[^"]*"\)\s*format\("[^"]*"\)')


def run_line(line: str, **variables: str) -> str:
    """Run a command line on a terminal, without the user's settings, and return its standard output."""
    command = [sys.executable, "-m", "openzim_mcp", *shlex.split(line)[1:]]
    user_settings = ("OPENZIM_MCP_", "NO_COLOR", "FORCE_COLOR")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(user_settings)}
    screen = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(WIDTH), "PYTHONIOENCODING": "utf-8"}
    screen["XDG_CACHE_HOME"] = str(ROOT / ".venv" / "no-cache")  # without results of `verify` on this machine
    screen["OPENZIM_MCP_LIBRARY"] = str(NO_LIBRARY)
    return run_on_terminal(command, inherited | screen | variables, with_errors=False)[1]


def run_on_terminal(
    command: list[str], environment: dict[str, str], *, with_errors: bool = True, cwd: Path | None = None
) -> tuple[int, str]:
    """Run a program on a new pseudo-terminal; return its exit code and its output."""
    import pty  # noqa: PLC0415  not on Windows, where the rest of this module works

    master, slave = pty.openpty()
    errors = slave if with_errors else subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=errors, env=environment, cwd=cwd)
    os.close(slave)
    output = bytearray()
    try:
        while chunk := os.read(master, 65_536):
            output += chunk
    except OSError:  # Linux raises this when the program has exited
        pass
    os.close(master)
    return process.wait(60), output.decode().replace("\r\n", "\n")


def record_picture() -> str:
    """Return all commands with their output as an SVG that loads no web fonts."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in COMMANDS:
        console.print(Text(f"$ {line}", style="bold"))
        console.print(Text.from_ansi(run_line(line)))
    svg = console.export_svg(title="openzim-mcp", unique_id="openzim-mcp")
    return _WEB_FONT.sub("", svg)


if __name__ == "__main__":
    PICTURE.write_text(record_picture(), encoding="utf-8")
