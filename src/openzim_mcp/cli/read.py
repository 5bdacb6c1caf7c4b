"""`read`: show an article, one section, its outline, the lines that hold some words, or the pages that link to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from openzim_mcp import addresses, errors, uris
from openzim_mcp.cli import command, runtime
from openzim_mcp.cli.command import Exit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.app.app import App
    from openzim_mcp.app.links import LinksPage
    from openzim_mcp.calls.links import InboundLink
    from openzim_mcp.calls.reading import Section, TableOfContents, TextMatches, TocEntry
    from openzim_mcp.cli.terminal import Terminal
    from openzim_mcp.zimfile import ArchiveFile

_UNLIMITED_CHARS = 10_000_000
_UNLIMITED_ROWS = 100_000
_MAX_INBOUND = 500


class WholeArticle(msgspec.Struct, frozen=True):
    """A complete article, or the part of it that a fragment names, which `note` tells."""

    archive: str
    path: str
    title: str
    mime_type: str
    content: str
    note: str | None = None


if TYPE_CHECKING:
    ShownArticle = Section | TableOfContents | TextMatches | LinksPage | WholeArticle


@command.command(
    "openzim-mcp read Ravenport ~/zims",
    "openzim-mcp read Ravenport --toc",
    "openzim-mcp read Ravenport --section History --archive isles",
    "openzim-mcp read Ravenport --find herring",
    "openzim-mcp read Ravenport --inbound",
)
@command.archive_option
@click.option("--section", metavar="NAME", help="Show only this section: its heading or words of it, or its number.")
@click.option("--toc", is_flag=True, help="Show only the outline.")
@click.option("--find", metavar="WORDS", help="Show only the lines that hold all these words.")
@click.option("--inbound", is_flag=True, help="Show only the pages that link to it.")
@command.words_and_directories("title")
def run(  # noqa: PLR0913  one per option
    terminal: Terminal,
    title: str,
    archive: str | None,
    section: str | None,
    find: str | None,
    directories: list[str],
    *,
    toc: bool,
    inbound: bool,
) -> Exit | None:
    """Show an article, by its TITLE, path, zim:// URI or URL on the original site; typos are tolerated."""
    if sum(map(bool, (section, toc, find, inbound))) > 1:
        raise click.UsageError("--section, --toc, --find and --inbound cannot be combined.")
    if find is not None and not find.strip():
        raise click.UsageError("--find needs words.")

    async def work(app: App) -> ShownArticle:
        from openzim_mcp.app.reading import read_or_closest  # noqa: PLC0415
        from openzim_mcp.calls.reading import FindText, ReadSection, ReadTableOfContents  # noqa: PLC0415

        file, path = await _select_article(app, title, archive)
        if inbound:
            return await _read_inbound(app, file, path)
        if toc:
            return await read_or_closest(app, file, ReadTableOfContents(path))
        if section:
            return await read_or_closest(app, file, ReadSection(path, section, _UNLIMITED_CHARS, compact=False))
        if find:
            return await read_or_closest(app, file, FindText(path, find.strip(), 0, _UNLIMITED_ROWS, _UNLIMITED_CHARS))
        return await _read_whole(app, file, path)

    article = runtime.run_with_archives(terminal, directories, work, requires_archive=True)
    _show_article(terminal, article, runtime.find_base_url(runtime.load_command_settings(directories)))
    return Exit.NEGATIVE if getattr(article, "total", None) == 0 else None


async def _select_article(app: App, reference: str, archive: str | None) -> tuple[ArchiveFile, str]:
    """Return the archive and what to read of it; without --archive, all are looked in."""
    from openzim_mcp.app.references import locate_entry  # noqa: PLC0415

    try:
        return await locate_entry(app, reference, archive)
    except errors.AmbiguousEntry as error:
        rows = [uris.parse_uri(row["uri"]) for row in error.details["candidates"]]
        names = ", ".join(uri.name_candidates[0] for uri in rows if uri)
        raise errors.AmbiguousEntry(error.message, hint=f"Choose one with --archive: {names}.") from None


async def _read_inbound(app: App, archive: ArchiveFile, path: str) -> LinksPage:
    from openzim_mcp.app.links import LinksRequest, read_links  # noqa: PLC0415

    request = LinksRequest(entry_path=path, zim_file_path=archive.name, direction="inbound", limit=_MAX_INBOUND)
    return await read_links(app, request)


async def _read_whole(app: App, archive: ArchiveFile, path: str) -> WholeArticle:
    from openzim_mcp.app.reading import read_entry_text  # noqa: PLC0415

    text = await read_entry_text(app, archive, path, _UNLIMITED_CHARS)
    return WholeArticle(archive.file_name, text.actual_path, text.title, text.mime_type, text.content, text.note)


def _show_article(terminal: Terminal, article: ShownArticle, base_url: str) -> None:
    from openzim_mcp.app.links import LinksPage  # noqa: PLC0415
    from openzim_mcp.calls.reading import Section, TableOfContents, TextMatches  # noqa: PLC0415

    if isinstance(article, TableOfContents):
        outline = "\n".join(_outline_lines(article.toc)) or "The article has no headings."
        terminal.show(article, f"# {article.title}", outline)
    elif isinstance(article, LinksPage):
        lines = "\n".join(_inbound_line(link) for link in article.inbound_links or ()) or "No page links to it."
        terminal.show(article, f"# {article.title}", lines, paged=True)
        if article.hint:
            terminal.info(article.hint)
    elif isinstance(article, Section):
        terminal.show(article, article.content, paged=True)
    elif isinstance(article, TextMatches):
        lines = "\n".join(match.line for match in article.matches) or "No line has all these words."
        terminal.show(article, f"# {article.title}", lines, paged=True)
        if article.note:
            terminal.info(article.note)
    else:
        terminal.show(article, f"# {article.title}", article.content, paged=True)
        if article.note:
            terminal.info(article.note)
    terminal.info(f"{article.archive}: {article.path}")
    if base_url:
        section = article.section.id if isinstance(article, Section) else ""
        name = article.archive.removesuffix(".zim")
        terminal.info(base_url + addresses.reader_address(name, article.path, section))


def _inbound_line(link: InboundLink) -> str:
    section = f" ({link.section})" if link.section else ""
    return f"- {link.title}{section}" + (f": {link.text}" if link.text else "")


def _outline_lines(headings: list[TocEntry], parent: str = "") -> Iterator[str]:
    """Yield a line per heading, with the number that `--section` takes unless the heading has its own."""
    for position, heading in enumerate(headings, 1):
        number = f"{parent}{position}"
        shown = "" if heading.title[:1].isdigit() else f"{number} "
        yield f"{'  ' * number.count('.')}- {shown}{heading.title}"
        yield from _outline_lines(heading.children, f"{number}.")
