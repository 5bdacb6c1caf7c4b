"""`download`: archives of a library, whole and checked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from openzim_mcp.cli import command, transfers
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.cli.command import Exit
    from openzim_mcp.cli.terminal import Terminal

_CHECKED = {
    "sha256": Cell("SHA-256 of the library", "good"),
    "checksum inside": Cell("checksum inside the archive", "good"),
}


@command.command(
    "openzim-mcp download wikipedia_en_100_mini --dir ~/zims",
    "openzim-mcp download wikipedia_en_all --flavour nopic",
    "openzim-mcp download devdocs_en_python devdocs_en_sqlite",
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--dir", "directory", metavar="DIRECTORY", help="Where to put them (default: where archives are served).")
@click.option("--flavour", metavar="NAME", help="Which flavour, where a name has several: mini, nopic or maxi.")
@transfers.option
@transfers.refresh
def run(
    terminal: Terminal,
    names: tuple[str, ...],
    directory: str | None,
    flavour: str | None,
    library: str | None,
    *,
    refresh: bool,
) -> Exit | None:
    """Download the newest file of each NAME, as `catalog` lists them.

    A download that was interrupted goes on where it ended. A file gets its name only when it is complete and its
    checksum is right.
    """
    from openzim_mcp.catalog import search  # noqa: PLC0415
    from openzim_mcp.catalog.client import Client  # noqa: PLC0415
    from openzim_mcp.zimfile import find_problem  # noqa: PLC0415

    folder = transfers.place(directory)
    with Client() as client:
        catalogue = transfers.catalogue(terminal, client, library, anew=refresh)
        entries = dict.fromkeys(search.find_entry(catalogue, name, flavour) for name in names)
        orders = [transfers.Order(entry, os.path.join(folder, str(entry.file_name))) for entry in entries]
        here = [order for order in orders if os.path.exists(order.target) and not find_problem([order.target], 0)]
        outcomes = transfers.get(terminal, client, [order for order in orders if order not in here])
    _show(terminal, folder, here, outcomes)
    return transfers.complain(terminal, outcomes)


def _show(terminal: Terminal, folder: str, here: list[transfers.Order], outcomes: list[transfers.Outcome]) -> None:
    come = [outcome.done for outcome in outcomes if outcome.done]
    rows: list[list[str | Cell]] = [
        [order.name, format_size(os.path.getsize(order.target)), "was here"] for order in here
    ]
    rows += [[os.path.basename(done.path), format_size(done.size), _CHECKED[done.checked_by]] for done in come]
    payload = {
        "directory": folder,
        "files": [{"file": order.name, "status": "ok", "path": order.target, "received": 0} for order in here]
        + [outcome.payload() for outcome in outcomes],
    }
    table = [Table(("file", "size", "checked by"), rows, frozenset({"size"}))] if rows else []
    if table or terminal.as_json:
        terminal.show(payload, *table)
    if rows:
        terminal.info(f"In {folder}. Serve it with: openzim-mcp {folder}")
