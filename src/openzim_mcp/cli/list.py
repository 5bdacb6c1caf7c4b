"""`list`: the archives, and which of them can be read."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.library.scan import ScanResult
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.archives import ArchiveList, ListedArchive
    from openzim_mcp.cli.terminal import Terminal

_COLUMNS = ("name", "title", "lang", "date", "articles", "size", "status")
_WHOLE_COLUMNS = frozenset(_COLUMNS) - {"title", "status"}
_OPTIONAL_COLUMNS = ("date", "lang", "articles", "title", "size")


@command.command("openzim-mcp list ~/zims", "openzim-mcp list --json ~/zims | jq -r .archives[].name")
@command.directory_arguments
def run(terminal: Terminal, directories: list[str]) -> Exit | None:
    """List the archives in the directories, and say why some of them cannot be read."""
    from openzim_mcp.cli.transfers import find_interrupted  # noqa: PLC0415

    listing = runtime.run_with_archives(None, directories, load_archive_list)
    settings = runtime.load_command_settings(directories)
    interrupted = find_interrupted(settings)
    rows = [_archive_row(archive) for archive in listing.archives]
    payload = {
        "archives": list(map(_listed_payload, listing.archives)),
        "refused": listing.rejected,
        "interrupted": [dataclasses.asdict(download) for download in interrupted],
    }
    if rows or terminal.as_json:
        terminal.show(
            payload, Table(_COLUMNS, rows, frozenset({"articles", "size"}), _WHOLE_COLUMNS, _OPTIONAL_COLUMNS)
        )
    if listing.is_handbook:
        terminal.info(runtime.handbook_message(settings))
    for reason in listing.rejected:
        terminal.info(reason, "warn")
    for download in interrupted:
        terminal.info(download.sentence, "warn")
    if not rows and not terminal.as_json:
        terminal.error(runtime.no_archive_error(settings, ScanResult((), (), 0)))
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
        return Cell("ok, no search index", "warn")
    return Cell("ok, verified" if archive.metadata.verification == "valid" else "ok", "good")
