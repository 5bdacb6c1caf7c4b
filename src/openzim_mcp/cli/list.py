"""`list`: the archives, and which of them can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.archives import ArchiveList, ListedArchive
    from openzim_mcp.cli.terminal import Terminal

_COLUMNS = ("name", "title", "lang", "date", "articles", "size", "status")


@command.command("openzim-mcp list ~/zims", "openzim-mcp list --json ~/zims | jq -r .archives[].name")
@command.directory_arguments
def run(terminal: Terminal, directories: list[str]) -> Exit | None:
    """List the archives in the directories, and say why some of them cannot be read."""
    listing = runtime.run_with_archives(terminal, directories, load_archive_list)
    rows = [_archive_row(archive) for archive in listing.archives]
    blocks = [Table(_COLUMNS, rows, frozenset({"articles", "size"}))] if rows else ["No archives found."]
    terminal.show({"archives": list(map(_listed_payload, listing.archives)), "refused": listing.rejected}, *blocks)
    for reason in listing.rejected:
        terminal.info(reason, "warn")
    return None if rows else Exit.NEGATIVE


async def load_archive_list(app: App) -> ArchiveList:
    """Return all archives with their metadata, without importing the app before a command needs it."""
    from openzim_mcp.app import archives  # noqa: PLC0415

    return await archives.list_archives(app)


def _listed_payload(archive: ListedArchive) -> dict[str, object]:
    import msgspec  # noqa: PLC0415

    metadata = msgspec.to_builtins(archive.metadata) if archive.metadata else {}
    return {**msgspec.to_builtins(archive.state), **metadata}


def _archive_row(archive: ListedArchive) -> list[str | Cell]:
    metadata = archive.metadata
    texts = [metadata.metadata.get(name, "") if metadata else "" for name in ("title", "language", "date")]
    articles = f"{metadata.counts['articles']:,}" if metadata else ""
    name = archive.state.name.removesuffix(".zim")
    return [name, *texts, articles, format_size(archive.state.size), _status_cell(archive)]


def _status_cell(archive: ListedArchive) -> Cell:
    if archive.state.status != "ok" or archive.metadata is None:
        return Cell(archive.state.reason or "", "bad" if archive.state.status == "unusable" else "warn")
    if archive.metadata.verification == "damaged":
        return Cell("damaged: the checksum does not match", "bad")
    if not archive.metadata.index_capabilities.has_fulltext_index:
        return Cell("ok, but no full-text index", "warn")
    return Cell("ok, verified" if archive.metadata.verification == "valid" else "ok", "good")
