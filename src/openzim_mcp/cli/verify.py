"""`verify`: check archives for damage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.library.scan import ScanResult
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.health import ArchiveReport
    from openzim_mcp.cli.terminal import ProgressBar, Terminal
    from openzim_mcp.zimfile import ArchiveFile

_COLUMNS = ("name", "size", "result", "indexes")
_INDEX_CELLS = {True: Cell("ok", "good"), False: Cell("broken", "bad"), None: Cell("none", "warn")}


@dataclass(frozen=True)
class VerifiedArchive:
    """The report of an archive, and how many of its entries were read as a sample."""

    report: ArchiveReport
    entries_read: int | None = None


@command.command(
    "openzim-mcp verify ~/zims",
    "openzim-mcp verify wikipedia_en_all",
    "openzim-mcp verify ~/Downloads/*.zim",
)
@click.argument("archives", nargs=-1, metavar="[ARCHIVE|DIRECTORY]...", shell_complete=command.complete_archive)
@command.directory_option
def run(terminal: Terminal, archives: tuple[str, ...], directories: list[str]) -> Exit | None:
    """Check each ARCHIVE, given by name or as a .zim file, or all in a DIRECTORY: checksum, entries and indexes.

    The result is stored, and used by `list`, `doctor` and every server, even if it is already running.
    """
    names, directories = command.split_archives(archives, directories)

    async def work(app: App) -> list[VerifiedArchive]:
        files = [await app.find_archive(name) for name in names] or list((await app.scan()).archives)
        results = []
        with terminal.progress_bars() as bars:
            bar = bars.add("")
            for number, file in enumerate(files, 1):
                bar.restart(f"{file.name} ({number} of {len(files)})" if len(files) > 1 else file.name, file.size)
                results.append(await _verify_archive(app, file, bar))
        return results

    results = runtime.run_with_archives(terminal, directories, work)
    if not results:
        raise runtime.no_archive_error(runtime.load_command_settings(directories), ScanResult((), (), 0))
    rows = [_verified_row(result.report) for result in results]
    table = Table(_COLUMNS, rows, frozenset({"size"}), frozenset({"name", "size"}), ("size",))
    terminal.show({"archives": list(map(_verified_payload, results))}, table)
    return None if all(result.report.is_valid for result in results) else Exit.NEGATIVE


async def _verify_archive(app: App, archive: ArchiveFile, bar: ProgressBar) -> VerifiedArchive:
    """Compare the checksum, query the indexes, and read a sample of entries."""
    import msgspec  # noqa: PLC0415

    from openzim_mcp.app import health  # noqa: PLC0415
    from openzim_mcp.app.caller import Caller  # noqa: PLC0415
    from openzim_mcp.calls.archive import SampleEntries  # noqa: PLC0415

    async def show_progress(done: int, total: int) -> None:
        bar(done, total)

    report = await health.report_archive(app, archive, Caller(progress=show_progress), force=True)
    bar(archive.size, None)
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
