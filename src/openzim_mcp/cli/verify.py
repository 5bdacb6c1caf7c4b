"""`verify`: whether archives are what their makers wrote."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.health import ArchiveReport
    from openzim_mcp.cli.terminal import ProgressBars, Terminal
    from openzim_mcp.zimfile import ArchiveFile

_HEADER = ("name", "size", "verdict", "indexes")


@dataclass(frozen=True)
class Verified:
    """What verifying an archive has shown, and how many of its entries were read."""

    report: ArchiveReport
    entries_read: int | None = None


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

    async def work(app: App) -> list[Verified]:
        chosen = [await app.find_archive(name) for name in names] or list((await app.scan()).archives)
        with terminal.progress_bars() as bars:
            return [await _verify(app, archive, bars) for archive in chosen]

    results = runtime.run_with_archives(terminal, directories or files, work)
    rows = [
        (r.report.name.removesuffix(".zim"), format_size(r.report.size), _verdict(r), _indexes(r.report))
        for r in results
    ]
    blocks = [Table(_HEADER, rows, frozenset({"size"}))] if rows else ["There is no archive."]
    terminal.show({"archives": list(map(_payload, results))}, *blocks)
    return None if results and all(result.report.is_valid for result in results) else Exit.NEGATIVE


def _full(name: str) -> str:
    """Return the path of a file that is there; another word is a name."""
    path = os.path.abspath(os.path.expanduser(name))
    return path if os.path.isfile(path) else name


async def _verify(app: App, archive: ArchiveFile, bars: ProgressBars) -> Verified:
    """Compare the checksum, ask the indexes, and read entries from all over the archive."""
    import msgspec  # noqa: PLC0415

    from openzim_mcp.app import health  # noqa: PLC0415
    from openzim_mcp.app.caller import Caller  # noqa: PLC0415
    from openzim_mcp.calls.archive import SampleEntries  # noqa: PLC0415

    update = bars.add(archive.name, archive.size)

    async def show_progress(done: int, total: int) -> None:
        update(done, total)

    report = await health.report_archive(app, archive, Caller(progress=show_progress), force=True)
    update(archive.size, None)
    if not report.is_valid:
        return Verified(report)
    try:
        return Verified(report, await app.workers.call(archive, SampleEntries()))
    except errors.OpenZimMcpArchiveError as error:
        problems = [*report.problems, error.message]
        return Verified(msgspec.structs.replace(report, is_valid=False, problems=problems))


def _payload(result: Verified) -> dict[str, Any]:
    import msgspec  # noqa: PLC0415

    read = {} if result.entries_read is None else {"entries_read": result.entries_read}
    return {**msgspec.to_builtins(result.report), **read}


def _verdict(result: Verified) -> Cell:
    report = result.report
    problems = "; ".join(problem for problem in report.problems if problem != report.verification)
    words = f"{report.verification}{f' ({problems})' if problems else ''}"
    return Cell(words, "good" if report.is_valid else "bad")


def _indexes(report: ArchiveReport) -> Cell:
    answers = {True: Cell("answer", "good"), False: Cell("do not answer", "bad"), None: Cell("none", "warn")}
    return answers[report.indexes_answer]
