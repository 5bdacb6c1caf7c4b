"""`index`: make the indexes of archives now, show how far they are, or remove them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.library.scan import ScanResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.app.indexes import ArchiveIndexes
    from openzim_mcp.cli.terminal import Style, Terminal
    from openzim_mcp.zimfile import ArchiveFile

_COLUMNS = ("name", "links", "passages")


@command.command(
    "openzim-mcp index ~/zims",
    "openzim-mcp index wikipedia_en_all",
    "openzim-mcp index --status ~/zims",
    "openzim-mcp index --remove ~/zims",
)
@click.option("--status", is_flag=True, help="Only show how far the indexes are.")
@click.option("--remove", is_flag=True, help="Remove the indexes.")
@click.option("--yes", is_flag=True, help="Remove without asking.")
@click.argument("archives", nargs=-1, metavar="[ARCHIVE|DIRECTORY]...", shell_complete=command.complete_archive)
@command.directory_option
def run(
    terminal: Terminal, archives: tuple[str, ...], directories: list[str], *, status: bool, remove: bool, yes: bool
) -> Exit | None:
    """Make the indexes of each ARCHIVE, given by name or as a .zim file, or of all in a DIRECTORY.

    They tell which pages link to an article, and where passages with some words are. A server makes them by itself, in
    the background; this makes them now. If it is stopped, it goes on the next time.
    """
    if status and remove:
        raise click.UsageError("--status and --remove cannot be combined.")
    names, directories = command.split_archives(archives, directories)

    async def work(app: App) -> list[ArchiveIndexes]:
        files = [await app.find_archive(name) for name in names] or await app.usable_archives()
        if remove and not (yes or _confirm(terminal, files)):
            return []
        if status or remove:
            return await _work_on_each(app, files, is_removing=remove)
        return await _make_indexes(terminal, app, files)

    results = runtime.run_with_archives(terminal, directories, work)
    if not results and not remove:
        raise runtime.no_archive_error(runtime.load_command_settings(directories), ScanResult((), (), 0))
    rows = list(map(_index_row, results))
    terminal.show({"archives": results}, Table(_COLUMNS, rows, frozenset(), frozenset({"name"})))
    return Exit.NEGATIVE if any(result.error for result in results) or not results else None


def _confirm(terminal: Terminal, files: Sequence[ArchiveFile]) -> bool:
    """Ask whether to remove the indexes of some archives."""
    if not sys.stdin.isatty() or terminal.as_json:
        terminal.info("Nothing was removed; add --yes to remove them.")
        return False
    return click.confirm(f"Remove the indexes of {', '.join(file.name for file in files)}?", err=True)


async def _work_on_each(app: App, files: Sequence[ArchiveFile], *, is_removing: bool) -> list[ArchiveIndexes]:
    from openzim_mcp.app import indexes  # noqa: PLC0415

    work = indexes.remove_indexes if is_removing else indexes.report_indexes
    return [await work(app, file) for file in files]


async def _make_indexes(terminal: Terminal, app: App, files: Sequence[ArchiveFile]) -> list[ArchiveIndexes]:
    from openzim_mcp.app import indexes  # noqa: PLC0415

    results = []
    with terminal.progress_bars() as bars:
        bar = bars.add("")

        async def show_progress(done: int, total: int) -> None:
            bar(done, total)

        for number, file in enumerate(files, 1):
            bar.restart(f"{file.name} ({number} of {len(files)})" if len(files) > 1 else file.name, file.size)
            results.append(await indexes.make_indexes(app, file, indexes.scaled(show_progress, file.size)))
    return results


def _index_row(result: ArchiveIndexes) -> tuple[str | Cell, ...]:
    report = result.index
    pages = f"{report.done} of {report.of} pages" if report.state in {"partial", "building"} else f"{report.of} pages"
    text = result.error or f"{report.state}, {pages}" if result.error or report.of else report.state
    passages = (result.passage_index or "none").replace("_", " ")
    style: Style = "bad" if result.error else "good" if report.state == "complete" else "warn"
    return result.name.removesuffix(".zim"), Cell(text, style), Cell(passages)
