"""`catalog`: what archives there are to download, and which of them are here."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re
from typing import TYPE_CHECKING, Any

import click

from openzim_mcp.cli import command, transfers
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table

if TYPE_CHECKING:
    from openzim_mcp.catalog.catalog import Catalog, CatalogEntry
    from openzim_mcp.catalog.search import InstallState
    from openzim_mcp.cli.terminal import Terminal

_HEADER = ("name", "date", "size", "what is in it", "lang", "here", "title")
_LISTED = 40
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?", re.IGNORECASE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_STATES: dict[InstallState, Cell] = {
    "installed": Cell("yes", "good"),
    "outdated": Cell("older", "warn"),
    "absent": Cell(""),
}


def in_bytes(_: click.Context, __: click.Parameter, value: str | None) -> int | None:
    """Read a size as people write it: 500MB, 1.5 GB, 2GiB or plain bytes."""
    if value is None:
        return None
    found = _SIZE.fullmatch(value.strip())
    if found is None:
        raise click.BadParameter(f"{value!r} is no size; write it as 500MB or 2GB.")
    return int(float(found[1]) * (1024 if found[3] else 1000) ** _POWERS[found[2].upper()])


@command.command(
    "openzim-mcp catalog wikipedia --lang en --max-size 2GB",
    "openzim-mcp catalog --category stack_exchange coffee",
    "openzim-mcp catalog --library http://ship.local:8080",
)
@click.argument("words", nargs=-1)
@click.option("--lang", metavar="CODE", help="Only in this language: en, or eng.")
@click.option("--category", metavar="NAME", help="Only of this category: wikipedia, gutenberg, stack_exchange, …")
@click.option("--flavour", metavar="NAME", help="Only of this flavour: mini, nopic or maxi.")
@click.option("--max-size", callback=in_bytes, metavar="SIZE", help="Only up to this size: 500MB, 2GB.")
@click.option("--limit", type=click.IntRange(1), help=f"Rows (default {_LISTED}; with --json all).")
@click.option("--dir", "where", multiple=True, metavar="DIRECTORY", help="Where archives are, to see which are here.")
@transfers.option
@transfers.refresh
def run(
    terminal: Terminal,
    words: tuple[str, ...],
    where: tuple[str, ...],
    library: str | None,
    **given: Any,
) -> Exit | None:
    """List the archives of the Kiwix library, or another one, that have all WORDS in their name or description.

    Their names are what `download` takes.
    """
    from openzim_mcp.catalog import search  # noqa: PLC0415
    from openzim_mcp.catalog.client import Client  # noqa: PLC0415

    here = search.describe_installed(transfers.archives(where))
    with Client() as client:
        catalogue = transfers.catalogue(terminal, client, library, anew=given["refresh"])
    wish = search.Filter(words, given["lang"], given["category"], given["flavour"], given["max_size"])
    found = [(entry, search.install_state(entry, here)) for entry in search.search_catalog(catalogue, wish)]
    limit = given["limit"] or (len(found) if terminal.as_json else _LISTED)
    _show(terminal, catalogue, found[:limit], len(found))
    return None if found else Exit.NEGATIVE


def _show(terminal: Terminal, catalogue: Catalog, found: list[tuple[CatalogEntry, InstallState]], total: int) -> None:
    rows = [_row(entry, state) for entry, state in found]
    payload = {
        "library": catalogue.library,
        "asked": dt.datetime.fromtimestamp(catalogue.fetched_at, dt.UTC).isoformat(timespec="seconds"),
        "total": total,
        "archives": [_payload(entry, state) for entry, state in found],
    }
    terminal.show(
        payload,
        Table(_HEADER, rows, frozenset({"size"}), frozenset(_HEADER) - {"title", "what is in it"})
        if rows
        else "Nothing was found.",
    )
    if total > len(found) and not terminal.as_json:
        terminal.info(f"{total - len(found)} more; say more words, or --limit {total}.")


def _row(entry: CatalogEntry, state: InstallState) -> list[str | Cell]:
    from openzim_mcp.catalog import search  # noqa: PLC0415

    several = (
        f"{entry.languages[0]} +{len(entry.languages) - 1}" if len(entry.languages) > 1 else "".join(entry.languages)
    )
    words = search.describe_flavour(entry.flavour)
    return [entry.base_name, entry.edition, transfers.shown(entry.size), words, several, _STATES[state], entry.title]


def _payload(entry: CatalogEntry, state: InstallState) -> dict[str, Any]:
    from openzim_mcp.catalog import search  # noqa: PLC0415

    told = dataclasses.asdict(entry) | {"catalogue_name": entry.name, "name": entry.base_name, "file": entry.file_name}
    return told | {"contents": search.describe_flavour(entry.flavour), "state": state}
