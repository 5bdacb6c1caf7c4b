"""`search`: articles by words, a question or a title, each with the passage that matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.search import MergedHit, MergedPage, SearchPage
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
def run(
    terminal: Terminal,
    words: str,
    archive: str | None,
    directories: list[str],
    *,
    titles: bool,
    limit: int | None,
    offset: int,
) -> Exit | None:
    """Find articles by WORDS, each with the passage that matches: in one archive, or in all of them."""

    async def work(app: App) -> SearchPage | MergedPage:
        from openzim_mcp.app.arguments import parse_request  # noqa: PLC0415
        from openzim_mcp.app.search import SearchRequest, search  # noqa: PLC0415

        arguments = {
            "query": words,
            "zim_file_path": archive,
            "cross_file": archive is None and len((await app.scan()).archives) != 1,
            "mode": "title" if titles else "fulltext",
            "limit": limit,
            "offset": offset,
        }
        return await search(app, parse_request(SearchRequest, arguments))

    page = runtime.run_with_archives(terminal, directories, work)
    rows = _rows(page)
    terminal.show(page, _numbered(rows, offset))
    for note in _notes(page):
        terminal.info(note)
    return None if rows else Exit.NEGATIVE


def _rows(page: SearchPage | MergedPage) -> list[MergedHit]:
    from openzim_mcp.app.search import MergedPage, with_archive  # noqa: PLC0415

    if isinstance(page, MergedPage):
        return page.results
    return [with_archive(page.archive, row) for row in page.results or ()]


def _numbered(rows: list[MergedHit], offset: int) -> str:
    lines = []
    for number, row in enumerate(rows, offset + 1):
        section = f" › {row.section}" if row.section else ""
        passage = f"\n   {' '.join(row.snippet.split())}" if row.snippet else ""
        lines.append(f"{number}. **{row.title}**{section} ({row.archive}: {row.path}){passage}")
    return "\n".join(lines) or "Nothing was found."


def _notes(page: SearchPage | MergedPage) -> list[str]:
    """Say what the list does not show: words that were corrected, archives that failed, and that there is more."""
    from openzim_mcp.app.search import MergedPage  # noqa: PLC0415

    per_archive = page.per_file_results if isinstance(page, MergedPage) else []
    corrections = [hits.corrected for hits in per_archive] if isinstance(page, MergedPage) else [page.corrected]
    read_as = {f"{wrong} → {right}": None for corrected in corrections for wrong, right in corrected.items()}
    failed = [f"{hits.archive}: {hits.error}" for hits in per_archive if hits.error]
    more = [] if page.done else ["There are more: --offset skips those above."]
    return ([f"Read as: {', '.join(read_as)}"] if read_as else []) + failed + more
