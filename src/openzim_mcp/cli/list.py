"""`list`: the archives at hand, and which of them can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit
from openzim_mcp.cli.terminal import Cell, Table
from openzim_mcp.text import format_size

if TYPE_CHECKING:
    from openzim_mcp.app.app import Backend
    from openzim_mcp.cli.terminal import Terminal

_HEADER = ("name", "title", "lang", "date", "articles", "size", "state")


@command.command("openzim-mcp list ~/zims", "openzim-mcp list --json ~/zims | jq -r .archives[].name")
@command.directory_arguments
def run(terminal: Terminal, directories: list[str]) -> Exit | None:
    """List the archives below the directories, and say which of them cannot be read, and why."""
    found = runtime.run_with_archives(terminal, directories, look)
    rows = [_row(archive) for archive in found["archives"]]
    blocks = [Table(_HEADER, rows, frozenset({"articles", "size"}))] if rows else ["There is no archive."]
    terminal.show(found, *blocks)
    for warning in found["refused"]:
        terminal.info(warning, "warn")
    return None if found["archives"] else Exit.NEGATIVE


async def look(backend: Backend) -> dict[str, Any]:
    """Return what is known of every archive."""
    from openzim_mcp.protocol import direct  # noqa: PLC0415

    archives = (await direct.payload(backend, "zim_health"))["loaded_archives"]

    async def describe(row: dict[str, Any]) -> None:
        try:
            row |= await direct.payload(backend, "zim_metadata", zim_file_path=row["name"])
        except errors.OpenZimMcpError as error:
            row |= {"status": "unusable", "reason": error.message}

    async with anyio.create_task_group() as tasks:
        for row in archives:
            if row["status"] != "unusable":
                tasks.start_soon(describe, row)
    refused = [f"{refusal.name}: {refusal.reason}" for refusal in (await backend.scan()).refused]
    return {"archives": archives, "refused": refused}


def _row(archive: dict[str, Any]) -> list[str | Cell]:
    told = archive.get("metadata", {})
    words = [told.get(name, "") for name in ("title", "language", "date")]
    articles = f"{archive['counts']['articles']:,}" if "counts" in archive else ""
    return [archive["name"].removesuffix(".zim"), *words, articles, format_size(archive["size"]), state(archive)]


def state(archive: dict[str, Any]) -> Cell:
    """Say in a few words what can be done with an archive."""
    if archive["status"] != "ok":
        return Cell(archive["reason"], "bad" if archive["status"] == "unusable" else "warn")
    if archive["verification"] == "damaged":
        return Cell("damaged: the checksum does not match", "bad")
    if not archive["index_capabilities"]["has_fulltext_index"]:
        return Cell("ok, but no full-text index", "warn")
    return Cell("ok, verified" if archive["verification"] == "valid" else "ok", "good")
