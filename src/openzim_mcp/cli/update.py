"""`update`: replace installed archives by newer editions."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, transfers
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table

if TYPE_CHECKING:
    from openzim_mcp.catalog.client import Client
    from openzim_mcp.catalog.search import Update
    from openzim_mcp.cli.terminal import Terminal

_HEADER = ("name", "installed", "newest", "size")


@command.command("openzim-mcp update ~/zims", "openzim-mcp update ~/zims --yes", "openzim-mcp update --json ~/zims")
@click.option("--yes", is_flag=True, help="Replace without asking.")
@transfers.library_option
@transfers.refresh_option
@command.directory_arguments
def run(terminal: Terminal, directories: list[str], library: str | None, *, yes: bool, refresh: bool) -> Exit | None:
    """List the archives that have a newer edition, and replace them.

    An old file is removed only when the new one is complete and its checksum matches. If there is no terminal to ask
    on, nothing is replaced without --yes.
    """
    from openzim_mcp.catalog import search  # noqa: PLC0415
    from openzim_mcp.catalog.client import Client  # noqa: PLC0415

    archives = transfers.find_installed(directories)
    if not archives:
        raise errors.ArchiveNotFound("There is no archive to update.", hint="Name a directory with archives.")
    with Client() as client:
        catalog = transfers.load_library_catalog(terminal, client, library, refresh=refresh)
        updates = search.find_updates(catalog, search.describe_installed(archives))
        if not updates:
            terminal.show({"updates": []}, f"None of the {len(archives)} archives has a newer edition.")
            return None
        if not _confirm(terminal, updates, yes=yes):
            return Exit.NEGATIVE
        return _replace_archives(terminal, client, updates)


def _confirm(terminal: Terminal, updates: list[Update], *, yes: bool) -> bool:
    """Show the updates and return whether to make them."""
    if terminal.as_json:
        if not yes:
            terminal.show({"updates": [_update_payload(update) for update in updates]})
        return yes
    rows = [_update_row(update) for update in updates]
    terminal.show(None, Table(_HEADER, rows, frozenset({"size"}), frozenset(_HEADER)))
    if yes:
        return True
    if not sys.stdin.isatty():
        terminal.info("Nothing was replaced; add --yes to replace them.")
        return False
    return click.confirm("Replace them?", err=True)


def _update_row(update: Update) -> list[str]:
    size = transfers.format_optional_size(update.new.size)
    return [update.new.base_name, update.old.date or "?", update.new.edition, size]


def _update_payload(update: Update) -> dict[str, object]:
    return {"name": update.new.base_name, "here": update.old.date, "newer": update.new.edition, "size": update.new.size}


def _replace_archives(terminal: Terminal, client: Client, updates: list[Update]) -> Exit | None:
    updates_by_transfer = {transfers.Transfer(update.new, _target_path(update)): update for update in updates}
    results = transfers.run_transfers(
        terminal,
        client,
        list(updates_by_transfer),
        lambda transfer: _remove_old(updates_by_transfer[transfer], transfer.target),
    )
    payload = {
        "updates": [_update_payload(updates_by_transfer[result.transfer]) | result.payload() for result in results]
    }
    completed = [Cell(f"{result.transfer.file_name} is installed.", "good") for result in results if result.download]
    if completed or terminal.as_json:
        terminal.show(payload, *completed)
    return transfers.report_failures(terminal, results)


def _target_path(update: Update) -> str:
    return os.path.join(os.path.dirname(update.old.file.path), str(update.file_name))


def _remove_old(update: Update, target: str) -> None:
    """Remove the old file; if it is a symbolic link, only the link."""
    from openzim_mcp.zimfile import check_header  # noqa: PLC0415

    old = update.old.file
    if target == old.path:
        return
    problem = check_header([target], 0).problem
    if problem:
        raise errors.DownloadFailed(f"{os.path.basename(target)} is not usable ({problem}); the old file is kept.")
    try:
        for path in [old.path] if os.path.islink(old.path) else old.parts:
            os.unlink(path)
    except OSError as error:
        raise errors.FileNotWritable(
            f"{old.file_name} cannot be removed: {error.strerror}; the new file is beside it."
        ) from None
