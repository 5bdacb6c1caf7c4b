"""`info`: what one archive is, and what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.terminal import Cell, KeyValues, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import Backend
    from openzim_mcp.cli.terminal import Terminal

_TOLD = ("description", "language", "date", "creator", "publisher", "flavour", "source", "license")
_COUNTED = {"articles": "articles", "entries": "entries", "media": "pictures and other media"}


@command.command("openzim-mcp info wikipedia_en_all --dir ~/zims", "openzim-mcp info ./wiki.zim --json")
@click.argument("archive")
@command.directory_arguments
def run(terminal: Terminal, archive: str, directories: list[str]) -> None:
    """Describe an ARCHIVE, given by its name or as a .zim file: title, date, counts, indexes, what is in it."""
    archive, directories = command.resolve_archive_file(archive, directories)

    async def work(backend: Backend) -> dict[str, Any]:
        from openzim_mcp.protocol import direct  # noqa: PLC0415

        file = await backend.find(archive)
        told = await direct.payload(backend, "zim_metadata", zim_file_path=archive)
        return told | {"file": file.path, "size": file.size}

    told = runtime.run_with_archives(terminal, directories, work)
    title = told["metadata"].get("title", told["archive"])
    namespaces = [[name, f"{space['count']:,}", space["description"]] for name, space in told["namespaces"].items()]
    table = Table(("namespace", "entries", "what it has"), namespaces, frozenset({"entries"}))
    terminal.show(told, f"# {title}", KeyValues(_facts(told)), table)


def _facts(told: dict[str, Any]) -> list[tuple[str, str | Cell]]:
    has = told["index_capabilities"]
    index = {"has_fulltext_index": "full text", "has_title_index": "titles"}
    indexes = ", ".join(words for name, words in index.items() if has[name])
    return [
        *((name, told["metadata"][name]) for name in _TOLD if told["metadata"].get(name)),
        *((words, f"{told['counts'][name]:,}") for name, words in _COUNTED.items() if name in told["counts"]),
        ("size", format_size(told["size"])),
        ("search index", Cell(indexes, "good") if indexes else Cell("none: searching reads the articles", "warn")),
        ("main page", told["main_page"] or "none"),
        ("name", told["archive"].removesuffix(".zim")),
        ("uuid", told["archive_identity"]["uuid"]),
        ("file", told["file"]),
    ]
