"""`search`: articles by words, a question or a title, each with the passage that matches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit

if TYPE_CHECKING:
    from openzim_mcp.app.app import Backend
    from openzim_mcp.cli.terminal import Terminal


@command.command(
    'openzim-mcp search "harbour herring" ~/zims',
    "openzim-mcp search photosynthesis --archive wikipedia_en_all --limit 3",
    "openzim-mcp search merc --titles --json",
)
@click.argument("words")
@command.archive_option
@click.option("--titles", is_flag=True, help="Look at titles only.")
@click.option("--limit", type=click.IntRange(1, 100), help="Results (default 10).")
@click.option("--offset", type=click.IntRange(0), default=0, help="Results to skip.")
@command.directory_arguments
def run(terminal: Terminal, words: str, archive: str | None, directories: list[str], **given: Any) -> Exit | None:
    """Find articles by WORDS, each with the passage that matches: in one archive, or in all of them."""

    async def work(backend: Backend) -> Any:
        from openzim_mcp.protocol import direct  # noqa: PLC0415

        everywhere = archive is None and len((await backend.scan()).archives) != 1
        mode = "title" if given["titles"] else "fulltext"
        page = {"limit": given["limit"], "offset": given["offset"]}
        return await direct.payload(
            backend, "zim_search", query=words, zim_file_path=archive, cross_file=everywhere, mode=mode, **page
        )

    found = runtime.run_with_archives(terminal, directories, work)
    terminal.show(found, _listed(found, given["offset"]))
    for note in _notes(found):
        terminal.info(note)
    return None if found["results"] else Exit.NEGATIVE


def _listed(found: dict[str, Any], offset: int) -> str:
    rows = []
    for number, row in enumerate(found["results"], offset + 1):
        section = f" › {row['section']}" if row.get("section") else ""
        passage = f"\n   {' '.join(row['snippet'].split())}" if row.get("snippet") else ""
        rows.append(
            f"{number}. **{row['title']}**{section} ({row.get('archive') or found['archive']}: {row['path']}){passage}"
        )
    return "\n".join(rows) or "Nothing was found."


def _notes(found: dict[str, Any]) -> list[str]:
    """Say what the list does not show: words put right, archives that failed, and that there is more."""
    lists = found.get("per_file_results", [found])
    read_as = {f"{wrong} → {right}": None for own in lists for wrong, right in own.get("corrected", {}).items()}
    failed = [f"{own['archive']}: {own['error']}" for own in lists if "error" in own]
    more = [] if found["done"] else ["There are more: --offset skips those above."]
    return ([f"Read as: {', '.join(read_as)}"] if read_as else []) + failed + more
