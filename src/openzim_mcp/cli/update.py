"""`update`: newer editions of the archives that are here."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, transfers
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table

if TYPE_CHECKING:
    from openzim_mcp.catalog.search import Update
    from openzim_mcp.cli.terminal import Terminal

_HEADER = ("name", "here", "newer", "size")


@command.command("openzim-mcp update ~/zims", "openzim-mcp update ~/zims --yes", "openzim-mcp update --json ~/zims")
@click.option("--yes", is_flag=True, help="Do not ask.")
@transfers.option
@transfers.refresh
@command.directory_arguments
def run(terminal: Terminal, directories: list[str], library: str | None, *, yes: bool, refresh: bool) -> Exit | None:
    """Show which archives have a newer edition, and replace them.

    The old file stays until the new one is complete and its checksum is right. Without --yes, and where nobody can be
    asked, nothing is replaced.
    """
    from openzim_mcp.catalog import search  # noqa: PLC0415
    from openzim_mcp.catalog.client import Client  # noqa: PLC0415

    archives = transfers.archives(directories)
    if not archives:
        raise errors.ArchiveNotFound("There is no archive to update.", hint="Name the directory where archives are.")
    with Client() as client:
        catalogue = transfers.catalogue(terminal, client, library, anew=refresh)
        found = search.find_updates(catalogue, search.describe_installed(archives))
        if not found:
            terminal.show({"updates": []}, f"Nothing newer for the {len(archives)} archives that are here.")
            return None
        if not _agreed(terminal, found, yes=yes):
            return Exit.NEGATIVE
        orders = {transfers.Order(update.new, _target(update)): update for update in found}
        outcomes = transfers.get(terminal, client, list(orders), lambda order: _retire(orders[order], order.target))
    come = [Cell(f"{outcome.order.name} is here.", "good") for outcome in outcomes if outcome.done]
    payload = {"updates": [_payload(orders[outcome.order]) | outcome.payload() for outcome in outcomes]}
    if come or terminal.as_json:
        terminal.show(payload, *come)
    return transfers.complain(terminal, outcomes)


def _agreed(terminal: Terminal, found: list[Update], *, yes: bool) -> bool:
    """Show what is newer, and return whether it is wanted."""
    rows = [
        [update.new.base_name, update.old.date or "?", update.new.edition, transfers.shown(update.new.size)]
        for update in found
    ]
    table = Table(_HEADER, rows, frozenset({"size"}))
    if terminal.as_json:
        if not yes:
            terminal.show({"updates": [_payload(update) for update in found]})
        return yes
    terminal.show(None, table)
    if yes:
        return True
    if not sys.stdin.isatty():
        terminal.info("Nothing was replaced; that takes --yes.")
        return False
    return click.confirm("Replace them?", err=True)


def _payload(update: Update) -> dict[str, Any]:
    return {"name": update.new.base_name, "here": update.old.date, "newer": update.new.edition, "size": update.new.size}


def _target(update: Update) -> str:
    return os.path.join(os.path.dirname(update.old.file.path), str(update.file_name))


def _retire(update: Update, target: str) -> None:
    """Remove the old file; of a link only the link."""
    from openzim_mcp.zimfile import find_problem  # noqa: PLC0415

    old = update.old.file
    if target == old.path:
        return
    problem = find_problem([target], 0)
    if problem:
        raise errors.DownloadFailed(f"{os.path.basename(target)} is {problem}; the old file stays.")
    try:
        for path in [old.path] if os.path.islink(old.path) else old.parts:
            os.unlink(path)
    except OSError as error:
        raise errors.FileNotWritable(
            f"{old.shown} cannot be removed: {error.strerror}; the new one is beside it."
        ) from None
