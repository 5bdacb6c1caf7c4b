"""`search`: find articles by words, a question or a title."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.app.near import NearHit, NearPage
    from openzim_mcp.app.search import MergedHit, MergedPage, SearchPage
    from openzim_mcp.cli.terminal import Terminal

_NOT_INDEXED = "Not all pages have been read for places: `openzim-mcp index` reads them, and a server does by itself."
_BLOCK_MARKS = re.compile(r"^(?:[-*+#>|]+ )+")


@command.command(
    "openzim-mcp search harbour herring ~/zims",
    "openzim-mcp search photosynthesis --archive wikipedia_en_all --limit 3",
    "openzim-mcp search merc --titles --json",
    'openzim-mcp search museum --near "Eiffel Tower, 5 km" ~/zims',
)
@command.archive_option
@click.option("--titles", is_flag=True, help="Search titles only.")
@click.option("--near", metavar="PLACE", help="Only places near a title, 48.85,2.35 or 48.85,2.35,5km.")
@click.option("--limit", type=click.IntRange(1, 100), help="Number of results (default 10).")
@click.option("--offset", type=click.IntRange(0), default=0, help="Number of results to skip.")
@command.words_and_directories("words", unless="near")
def run(  # noqa: PLR0913  one parameter per option
    terminal: Terminal,
    words: str,
    archive: str | None,
    directories: list[str],
    *,
    titles: bool,
    near: str | None,
    limit: int | None,
    offset: int,
) -> Exit | None:
    """Find articles by WORDS, or near a place, in one archive or in all, each with the passage that matches."""
    if not words.strip() and near is None:
        raise errors.OpenZimMcpValidationError("The search words are empty.")

    async def work(app: App) -> SearchPage | MergedPage | NearPage:
        from openzim_mcp.app.arguments import parse_request  # noqa: PLC0415
        from openzim_mcp.app.near import run_search  # noqa: PLC0415
        from openzim_mcp.app.search import SearchRequest  # noqa: PLC0415

        arguments = {
            "query": words,
            "zim_file_path": archive,
            "cross_file": archive is None and len((await app.scan()).archives) != 1,
            "mode": "title" if titles else "fulltext",
            "near": near,
            "limit": limit,
            "offset": offset,
        }
        page = await run_search(app, parse_request(SearchRequest, arguments))
        if not _hits_of_page(page):
            await runtime.require_readable_archive(app)
        return page

    page = runtime.run_with_archives(terminal, directories, work, requires_archive=True)
    hits = _hits_of_page(page)
    terminal.show(page, _numbered_list(hits, offset))
    for message in _page_messages(page, offset + len(hits)):
        terminal.info(message)
    return None if hits else Exit.NEGATIVE


def _hits_of_page(page: SearchPage | MergedPage | NearPage) -> Sequence[MergedHit | NearHit]:
    from openzim_mcp.app.search import SearchPage, with_archive  # noqa: PLC0415

    if not isinstance(page, SearchPage):
        return page.results
    return [with_archive(page.archive, hit) for hit in page.results or ()]


def _numbered_list(hits: Sequence[MergedHit | NearHit], offset: int) -> str:
    lines = []
    for number, hit in enumerate(hits, offset + 1):
        # A snippet may begin with the mark of a list; two spaces at the end of a line are a line break.
        snippet = _BLOCK_MARKS.sub("", " ".join(hit.snippet.split())) if hit.snippet else ""
        rows = [f"**{hit.title}**{_place(hit)}", *filter(None, [snippet]), f"{hit.archive}: {hit.path}"]
        lines.append(f"{number}. " + "  \n   ".join(rows))
    return "\n".join(lines) or "Nothing was found."


def _place(hit: MergedHit | NearHit) -> str:
    """Return in which section of its article, or how far on Earth, a result is."""
    from openzim_mcp.app.near import NearHit, format_distance  # noqa: PLC0415

    if isinstance(hit, NearHit):
        return f" — {format_distance(hit.distance_m)} {hit.direction or ''}".rstrip()
    return f" › {hit.section}" if hit.section else ""


def _page_messages(page: SearchPage | MergedPage | NearPage, next_offset: int) -> list[str]:
    """Return what the list does not show: corrected words, archives that failed, and how to get more results."""
    from openzim_mcp.app.near import NearPage  # noqa: PLC0415
    from openzim_mcp.app.search import MergedPage  # noqa: PLC0415

    if isinstance(page, NearPage):
        messages = [] if page.complete else [_NOT_INDEXED]
    else:
        per_archive = page.per_file_results if isinstance(page, MergedPage) else []
        corrections = [hits.corrected for hits in per_archive] if isinstance(page, MergedPage) else [page.corrected]
        corrected = {f"{wrong} → {right}": None for words in corrections for wrong, right in words.items()}
        messages = [f"Corrected: {', '.join(corrected)}"] if corrected else []
        messages += [f"{hits.archive}: {hits.error}" for hits in per_archive if hits.error]
    return messages if page.done else [*messages, f"There are more results: add --offset {next_offset}."]
