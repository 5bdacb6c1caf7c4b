"""`download`: download archives and check them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from openzim_mcp.cli import command, runtime, transfers
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.cli.command import Exit
    from openzim_mcp.cli.terminal import Terminal
    from openzim_mcp.cli.transfers import Transfer, TransferResult

_CHECK_CELLS = {
    "sha256": Cell("published SHA-256", "good"),
    "checksum inside": Cell("checksum inside the archive", "good"),
}


@command.command(
    "openzim-mcp download wikipedia_en_100_mini --dir ~/zims",
    "openzim-mcp download wikipedia_en_all --flavour nopic",
    "openzim-mcp download devdocs_en_python devdocs_en_sqlite",
)
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option("--dir", "directory", metavar="DIRECTORY", help="Target directory (default: the library).")
@click.option("--flavour", metavar="NAME", help="The flavour, if a name has several: mini, nopic or maxi.")
@transfers.library_option
@transfers.refresh_option
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

    An interrupted download is resumed. A file gets its name only when it is complete and its checksum matches.
    """
    from openzim_mcp.catalog.client import Client  # noqa: PLC0415
    from openzim_mcp.catalog.search import find_entry  # noqa: PLC0415

    target_directory = transfers.target_directory(directory)
    with Client() as client:
        catalog = transfers.load_library_catalog(terminal, client, library, refresh=refresh)
        entries = dict.fromkeys(find_entry(catalog, name, flavour) for name in names)
        requested = [
            transfers.Transfer(entry, os.path.join(target_directory, str(entry.file_name))) for entry in entries
        ]
        installed = [transfer for transfer in requested if _is_installed(transfer)]
        missing = [transfer for transfer in requested if transfer not in installed]
        results = transfers.run_transfers(terminal, client, missing)
    _show_results(terminal, target_directory, installed, results)
    return transfers.report_failures(terminal, results)


def _is_installed(transfer: Transfer) -> bool:
    from openzim_mcp.zimfile import check_header  # noqa: PLC0415

    return os.path.exists(transfer.target) and not check_header([transfer.target], 0).problem


def _show_results(terminal: Terminal, directory: str, installed: list[Transfer], results: list[TransferResult]) -> None:
    payload = {
        "directory": directory,
        "files": [
            *({"file": item.file_name, "status": "ok", "path": item.target, "received": 0} for item in installed),
            *(result.payload() for result in results),
        ],
    }
    rows: list[list[str | Cell]] = [
        [item.file_name, format_size(os.path.getsize(item.target)), "already there"] for item in installed
    ]
    rows += [
        [result.transfer.file_name, format_size(result.download.size), _CHECK_CELLS[result.download.checked_by]]
        for result in results
        if result.download
    ]
    header = ("file", "size", "checked by")
    table = [Table(header, rows, frozenset({"size"}), frozenset({"file", "size"}))] if rows else []
    if table or terminal.as_json:
        terminal.show(payload, *table)
    if rows:
        argument = transfers.directory_argument(directory)
        terminal.info(f"Directory: {runtime.display_path(directory)}")
        terminal.info(f"To ask: openzim-mcp ask YOUR QUESTION{argument}")
        terminal.info(f"To connect a client: openzim-mcp connect CLIENT{argument} --write")
