"""`info`: what one archive is, and what is in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.terminal import Cell, KeyValues, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.archives import ArchiveMetadata
    from openzim_mcp.cli.terminal import Terminal
    from openzim_mcp.zimfile import ArchiveFile

_TOLD = ("description", "language", "date", "creator", "publisher", "flavour", "source", "license")
_COUNTED = {"articles": "articles", "entries": "entries", "media": "pictures and other media"}


@command.command("openzim-mcp info wikipedia_en_all --dir ~/zims", "openzim-mcp info ./wiki.zim --json")
@click.argument("archive")
@command.directory_arguments
def run(terminal: Terminal, archive: str, directories: list[str]) -> None:
    """Describe an ARCHIVE, given by its name or as a .zim file: title, date, counts, indexes, what is in it."""
    archive, directories = command.resolve_archive_file(archive, directories)

    async def work(app: App) -> tuple[ArchiveFile, ArchiveMetadata]:
        from openzim_mcp.app.archives import describe_archive  # noqa: PLC0415

        file = await app.find_archive(archive)
        return file, await describe_archive(app, file)

    file, metadata = runtime.run_with_archives(terminal, directories, work)
    _show(terminal, file, metadata)


def _show(terminal: Terminal, file: ArchiveFile, metadata: ArchiveMetadata) -> None:
    import msgspec  # noqa: PLC0415

    title = metadata.metadata.get("title", metadata.archive)
    namespaces = [[name, f"{row.count:,}", row.description] for name, row in (metadata.namespaces or {}).items()]
    table = Table(("namespace", "entries", "what it has"), namespaces, frozenset({"entries"}))
    payload = {**msgspec.to_builtins(metadata), "file": file.path, "size": file.size}
    terminal.show(payload, f"# {title}", KeyValues(_facts(file, metadata)), table)


def _facts(file: ArchiveFile, metadata: ArchiveMetadata) -> list[tuple[str, str | Cell]]:
    capabilities = metadata.index_capabilities
    indexes = [("full text", capabilities.has_fulltext_index), ("titles", capabilities.has_title_index)]
    available = ", ".join(name for name, is_there in indexes if is_there)
    return [
        *((name, metadata.metadata[name]) for name in _TOLD if metadata.metadata.get(name)),
        *((words, f"{metadata.counts[name]:,}") for name, words in _COUNTED.items() if name in metadata.counts),
        ("size", format_size(file.size)),
        ("search index", Cell(available, "good") if available else Cell("none: searching reads the articles", "warn")),
        ("main page", metadata.main_page or "none"),
        ("name", metadata.archive.removesuffix(".zim")),
        ("uuid", metadata.archive_identity.uuid),
        ("file", file.path),
    ]
