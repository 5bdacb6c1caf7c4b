"""What a person sees who starts the server on a terminal: what is served, and how to use it.

A client starts the server in a pipe. On a terminal it would wait for JSON that nobody types.
"""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from openzim_mcp.cli import runtime
from openzim_mcp.cli.terminal import Cell, Lines, Table, Terminal
from openzim_mcp.library.scan import make_scanner
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.cli.terminal import Block
    from openzim_mcp.config import Settings
    from openzim_mcp.library.scan import ScanResult
    from openzim_mcp.zimfile import ArchiveFile

_MAX_ARCHIVES = 12


def greet(settings: Settings, arguments: Sequence[str]) -> int:
    """Show what a client would be served with these arguments, and the next commands to type."""
    scan = make_scanner(settings).scan()
    terminal = Terminal()
    terminal.show(None, *_archive_blocks(settings, scan), _next_steps(scan, arguments))
    for row in scan.rejected:
        terminal.info(f"{row.name}: {row.reason}", "warn")
    return 0


def _archive_blocks(settings: Settings, scan: ScanResult) -> list[Block]:
    if scan.is_handbook:
        return [Cell(runtime.handbook_message(settings))]
    if not scan.archives:
        error = runtime.no_archive_error(settings, scan)
        return [Cell(error.message, "bad"), Cell(error.hint or "")]
    count = len(scan.archives)
    rows = [_archive_row(archive) for archive in scan.archives[:_MAX_ARCHIVES]]
    more = f" The first {_MAX_ARCHIVES}:" if count > _MAX_ARCHIVES else ""
    title = Cell(f"{count} archive{'s' * (count > 1)} in {runtime.name_directories(settings)}.{more}")
    return [title, Table(("name", "size", "state"), rows, frozenset({"size"}), frozenset({"name", "size"}))]


def _archive_row(archive: ArchiveFile) -> tuple[str | Cell, ...]:
    state = Cell(archive.problem, "bad") if archive.problem else Cell("ok", "good")
    return archive.name, format_size(archive.size), state


def _next_steps(scan: ScanResult, arguments: Sequence[str]) -> Lines:
    given = shlex.join(arguments)
    directories = shlex.join(word for word in arguments if not word.startswith("-"))
    steps = [("Get an archive", "openzim-mcp catalog wikipedia --lang en --max-size 1GB")] if scan.is_handbook else []
    steps += [
        ("Ask", f'openzim-mcp ask "YOUR QUESTION" {directories}'),
        ("Connect a client", f"openzim-mcp connect CLIENT {directories} --write"),
        ("Known clients", "openzim-mcp connect"),
        ("Page and HTTP", f"openzim-mcp serve {given}"),
        ("All commands", "openzim-mcp --help"),
    ]
    return Lines([Cell(f"{label + ':':<18}{' '.join(line.split())}") for label, line in steps])
