"""The pages about archives: the list with what is wrong and what helps, one archive, its articles by title."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from starlette.responses import RedirectResponse, Response

from openzim_mcp import addresses, errors
from openzim_mcp.app.archives import list_article_page
from openzim_mcp.app.health import list_states
from openzim_mcp.app.query.patterns import language_name
from openzim_mcp.calls import Struct
from openzim_mcp.calls.archive import CompletePath
from openzim_mcp.calls.reading import PickRandomPath
from openzim_mcp.languages import two_letter_codes
from openzim_mcp.library.names import split_date
from openzim_mcp.text import format_size
from openzim_mcp.web.answer_pages import archive_choices
from openzim_mcp.web.connections import connection_snippets
from openzim_mcp.web.page import render_page

if TYPE_CHECKING:
    from starlette.requests import Request

    from openzim_mcp.app.caller import Caller
    from openzim_mcp.app.health import ArchiveState
    from openzim_mcp.web.page import Site
    from openzim_mcp.zimfile import ArchiveFile

_ARTICLES_PER_PAGE = 100
_MAX_OFFSET = 2**32
_KINDS = {
    "wikipedia": "encyclopedia",
    "dictionary": "dictionary",
    "qa": "questions and answers",
    "documentation": "documentation",
    "book": "books",
    "video": "videos",
    "pdf": "documents",
    "map": "maps",
    "site": "website",
}
_NO_ICON = Response(b"", 404)
_ICON_SECONDS = 86_400


class ArchiveRow(Struct, frozen=True):
    """An archive in the list, and the command that fixes it, if one does."""

    state: ArchiveState
    name: str
    description: str = ""
    has_icon: bool = False
    fix: str = ""
    facts: str = ""
    """Kind, language, date, articles, size and file name, on one line."""


async def show_archives(site: Site, request: Request, _caller: Caller) -> Response:
    """List all archives, those with problems first."""
    scan = await site.app.scan()
    states = await list_states(site.app)
    descriptions = (await site.app.describe_each([row for row in scan.archives if not row.problem])).results
    rows = [_archive_row(state, descriptions.get(state.name.removesuffix(".zim"))) for state in states]
    rows.sort(key=lambda row: (row.state.status == "ok", (row.state.title or row.name).casefold()))
    return render_page(
        site,
        request.scope,
        "archives.html",
        rows=rows,
        rejected=[(row.name, row.reason) for row in scan.rejected],
        archive_choices=archive_choices(states),
    )


def _archive_row(state: ArchiveState, description: object | None) -> ArchiveRow:
    name = state.name.removesuffix(".zim")
    fixes = {"unusable": f"openzim-mcp download {split_date(name)[0]}", "no_search": f"openzim-mcp verify {name}"}
    languages = map(language_name, two_letter_codes(state.language or ""))
    facts = (
        _KINDS.get(state.kind or ""),
        ", ".join(languages),
        state.date,
        None if state.articles is None else f"{state.articles:,} articles",
        format_size(state.size),
        state.name,
    )
    return ArchiveRow(
        state,
        name,
        description=getattr(description, "description", ""),
        has_icon=bool(getattr(description, "icon", "")),
        fix=fixes.get(state.status, ""),
        facts=" · ".join(filter(None, facts)),
    )


async def show_archive(site: Site, request: Request, _caller: Caller) -> Response:
    """Show one archive: what it is, and its articles by title."""
    archive = await site.app.find_archive(request.path_params["name"])
    states = await list_states(site.app)
    state = next((row for row in states if row.name == archive.file_name), None)
    if state is None or state.status == "unusable":
        raise errors.ArchiveUnusable(f"{archive.name!r} cannot be read: {state.reason if state else 'it was removed'}")
    description = await site.app.describe(archive)
    start = request.query_params.get("start", "").strip()[:200]
    offset = _read_offset(request.query_params.get("offset", "0"))
    articles, next_offset = await _articles(site, archive, start, offset)
    query = {"offset": next_offset}
    return render_page(
        site,
        request.scope,
        "archive.html",
        row=_archive_row(state, description),
        main_address=addresses.reader_address(archive.name, description.main_path) if description.main_path else "",
        random_address=f"{addresses.archive_address(archive.name)}/random",
        start=start,
        articles=articles,
        offset=offset,
        next_address=f"{addresses.archive_address(archive.name)}?{urlencode(query)}" if next_offset else "",
        archive_choices=archive_choices(states),
        selected_archive=archive.name,
    )


def _read_offset(text: str) -> int:
    return min(int(text), _MAX_OFFSET) if text.isascii() and text.isdecimal() else 0


async def _articles(
    site: Site, archive: ArchiveFile, start: str, offset: int
) -> tuple[list[tuple[str, str]], int | None]:
    """Return titles and addresses of articles: those that start with a text, or all from an offset on."""
    if start:
        found = await site.app.workers.call(archive, CompletePath(start, _ARTICLES_PER_PAGE, pages_only=True))
        return [(path.replace("_", " "), addresses.reader_address(archive.name, path)) for path in found.paths], None
    page = await list_article_page(site.app, archive, None, offset, _ARTICLES_PER_PAGE)
    rows = [(row.title or row.path, addresses.reader_address(archive.name, row.path)) for row in page.entries]
    return rows, None if page.done else offset + _ARTICLES_PER_PAGE


async def show_random(site: Site, request: Request, _caller: Caller) -> Response:
    """Lead to a random article of an archive."""
    archive = await site.app.find_archive(request.path_params["name"])
    path = await site.app.workers.call(archive, PickRandomPath())
    return RedirectResponse(addresses.reader_address(archive.name, path), 303)


async def show_icon(site: Site, request: Request, _caller: Caller) -> Response:
    """Return the icon of an archive, a small PNG."""
    archive = await site.app.find_archive(request.path_params["name"])
    icon = (await site.app.describe(archive)).icon
    if not icon:
        return _NO_ICON
    headers = {"Cache-Control": f"private, max-age={_ICON_SECONDS}", "X-Content-Type-Options": "nosniff"}
    return Response(base64.b64decode(icon), 200, headers, "image/png")


async def show_connections(site: Site, request: Request, caller: Caller) -> Response:
    """Show how clients connect to this server."""
    url = f"{caller.base_url}{addresses.MCP}"
    return render_page(
        site,
        request.scope,
        "connect.html",
        url=url,
        api_url=f"{caller.base_url}{addresses.API}",
        snippets=connection_snippets(url, requires_token=site.app.settings.requires_token),
        requires_token=site.app.settings.requires_token,
        archive_choices=archive_choices(await list_states(site.app)),
    )
