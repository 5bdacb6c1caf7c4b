"""`list`: the archives at hand, and which of them can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.archives import ArchiveList, ListedArchive
    from openzim_mcp.cli.terminal import Terminal

_HEADER = ("name", "title", "lang", "date", "articles", "size", "state")


@command.command("openzim-mcp list ~/zims", "openzim-mcp list --json ~/zims | jq -r .archives[].name")
@command.directory_arguments
def run(terminal: Terminal, directories: list[str]) -> Exit | None:
    """List the archives below the directories, and say which of them cannot be read, and why."""
    listed = runtime.run_with_archives(terminal, directories, list_archives)
    rows = [_row(archive) for archive in listed.archives]
    blocks = [Table(_HEADER, rows, frozenset({"articles", "size"}))] if rows else ["There is no archive."]
    terminal.show({"archives": list(map(_payload, listed.archives)), "refused": listed.rejected}, *blocks)
    for warning in listed.rejected:
        terminal.info(warning, "warn")
    return None if rows else Exit.NEGATIVE


async def list_archives(app: App) -> ArchiveList:
    """Return what is known of every archive."""
    from openzim_mcp.app import archives  # noqa: PLC0415

    return await archives.list_archives(app)


def _payload(archive: ListedArchive) -> dict[str, Any]:
    import msgspec  # noqa: PLC0415

    metadata = msgspec.to_builtins(archive.metadata) if archive.metadata else {}
    return {**msgspec.to_builtins(archive.state), **metadata}


def _row(archive: ListedArchive) -> list[str | Cell]:
    metadata = archive.metadata
    texts = [metadata.metadata.get(name, "") if metadata else "" for name in ("title", "language", "date")]
    articles = f"{metadata.counts['articles']:,}" if metadata else ""
    name = archive.state.name.removesuffix(".zim")
    return [name, *texts, articles, format_size(archive.state.size), _state(archive)]


def _state(archive: ListedArchive) -> Cell:
    """Say in a few words what can be done with an archive."""
    if archive.state.status != "ok" or archive.metadata is None:
        return Cell(archive.state.reason or "", "bad" if archive.state.status == "unusable" else "warn")
    if archive.metadata.verification == "damaged":
        return Cell("damaged: the checksum does not match", "bad")
    if not archive.metadata.index_capabilities.has_fulltext_index:
        return Cell("ok, but no full-text index", "warn")
    return Cell("ok, verified" if archive.metadata.verification == "valid" else "ok", "good")
