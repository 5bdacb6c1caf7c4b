"""`catalog`: list the archives that can be downloaded, and which of them are installed."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from openzim_mcp.cli import command, transfers
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table

if TYPE_CHECKING:
    from openzim_mcp.catalog.catalog import Catalog, CatalogEntry
    from openzim_mcp.catalog.search import InstallState
    from openzim_mcp.cli.terminal import Terminal

_HEADER = ("name", "date", "size", "contents", "lang", "installed", "title")
_WRAPPED_COLUMNS = {"contents", "title"}
_OPTIONAL_COLUMNS = ("lang", "installed", "date", "contents")
_DEFAULT_ROWS = 40
_SIZE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[KMGT]?)(?P<binary>I?)B?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_STATE_CELLS: dict[InstallState, Cell] = {
    "installed": Cell("yes", "good"),
    "outdated": Cell("older", "warn"),
    "absent": Cell(""),
}


class CatalogOptions(TypedDict):
    """The options that select archives."""

    lang: str | None
    category: str | None
    flavour: str | None
    max_size: int | None
    limit: int | None
    refresh: bool


def parse_size(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Return the bytes of a size such as 500MB, 1.5 GB, 2GiB or 1000."""
    if value is None:
        return None
    size = _SIZE.fullmatch(value.strip())
    if size is None:
        raise click.BadParameter(f"{value!r} is not a size; write it as 500MB or 2GB.")
    base = 1024 if size["binary"] else 1000
    return int(float(size["number"]) * base ** _POWERS[size["unit"].upper()])


@command.command(
    "openzim-mcp catalog wikipedia --lang en --max-size 2GB",
    "openzim-mcp catalog --category stack_exchange coffee",
    "openzim-mcp catalog --library http://ship.local:8080",
)
@click.argument("words", nargs=-1)
@click.option("--lang", metavar="CODE", help="Only in this language: en, or eng.")
@click.option("--category", metavar="NAME", help="Only of this category: wikipedia, gutenberg, stack_exchange, …")
@click.option("--flavour", metavar="NAME", help="Only of this flavour: mini, nopic or maxi.")
@click.option("--max-size", callback=parse_size, metavar="SIZE", help="Only up to this size: 500MB, 2GB.")
@click.option("--limit", type=click.IntRange(1), help=f"Number of rows (default {_DEFAULT_ROWS}; with --json all).")
@click.option(
    "--dir", "directories", multiple=True, metavar="DIRECTORY", help="Directory with archives, for `installed`."
)
@transfers.library_option
@transfers.refresh_option
def run(
    terminal: Terminal,
    words: tuple[str, ...],
    directories: tuple[str, ...],
    library: str | None,
    **options: Unpack[CatalogOptions],
) -> Exit | None:
    """List the archives of the Kiwix library, or of another, that have all WORDS in their name or description.

    `download` takes the names that are listed.
    """
    from openzim_mcp.catalog import search  # noqa: PLC0415
    from openzim_mcp.catalog.client import Client  # noqa: PLC0415

    installed = search.describe_installed(transfers.find_installed(directories))
    with Client() as client:
        catalog = transfers.load_library_catalog(terminal, client, library, refresh=options["refresh"])
    filters = search.Filter(words, options["lang"], options["category"], options["flavour"], options["max_size"])
    matches = [(entry, search.install_state(entry, installed)) for entry in search.search_catalog(catalog, filters)]
    limit = options["limit"] or (len(matches) if terminal.as_json else _DEFAULT_ROWS)
    _show_entries(terminal, catalog, matches[:limit], len(matches))
    return None if matches else Exit.NEGATIVE


def _show_entries(
    terminal: Terminal, catalog: Catalog, matches: list[tuple[CatalogEntry, InstallState]], total: int
) -> None:
    payload = {
        "library": catalog.library,
        "asked": dt.datetime.fromtimestamp(catalog.fetched_at, dt.UTC).isoformat(timespec="seconds"),
        "total": total,
        "archives": [_entry_payload(entry, state) for entry, state in matches],
    }
    rows = [_entry_row(entry, state) for entry, state in matches]
    whole = frozenset(_HEADER) - _WRAPPED_COLUMNS
    table = Table(_HEADER, rows, frozenset({"size"}), whole, _OPTIONAL_COLUMNS)
    if not any(entry.size for entry, _ in matches):
        table = table.without("size")
    terminal.show(payload, table if rows else "No archive matches.")
    if total > len(matches) and not terminal.as_json:
        terminal.info(f"{total - len(matches)} more: add words, or --limit {total}.")


def _entry_row(entry: CatalogEntry, state: InstallState) -> list[str | Cell]:
    from openzim_mcp.catalog.search import describe_flavour  # noqa: PLC0415

    more_languages = f" +{len(entry.languages) - 1}" if len(entry.languages) > 1 else ""
    return [
        entry.base_name,
        entry.edition,
        transfers.format_optional_size(entry.size),
        describe_flavour(entry.flavour),
        "".join(entry.languages[:1]) + more_languages,
        _STATE_CELLS[state],
        entry.title,
    ]


def _entry_payload(entry: CatalogEntry, state: InstallState) -> dict[str, object]:
    from openzim_mcp.catalog.search import describe_flavour  # noqa: PLC0415

    return dataclasses.asdict(entry) | {
        "catalogue_name": entry.name,
        "name": entry.base_name,
        "file": entry.file_name,
        "contents": describe_flavour(entry.flavour),
        "state": state,
    }
