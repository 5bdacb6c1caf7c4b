"""`info`: describe one archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, KeyValues, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.archives import ArchiveMetadata
    from openzim_mcp.cli.terminal import Block, Terminal
    from openzim_mcp.zimfile import ArchiveFile

    DescribedArchive: TypeAlias = tuple[ArchiveFile, ArchiveMetadata | errors.OpenZimMcpError]

_METADATA_NAMES = ("description", "language", "date", "creator", "publisher", "flavour", "source", "license")
_COUNT_LABELS = {"articles": "articles", "entries": "entries", "media": "images and other media"}


@command.command("openzim-mcp info wikipedia_en_all", "openzim-mcp info ~/zims", "openzim-mcp info ./wiki.zim --json")
@click.argument("archives", nargs=-1, metavar="[ARCHIVE|DIRECTORY]...", shell_complete=command.complete_archive)
@command.directory_option
def run(terminal: Terminal, archives: tuple[str, ...], directories: list[str]) -> Exit | None:
    """Describe an ARCHIVE, given by name or as a .zim file, or all in a DIRECTORY: title, date, counts, indexes."""
    names, directories = command.split_archives(archives, directories)

    async def work(app: App) -> list[DescribedArchive]:
        files = [await app.find_archive(name) for name in names] or (await app.scan()).archives
        return [(file, await _try_describe(app, file)) for file in files]

    results = runtime.run_with_archives(terminal, directories, work, requires_archive=not names)
    failures = [result for _, result in results if isinstance(result, errors.OpenZimMcpError)]
    if failures and len(results) == 1:
        raise failures[0]
    payloads = [_archive_payload(*result) for result in results]
    blocks = [block for result in results for block in _archive_blocks(*result)]
    terminal.show(payloads[0] if len(payloads) == 1 else {"archives": payloads}, *blocks)
    return Exit.UNREADABLE if failures else None


async def _try_describe(app: App, file: ArchiveFile) -> ArchiveMetadata | errors.OpenZimMcpError:
    from openzim_mcp.app.archives import read_archive_metadata  # noqa: PLC0415

    try:
        return await read_archive_metadata(app, file)
    except errors.OpenZimMcpArchiveError as error:
        return error


def _archive_payload(file: ArchiveFile, metadata: ArchiveMetadata | errors.OpenZimMcpError) -> dict[str, object]:
    import msgspec  # noqa: PLC0415

    row = {"file": file.path, "size": file.size}
    if isinstance(metadata, errors.OpenZimMcpError):
        return metadata.payload("info") | row
    return {**msgspec.to_builtins(metadata), **row}


def _archive_blocks(file: ArchiveFile, metadata: ArchiveMetadata | errors.OpenZimMcpError) -> list[Block]:
    if isinstance(metadata, errors.OpenZimMcpError):
        return [f"# {file.file_name}", Cell(metadata.message, "bad")]
    title = metadata.metadata.get("title", metadata.archive)
    namespaces = [[name, f"{row.count:,}", row.description] for name, row in (metadata.namespaces or {}).items()]
    table = Table(("namespace", "entries", "content"), namespaces, frozenset({"entries"}))
    return [f"# {title}", KeyValues(_metadata_rows(file, metadata)), table]


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
