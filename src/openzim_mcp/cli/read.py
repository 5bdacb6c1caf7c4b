"""`read`: show an article, one section, or its outline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from openzim_mcp import errors, uris
from openzim_mcp.cli import command, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.app.app import App
    from openzim_mcp.calls.reading import Section, TableOfContents, TocEntry
    from openzim_mcp.cli.terminal import Terminal
    from openzim_mcp.zimfile import ArchiveFile

_UNLIMITED_CHARS = 10_000_000


class WholeArticle(msgspec.Struct, frozen=True):
    """A complete article, or the part of it that a fragment names, which `note` tells."""

    archive: str
    path: str
    title: str
    mime_type: str
    content: str
    note: str | None = None


@command.command(
    "openzim-mcp read Ravenport ~/zims",
    "openzim-mcp read Ravenport --toc",
    "openzim-mcp read Ravenport --section History --archive isles",
)
@command.archive_option
@click.option("--section", metavar="NAME", help="Show only this section: its heading or words of it, or its number.")
@click.option("--toc", is_flag=True, help="Show only the outline.")
@command.words_and_directories("title")
def run(
    terminal: Terminal, title: str, archive: str | None, section: str | None, directories: list[str], *, toc: bool
) -> None:
    """Show an article, by its TITLE, path, zim:// URI or URL on the original site; typos are tolerated."""
    if section and toc:
        raise click.UsageError("--section and --toc cannot be combined.")

    async def work(app: App) -> Section | TableOfContents | WholeArticle:
        from openzim_mcp.app.reading import read_or_closest  # noqa: PLC0415
        from openzim_mcp.calls.reading import ReadSection, ReadTableOfContents  # noqa: PLC0415

        file, path = await _select_article(app, title, archive)
        if toc:
            return await read_or_closest(app, file, ReadTableOfContents(path))
        if section:
            return await read_or_closest(app, file, ReadSection(path, section, _UNLIMITED_CHARS, compact=False))
        return await _read_whole(app, file, path)

    _show_article(terminal, runtime.run_with_archives(terminal, directories, work, requires_archive=True))


async def _select_article(app: App, reference: str, archive: str | None) -> tuple[ArchiveFile, str]:
    """Return the archive and what to read of it; without --archive, all are looked in."""
    from openzim_mcp.app.references import locate_entry  # noqa: PLC0415

    try:
        return await locate_entry(app, reference, archive)
    except errors.AmbiguousEntry as error:
        rows = [uris.parse_uri(row["uri"]) for row in error.details["candidates"]]
        names = ", ".join(uri.name_candidates[0] for uri in rows if uri)
        raise errors.AmbiguousEntry(error.message, hint=f"Choose one with --archive: {names}.") from None


async def _read_whole(app: App, archive: ArchiveFile, path: str) -> WholeArticle:
    from openzim_mcp.app.reading import read_entry_text  # noqa: PLC0415

    text = await read_entry_text(app, archive, path, _UNLIMITED_CHARS)
    return WholeArticle(archive.file_name, text.actual_path, text.title, text.mime_type, text.content, text.note)


def _show_article(terminal: Terminal, article: Section | TableOfContents | WholeArticle) -> None:
    from openzim_mcp.calls.reading import Section, TableOfContents  # noqa: PLC0415

    if isinstance(article, TableOfContents):
        outline = "\n".join(_outline_lines(article.toc)) or "The article has no headings."
        terminal.show(article, f"# {article.title}", outline)
    elif isinstance(article, Section):
        terminal.show(article, article.content, paged=True)
    else:
        terminal.show(article, f"# {article.title}", article.content, paged=True)
        if article.note:
            terminal.info(article.note)
    terminal.info(f"{article.archive}: {article.path}")


def _outline_lines(headings: list[TocEntry], parent: str = "") -> Iterator[str]:
    """Yield a line per heading, with the number that `--section` takes unless the heading has its own."""
    for position, heading in enumerate(headings, 1):
        number = f"{parent}{position}"
        shown = "" if heading.title[:1].isdigit() else f"{number} "
        yield f"{'  ' * number.count('.')}- {shown}{heading.title}"
        yield from _outline_lines(heading.children, f"{number}.")
