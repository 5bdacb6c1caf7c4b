"""`read`: an article, one section of it, or its outline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.app.app import App
    from openzim_mcp.calls.reading import Section, TableOfContents, TocEntry
    from openzim_mcp.cli.terminal import Terminal
    from openzim_mcp.zimfile import ArchiveFile

_UNLIMITED_CHARS = 10_000_000


class WholeArticle(msgspec.Struct, frozen=True):
    """An article from its start to its end."""

    archive: str
    path: str
    title: str
    mime_type: str
    content: str


@command.command(
    "openzim-mcp read Ravenport ~/zims",
    "openzim-mcp read Ravenport --toc",
    "openzim-mcp read Ravenport --section History --archive isles",
)
@click.argument("title")
@command.archive_option
@click.option("--section", metavar="NAME", help="Only this section: its heading, or its number in the outline.")
@click.option("--toc", is_flag=True, help="Only the outline.")
@command.directory_arguments
def run(
    terminal: Terminal, title: str, archive: str | None, section: str | None, directories: list[str], *, toc: bool
) -> None:
    """Read an article by its TITLE or path; typos are forgiven."""
    if section and toc:
        raise click.UsageError("--section and --toc exclude each other.")

    async def work(app: App) -> Section | TableOfContents | WholeArticle:
        from openzim_mcp.app.reading import read_or_closest  # noqa: PLC0415
        from openzim_mcp.calls.reading import ReadSection, ReadTableOfContents  # noqa: PLC0415

        file, path = await _find_entry(app, title, archive)
        if toc:
            return await read_or_closest(app, file, ReadTableOfContents(path))
        if section:
            return await read_or_closest(app, file, ReadSection(path, section, _UNLIMITED_CHARS, compact=False))
        return await _read_whole(app, file, path)

    _show(terminal, runtime.run_with_archives(terminal, directories, work))


def _show(terminal: Terminal, page: Section | TableOfContents | WholeArticle) -> None:
    from openzim_mcp.calls.reading import Section, TableOfContents  # noqa: PLC0415

    if isinstance(page, TableOfContents):
        terminal.show(page, f"# {page.title}", "\n".join(_outline(page.toc)) or "It has no headings.")
    elif isinstance(page, Section):
        terminal.show(page, page.content)
    else:
        terminal.show(page, f"# {page.title}", page.content)
    terminal.info(f"{page.archive}: {page.path}")


async def _read_whole(app: App, archive: ArchiveFile, path: str) -> WholeArticle:
    from openzim_mcp.app.reading import read_text  # noqa: PLC0415

    text = await read_text(app, archive, path, _UNLIMITED_CHARS)
    return WholeArticle(archive.file_name, text.actual_path, text.title, text.mime_type, text.content)


async def _find_entry(app: App, title: str, archive: str | None) -> tuple[ArchiveFile, str]:
    """Return which entry of which archive is meant; of several archives, the one that knows the title best."""
    from openzim_mcp.app.search import merge_hits  # noqa: PLC0415
    from openzim_mcp.calls.search import FindTitles  # noqa: PLC0415

    archives = (await app.scan()).archives
    if archive is not None or len(archives) <= 1:
        return await app.find_archive(archive), title
    hits = merge_hits((await app.workers.call_each(archives, FindTitles(title, 0, 10))).results)
    if not hits:
        raise errors.EntryNotFound(
            f"No archive has an article {title!r}.", hint=f"openzim-mcp search {title!r} looks into the texts."
        )
    best = min(hits, key=lambda hit: hit.title != title)
    return await app.find_archive(best.archive), best.path


def _outline(rows: list[TocEntry], depth: int = 0) -> Iterator[str]:
    for row in rows:
        yield f"{'  ' * depth}- {row.title}"
        yield from _outline(row.children, depth + 1)
