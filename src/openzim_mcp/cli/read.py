"""`read`: an article, one section of it, or its outline."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from openzim_mcp import errors
from openzim_mcp.cli import command, runtime

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.app.app import Backend
    from openzim_mcp.cli.terminal import Terminal

_WHOLE = 10_000_000


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

    async def work(backend: Backend) -> dict[str, Any]:
        from openzim_mcp.protocol import direct  # noqa: PLC0415

        place = await _place(backend, title, archive)
        if toc:
            return await direct.payload(backend, "zim_get", **place, view="toc")
        if section:
            more = {"section_id": section, "max_chars": _WHOLE, "compact": False}
            return await direct.payload(backend, "zim_get_section", **place, **more)
        return await _whole(backend, **place)

    found = runtime.run_with_archives(terminal, directories, work)
    if toc:
        terminal.show(found, f"# {found['title']}", "\n".join(_outline(found["toc"])) or "It has no headings.")
    elif section:
        terminal.show(found, found["content"])
    else:
        terminal.show(found, f"# {found['title']}", found["content"])
    terminal.info(f"{found['archive']}: {found['path']}")


async def _whole(backend: Backend, zim_file_path: str | None, entry_path: str) -> dict[str, Any]:
    """Return an article from its start to its end."""
    from openzim_mcp.app import reading  # noqa: PLC0415
    from openzim_mcp.worker.reading import article  # noqa: PLC0415

    file = await backend.find(zim_file_path)
    found = await reading.read(backend, file, entry_path, article.batch_entry, length=_WHOLE)
    return {"archive": file.shown, "path": found.pop("actual_path")} | found


async def _place(backend: Backend, title: str, archive: str | None) -> dict[str, Any]:
    """Return which entry of which archive is meant; of several archives, the one that knows the title best."""
    from openzim_mcp.protocol import direct  # noqa: PLC0415

    archives = (await backend.scan()).archives
    if archive is not None or len(archives) <= 1:
        return {"zim_file_path": archive, "entry_path": title}
    found = await direct.payload(backend, "zim_search", query=title, mode="title", cross_file=True)
    if not found["results"]:
        raise errors.EntryNotFound(
            f"No archive has an article {title!r}.", hint=f"openzim-mcp search {title!r} looks into the texts."
        )
    best = min(found["results"], key=lambda row: row["title"] != title)
    return {"zim_file_path": best["archive"], "entry_path": best["path"]}


def _outline(rows: list[dict[str, Any]], depth: int = 0) -> Iterator[str]:
    for row in rows:
        yield f"{'  ' * depth}- {row['title']}"
        yield from _outline(row["children"], depth + 1)
