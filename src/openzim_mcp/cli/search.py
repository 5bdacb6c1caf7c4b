"""`search`: find articles by words, a question or a title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.search import MergedHit, MergedPage, SearchPage
    from openzim_mcp.cli.terminal import Terminal

_BLOCK_MARKS = re.compile(r"^(?:[-*+#>|]+ )+")


@command.command(
    "openzim-mcp search harbour herring ~/zims",
    "openzim-mcp search photosynthesis --archive wikipedia_en_all --limit 3",
    "openzim-mcp search merc --titles --json",
)
@command.archive_option
@click.option("--titles", is_flag=True, help="Search titles only.")
@click.option("--limit", type=click.IntRange(1, 100), help="Number of results (default 10).")
@click.option("--offset", type=click.IntRange(0), default=0, help="Number of results to skip.")
@command.words_and_directories("words")
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
    """Find articles by WORDS in one archive or in all, each with the passage that matches."""
    if not words.strip():
        raise errors.OpenZimMcpValidationError("The search words are empty.")

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
        page = await search(app, parse_request(SearchRequest, arguments))
        if not _hits_of_page(page):
            await runtime.require_readable_archive(app)
        return page

    page = runtime.run_with_archives(terminal, directories, work, requires_archive=True)
    hits = _hits_of_page(page)
    terminal.show(page, _numbered_list(hits, offset))
    for message in _page_messages(page, offset + len(hits)):
        terminal.info(message)
    return None if hits else Exit.NEGATIVE


def _hits_of_page(page: SearchPage | MergedPage) -> list[MergedHit]:
    from openzim_mcp.app.search import MergedPage, with_archive  # noqa: PLC0415

    if isinstance(page, MergedPage):
        return page.results
    return [with_archive(page.archive, hit) for hit in page.results or ()]


def _numbered_list(hits: list[MergedHit], offset: int) -> str:
    lines = []
    for number, hit in enumerate(hits, offset + 1):
        section = f" › {hit.section}" if hit.section else ""
        # A snippet may begin with the mark of a list; two spaces at the end of a line are a line break.
        snippet = _BLOCK_MARKS.sub("", " ".join(hit.snippet.split())) if hit.snippet else ""
        rows = [f"**{hit.title}**{section}", *filter(None, [snippet]), f"{hit.archive}: {hit.path}"]
        lines.append(f"{number}. " + "  \n   ".join(rows))
    return "\n".join(lines) or "Nothing was found."


def _page_messages(page: SearchPage | MergedPage, next_offset: int) -> list[str]:
    """Return what the list does not show: corrected words, archives that failed, and how to get more results."""
    from openzim_mcp.app.search import MergedPage  # noqa: PLC0415

    per_archive = page.per_file_results if isinstance(page, MergedPage) else []
    corrections = [hits.corrected for hits in per_archive] if isinstance(page, MergedPage) else [page.corrected]
    corrected = {f"{wrong} → {right}": None for words in corrections for wrong, right in words.items()}
    messages = [f"Corrected: {', '.join(corrected)}"] if corrected else []
    messages += [f"{hits.archive}: {hits.error}" for hits in per_archive if hits.error]
    return messages if page.done else [*messages, f"There are more results: add --offset {next_offset}."]
