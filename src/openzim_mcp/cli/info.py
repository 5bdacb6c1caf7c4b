"""`info`: describe one archive."""

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

_METADATA_NAMES = ("description", "language", "date", "creator", "publisher", "flavour", "source", "license")
_COUNT_LABELS = {"articles": "articles", "entries": "entries", "media": "images and other media"}


@command.command("openzim-mcp info wikipedia_en_all --dir ~/zims", "openzim-mcp info ./wiki.zim --json")
@click.argument("archive")
@command.directory_arguments
def run(terminal: Terminal, archive: str, directories: list[str]) -> None:
    """Describe an ARCHIVE, given by name or as a .zim file: title, date, counts, indexes, namespaces."""
    archive, directories = command.resolve_archive_file(archive, directories)

    async def work(app: App) -> tuple[ArchiveFile, ArchiveMetadata]:
        from openzim_mcp.app.archives import read_archive_metadata  # noqa: PLC0415

        file = await app.find_archive(archive)
        return file, await read_archive_metadata(app, file)

    file, metadata = runtime.run_with_archives(terminal, directories, work)
    _show_archive(terminal, file, metadata)


def _show_archive(terminal: Terminal, file: ArchiveFile, metadata: ArchiveMetadata) -> None:
    import msgspec  # noqa: PLC0415

    title = metadata.metadata.get("title", metadata.archive)
    namespaces = [[name, f"{row.count:,}", row.description] for name, row in (metadata.namespaces or {}).items()]
    table = Table(("namespace", "entries", "content"), namespaces, frozenset({"entries"}))
    payload = {**msgspec.to_builtins(metadata), "file": file.path, "size": file.size}
    terminal.show(payload, f"# {title}", KeyValues(_metadata_rows(file, metadata)), table)


def _metadata_rows(file: ArchiveFile, metadata: ArchiveMetadata) -> list[tuple[str, str | Cell]]:
    capabilities = metadata.index_capabilities
    indexes = {"full text": capabilities.has_fulltext_index, "titles": capabilities.has_title_index}
    available = ", ".join(name for name, is_available in indexes.items() if is_available)
    return [
        *((name, metadata.metadata[name]) for name in _METADATA_NAMES if metadata.metadata.get(name)),
        *((label, f"{metadata.counts[name]:,}") for name, label in _COUNT_LABELS.items() if name in metadata.counts),
        ("size", format_size(file.size)),
        ("search index", Cell(available, "good") if available else Cell("none: search scans the articles", "warn")),
        ("main page", metadata.main_page or "none"),
        ("name", metadata.archive.removesuffix(".zim")),
        ("uuid", metadata.archive_identity.uuid),
        ("file", file.path),
    ]
