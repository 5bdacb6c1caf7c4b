"""Record what a person sees in a terminal, from the real commands on the handbook.

`python scripts/record_terminal.py` writes the picture `docs/terminal.svg`; `docs.py` puts the text into the README.
"""

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
WIDTH = 92
COMMANDS = (
    "openzim-mcp list",
    'openzim-mcp ask "does it make network requests?" --budget 120',
    "openzim-mcp read safety --toc",
)
_WEB_FONT = re.compile(r',?\s*url\("[^"]*"\)\s*format\("[^"]*"\)')


def run(line: str, **variables: str) -> str:
    """Run a line on a terminal of its own and return what it shows."""
    words = [sys.executable, "-m", "openzim_mcp", *shlex.split(line)[1:]]
    unwanted = ("OPENZIM_MCP_", "NO_COLOR", "FORCE_COLOR")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
    screen = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "COLUMNS": str(WIDTH), "PYTHONIOENCODING": "utf-8"}
    screen["XDG_CACHE_HOME"] = str(ROOT / ".venv" / "no-cache")  # what was verified here is not everyone's news
    # What is said beside the results, as a person without any settings would see it, is left out.
    return on_terminal(words, inherited | screen | variables, with_errors=False)[1]


def on_terminal(words: list[str], environment: dict[str, str], *, with_errors: bool = True) -> tuple[int, str]:
    """Run a program on a terminal of its own; return its exit code and what it shows."""
    import pty  # noqa: PLC0415  not on Windows, where the other functions are still of use

    master, slave = pty.openpty()
    errors = slave if with_errors else subprocess.DEVNULL
    process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=errors, env=environment)
    os.close(slave)
    shown = bytearray()
    try:
        while piece := os.read(master, 65_536):
            shown += piece
    except OSError:  # the other side is closed
        pass
    os.close(master)
    return process.wait(60), shown.decode().replace("\r\n", "\n")


def as_text() -> str:
    """Return the start of the session, without colours."""
    parts = []
    for line in COMMANDS[:2]:
        shown = Text.from_ansi(run(line, NO_COLOR="1")).plain
        kept = [row.rstrip() for row in shown.splitlines()]
        parts.append(f"$ {line}\n" + "\n".join(kept).strip("\n"))
    return "\n\n".join(parts)


def as_picture() -> str:
    """Return the session as an SVG, which asks nothing of the network."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    for line in COMMANDS:
        console.print(Text(f"$ {line}", style="bold"))
        console.print(Text.from_ansi(run(line)))
    svg = console.export_svg(title="openzim-mcp", unique_id="openzim-mcp")
    return _WEB_FONT.sub("", svg)


if __name__ == "__main__":
    PICTURE.write_text(as_picture(), encoding="utf-8")
