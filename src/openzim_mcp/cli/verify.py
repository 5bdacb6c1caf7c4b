"""`verify`: whether archives are what their makers wrote."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import Backend
    from openzim_mcp.cli.terminal import ProgressBars, Terminal
    from openzim_mcp.zimfile import ArchiveFile

_HEADER = ("name", "size", "verdict", "indexes")


@command.command(
    "openzim-mcp verify --dir ~/zims",
    "openzim-mcp verify wikipedia_en_all --dir ~/zims",
    "openzim-mcp verify ~/Downloads/*.zim",
)
@click.argument("archives", nargs=-1, metavar="[ARCHIVE]...")
@command.directory_option
def run(terminal: Terminal, archives: tuple[str, ...], directories: list[str]) -> Exit | None:
    """Verify each ARCHIVE, given by its name or as a .zim file, or all of them: its checksum, its entries, its indexes.

    The verdict is remembered, and a server that runs knows it too.
    """
    names = [name if directories else _full(name) for name in archives]
    files = [name for name in names if os.path.isabs(name)]

    async def work(backend: Backend) -> list[dict[str, Any]]:
        chosen = [await backend.find(name) for name in names] or list((await backend.scan()).archives)
        with terminal.progress_bars() as bars:
            return [await _verify(backend, archive, bars) for archive in chosen]

    reports = runtime.run_with_archives(terminal, directories or files, work)
    rows = [(r["name"].removesuffix(".zim"), format_size(r["size"]), _verdict(r), _indexes(r)) for r in reports]
    blocks = [Table(_HEADER, rows, frozenset({"size"}))] if rows else ["There is no archive."]
    terminal.show({"archives": reports}, *blocks)
    return None if reports and all(report["is_valid"] for report in reports) else Exit.NEGATIVE


def _full(name: str) -> str:
    """Return the path of a file that is there; another word is a name."""
    path = os.path.abspath(os.path.expanduser(name))
    return path if os.path.isfile(path) else name


async def _verify(backend: Backend, archive: ArchiveFile, bars: ProgressBars) -> dict[str, Any]:
    from openzim_mcp.app import health as protocol_health  # noqa: PLC0415
    from openzim_mcp.worker.archive import health  # noqa: PLC0415

    update = bars.add(archive.name, archive.size)

    async def listen(done: int, total: int) -> None:
        update(done, total)

    report = await protocol_health.archive_report(backend, archive, listen, anew=True)
    update(archive.size, None)
    if not report["is_valid"]:
        return report
    try:
        return report | {"entries_read": await backend.engine.call(health.try_reading, archive)}
    except errors.OpenZimMcpArchiveError as error:
        return report | {"is_valid": False, "problems": [*report["problems"], error.message]}


def _verdict(report: dict[str, Any]) -> Cell:
    problems = "; ".join(problem for problem in report["problems"] if problem != report["verification"])
    words = f"{report['verification']}{f' ({problems})' if problems else ''}"
    return Cell(words, "good" if report["is_valid"] else "bad")


def _indexes(report: dict[str, Any]) -> Cell:
    answers = {True: Cell("answer", "good"), False: Cell("do not answer", "bad"), None: Cell("none", "warn")}
    return answers[report["indexes_answer"]]
