"""The pages of one entry: the reader, what belongs with it, and the original as in the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse

from openzim_mcp import addresses
from openzim_mcp.app.elsewhere import find_elsewhere
from openzim_mcp.app.links import find_related
from openzim_mcp.app.reading import read_or_closest
from openzim_mcp.app.references import find_holders, main_path
from openzim_mcp.calls.page import ReadPage
from openzim_mcp.languages import two_letter_code
from openzim_mcp.web.article import outline_rows, part_address, render_article
from openzim_mcp.web.conditional import CACHE_CONTROL, is_current, make_tag, not_modified
from openzim_mcp.web.page import render_page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from openzim_mcp.app.app import App
    from openzim_mcp.app.caller import Caller
    from openzim_mcp.calls.archive import Description
    from openzim_mcp.calls.page import ArticlePage
    from openzim_mcp.web.page import Site
    from openzim_mcp.zimfile import ArchiveFile

_RELATED = 12
_MAX_PART = 10_000
_RIGHT_TO_LEFT = frozenset({"ar", "arc", "ckb", "dv", "fa", "ha", "he", "ks", "ku", "ps", "sd", "ug", "ur", "yi"})
_MEDIA = ("image/", "video/", "audio/")
_OWN_PAGE_TYPES = ("application/pdf", *_MEDIA)
"""Types that browsers show as a page of their own; a PDF stays empty in a sandboxed frame."""


async def show_article(site: Site, request: Request, caller: Caller) -> Response:
    """Show an entry as a clean article."""
    archive = await site.app.find_archive(request.path_params["name"])
    path, part = request.path_params["path"], _read_part(request.query_params.get("part", ""))
    if not path:
        return RedirectResponse(addresses.reader_address(archive.name, await main_path(site.app, archive)), 303)
    capability = site.issue_capability(archive.name, caller)
    tag = make_tag(archive.name, archive.identity, path, part, capability)
    if is_current(tag, request.headers):
        return not_modified(tag)
    page = await read_or_closest(site.app, archive, ReadPage(path, part))
    if page.path != path and not part:
        return RedirectResponse(addresses.reader_address(archive.name, page.path, page.fragment), 303)
    description = await site.app.describe(archive)
    return render_page(
        site,
        request.scope,
        "article.html",
        headers={"ETag": tag, "Cache-Control": CACHE_CONTROL},
        page=page,
        archive=archive,
        description=description,
        language=_language(page, description),
        direction=_direction(page, description),
        outline=outline_rows(page, archive.name),
        body=render_article(page, archive.name, capability),
        parts=[part_address(page, archive.name, number) for number in range(page.part_count)],
        media=next((kind.rstrip("/") for kind in _MEDIA if page.mime_type.startswith(kind)), ""),
        media_address=addresses.content_address(capability, page.path),
        original_address=addresses.original_address(archive.name, page.path),
        related_address=addresses.related_address(archive.name, page.path),
        is_page=page.mime_type.startswith(("text/html", "application/xhtml")),
        selected_archive=archive.name,
    )


def _read_part(text: str) -> int:
    return min(int(text), _MAX_PART) - 1 if text.isascii() and text.isdecimal() and int(text) else 0


def _language(page: ArticlePage, description: Description) -> str:
    """Return the language of an article: its own, or that of an archive in one language."""
    code = page.language or ("" if "," in description.language else description.language)
    short = two_letter_code(code)
    return short if short.isascii() and short.isalpha() else ""


def _direction(page: ArticlePage, description: Description) -> str:
    return (
        "rtl"
        if _language(page, description) in _RIGHT_TO_LEFT
        else "auto"
        if not _language(page, description)
        else "ltr"
    )


async def show_related(site: Site, request: Request, caller: Caller) -> Response:
    """Show what is about the same in other archives, their entries of this title, and related articles."""
    await site.app.charge(caller, "get_related_articles")
    archive = await site.app.find_archive(request.path_params["name"])
    related = await find_related(site.app, archive, request.path_params["path"], 0, _RELATED)
    return render_page(
        site,
        request.scope,
        "related_lists.html" if request.query_params.get("fragment") == "1" else "related.html",
        title=related.title,
        address=addresses.reader_address(archive.name, related.path),
        related=[(row.title, addresses.reader_address(archive.name, row.path)) for row in related.related],
        holders=await _find_others(site.app, archive, related.path, related.title),
        selected_archive=archive.name,
    )


async def _find_others(app: App, archive: ArchiveFile, path: str, title: str) -> list[tuple[str, str, str]]:
    """Return title, archive and address of what is about the same elsewhere, then of other entries of the title."""
    same = [(row.archive, row.path, row.title) for row in await find_elsewhere(app, archive, path)]
    archives = await app.usable_archives()
    others = [row for row in archives if row.name != archive.name and row.file_name not in {name for name, *_ in same}]
    holders = [(row.file_name, entry.path, entry.title) for row, entry in await find_holders(app, title, others)]
    names = {name for name, *_ in (*same, *holders)}
    descriptions = (await app.describe_each([row for row in archives if row.file_name in names])).results
    titles = {f"{name}.zim": row.title for name, row in descriptions.items()}
    return [
        (entry_title, titles.get(name) or name, addresses.reader_address(name.removesuffix(".zim"), entry_path))
        for name, entry_path, entry_title in (*same, *holders)
    ]


async def show_original(site: Site, request: Request, caller: Caller) -> Response:
    """Show an entry as in the archive: its own page in a frame without rights, or what is not a page by itself."""
    archive = await site.app.find_archive(request.path_params["name"])
    page = await site.app.workers.call(archive, ReadPage(request.path_params["path"]))
    address = addresses.content_address(site.issue_capability(archive.name, caller), page.path)
    if page.mime_type.startswith(_OWN_PAGE_TYPES):
        return RedirectResponse(address, 303)
    description = await site.app.describe(archive)
    return render_page(
        site,
        request.scope,
        "original.html",
        title=page.title,
        archive=archive,
        description=description,
        reader_address=addresses.reader_address(archive.name, page.path),
        content_address=address,
        selected_archive=archive.name,
    )
