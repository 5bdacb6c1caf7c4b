"""`verify`: check archives for damage."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

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

_COLUMNS = ("name", "size", "result", "indexes")
_INDEX_CELLS = {True: Cell("ok", "good"), False: Cell("broken", "bad"), None: Cell("none", "warn")}


@dataclass(frozen=True)
class VerifiedArchive:
    """The report of an archive, and how many of its entries were read as a sample."""

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
    """Check each ARCHIVE, given by name or as a .zim file, or all archives: checksum, entries and indexes.

    The result is stored, and used by `list`, `doctor` and every server, even if it is already running.
    """
    names = [name if directories else _resolve_path(name) for name in archives]
    paths = [name for name in names if os.path.isabs(name)]

    async def work(app: App) -> list[VerifiedArchive]:
        files = [await app.find_archive(name) for name in names] or list((await app.scan()).archives)
        with terminal.progress_bars() as bars:
            return [await _verify_archive(app, file, bars) for file in files]

    results = runtime.run_with_archives(terminal, directories or paths, work)
    rows = [_verified_row(result.report) for result in results]
    blocks = [Table(_COLUMNS, rows, frozenset({"size"}))] if rows else ["No archives found."]
    terminal.show({"archives": list(map(_verified_payload, results))}, *blocks)
    return None if results and all(result.report.is_valid for result in results) else Exit.NEGATIVE


def _resolve_path(name: str) -> str:
    """Return the absolute path of an existing file; anything else is the name of an archive."""
    path = os.path.abspath(os.path.expanduser(name))
    return path if os.path.isfile(path) else name


async def _verify_archive(app: App, archive: ArchiveFile, bars: ProgressBars) -> VerifiedArchive:
    """Compare the checksum, query the indexes, and read a sample of entries."""
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
        return VerifiedArchive(report)
    try:
        return VerifiedArchive(report, await app.workers.call(archive, SampleEntries()))
    except errors.OpenZimMcpArchiveError as error:
        problems = [*report.problems, error.message]
        return VerifiedArchive(msgspec.structs.replace(report, is_valid=False, problems=problems))


def _verified_payload(result: VerifiedArchive) -> dict[str, object]:
    import msgspec  # noqa: PLC0415

    sample = {} if result.entries_read is None else {"entries_read": result.entries_read}
    return {**msgspec.to_builtins(result.report), **sample}


def _verified_row(report: ArchiveReport) -> tuple[str | Cell, ...]:
    texts = list(dict.fromkeys([report.verification, *report.problems]))
    # A problem may repeat what the result of the verification says, with more details.
    details = [text for text in texts if not any(text in longer for longer in texts if longer != text)]
    result = Cell("; ".join(details), "good" if report.is_valid else "bad")
    name = report.name.removesuffix(".zim")
    return name, format_size(report.size), result, _INDEX_CELLS[report.indexes_answer]
