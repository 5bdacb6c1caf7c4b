"""The links of an article, the pages that link to it, and the articles related to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from openzim_mcp import cursors, errors
from openzim_mcp.app.arguments import ArchiveRequest, OptionalArchive, check_start, resume
from openzim_mcp.app.caller import LOCAL, Caller
from openzim_mcp.app.page_scans import IndexProgress
from openzim_mcp.app.reading import read_or_closest
from openzim_mcp.app.references import locate_entry
from openzim_mcp.calls.links import DescribeLinks, FindInbound, InboundLink
from openzim_mcp.calls.reading import EntryResult, FindRelated, FindSimilar, LinkRow, ReadLinks, RelatedArticle
from openzim_mcp.calls.search import SearchText

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openzim_mcp.app.app import App
    from openzim_mcp.calls.links import InboundLinks
    from openzim_mcp.calls.reading import RelatedArticles
    from openzim_mcp.config import Operation
    from openzim_mcp.zimfile import ArchiveFile

LINKS_TOOL = "zim_links"
_LINKS_PER_PAGE = 100
_RELATED_PER_PAGE = 20
_SNIPPET_CHARS = 100

Direction = Literal["outbound", "inbound", "related"]
DirectionField: Any = Field(
    "outbound", description="outbound: every link; inbound: what links here; related: what belongs with it."
)
_UNFINISHED = "The index of links is being made: ask again for all."
_SEARCHED = {
    "no_link_index": "There is no index of links yet: these pages were found by a search for the title.",
    "no_link_lists": "Only the number of pages is known: these were found by a search for the title.",
}
OPERATIONS: dict[Direction, Operation] = {
    "outbound": "default",
    "inbound": "get_inbound_links",
    "related": "get_related_articles",
}


class LinksRequest(ArchiveRequest):
    """What `zim_links` takes."""

    zim_file_path: str | None = OptionalArchive
    entry_path: str | None = Field(None, max_length=70_000, description="Path, title, URI or URL of the article.")
    direction: Direction = DirectionField
    cursor: str | None = Field(None, description="next_cursor of the previous call; enough by itself.")
    limit: int | None = Field(None, ge=1, le=500, description="Links per call (default 100; related 20).")
    offset: int = Field(0, ge=0, le=2**32, description="Links to skip.")

    @model_validator(mode="after")
    def _check_combination(self) -> LinksRequest:
        check_start(self.cursor, self.offset)
        if not self.cursor and not self.entry_path:
            raise ValueError("entry_path: required, but not given")
        return self

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as, and how often."""
        return OPERATIONS[self.direction], 1


class LinksPage(EntryResult, frozen=True, kw_only=True):
    """A page of the links of an article, of the pages that link to it, or of the articles related to it."""

    outbound_links: list[LinkRow] | None = None
    inbound_links: list[InboundLink] | None = None
    total: int | None = None
    complete: bool | None = None
    progress: IndexProgress | None = None
    reason: Literal["no_link_index", "no_link_lists"] | None = None
    """Why `inbound_links` are pages that a search for the title finds."""
    hint: str | None = None
    related: list[RelatedArticle] | None = None
    internal_count: int | None = None
    external_count: int | None = None
    media_count: int | None = None
    next_cursor: str | None
    done: bool


async def read_links(app: App, request: LinksRequest, _caller: Caller = LOCAL) -> LinksPage:
    """Read the links of an article, or find the pages that link to it or the articles related to it."""
    request = resume(LINKS_TOOL, request)
    archive, path = await locate_entry(app, request.entry_path or "", request.zim_file_path)
    start = cursors.start_position(
        LINKS_TOOL, request.cursor, request.offset, archive.uuid, {"direction": request.direction}
    )
    limit = request.limit or (_RELATED_PER_PAGE if request.direction == "related" else _LINKS_PER_PAGE)
    page = await _PAGES[request.direction](app, archive, path, start, limit)
    if request.cursor:
        cursors.require_same(cursors.decode(request.cursor, LINKS_TOOL).request.get("entry_path"), page.path, "article")
    return page


async def _outbound_page(app: App, archive: ArchiveFile, path: str, start: int, limit: int) -> LinksPage:
    links = await read_or_closest(app, archive, ReadLinks(path, start, limit))
    cursor = _links_cursor(archive, links, "outbound", start + limit, limit, links.total)
    return LinksPage(
        path=links.path,
        title=links.title,
        archive=links.archive,
        outbound_links=links.links,
        internal_count=links.internal_count,
        external_count=links.external_count,
        media_count=links.media_count,
        next_cursor=cursor,
        done=cursor is None,
    )


async def _related_page(app: App, archive: ArchiveFile, path: str, start: int, limit: int) -> LinksPage:
    related = await find_related(app, archive, path, start, limit)
    cursor = _links_cursor(archive, related, "related", start + limit, limit, related.total)
    return LinksPage(
        path=related.path,
        title=related.title,
        archive=related.archive,
        related=related.related,
        next_cursor=cursor,
        done=cursor is None,
    )


async def _inbound_page(app: App, archive: ArchiveFile, path: str, start: int, limit: int) -> LinksPage:
    inbound = await find_inbound(app, archive, path, start, limit)
    stop = inbound.total if not inbound.is_complete else start + limit
    cursor = _links_cursor(archive, inbound, "inbound", stop, limit, inbound.total)
    is_searched = inbound.links is None
    rows = await search_for_title(app, archive, inbound, limit) if is_searched else inbound.links
    progress = IndexProgress(inbound.done, inbound.of) if inbound.done < inbound.of else None
    return LinksPage(
        path=inbound.path,
        title=inbound.title,
        archive=inbound.archive,
        inbound_links=rows,
        total=inbound.total,
        complete=inbound.is_complete,
        progress=progress,
        reason=_reason(inbound) if is_searched else None,
        hint=_SEARCHED[_reason(inbound)] if is_searched else _UNFINISHED if progress else None,
        next_cursor=cursor,
        done=inbound.is_complete and cursor is None,
    )


async def find_inbound(app: App, archive: ArchiveFile, path: str, start: int, limit: int) -> InboundLinks:
    """Find the pages that link to an entry, as far as the index of pages is made."""
    return await read_or_closest(app, archive, FindInbound(path, start, limit))


def describe_inbound(inbound: InboundLinks) -> str:
    """Say in a line how many pages link to an entry, or why not all of them are known."""
    if inbound.links is None:
        known = f"{inbound.total} pages link to it. " if inbound.of and inbound.done == inbound.of else ""
        return known + _SEARCHED[_reason(inbound)]
    if not inbound.is_complete:
        return f"({inbound.total} so far; {inbound.done} of {inbound.of} pages read. {_UNFINISHED})"
    return f"({inbound.total} pages link to it)" if inbound.total else ""


def _reason(inbound: InboundLinks) -> Literal["no_link_index", "no_link_lists"]:
    return "no_link_lists" if inbound.of else "no_link_index"


async def search_for_title(app: App, archive: ArchiveFile, entry: EntryResult, limit: int) -> list[InboundLink]:
    """Return the pages that a search for the title of an entry finds: most of those that link to it are among them."""
    call = SearchText(entry.title, 0, limit, snippet_chars=_SNIPPET_CHARS, scan_seconds=app.scan_seconds)
    try:
        hits = await app.workers.call(archive, call)
    except errors.OpenZimMcpArchiveError:
        return []
    paths = tuple(hit.path for hit in hits.results)
    return await app.workers.call(archive, DescribeLinks(entry.path, paths))


async def find_related(app: App, archive: ArchiveFile, path: str, start: int, limit: int) -> RelatedArticles:
    """Find the articles related to one by its links; if it has none, by its words."""
    related = await read_or_closest(app, archive, FindRelated(path, start, limit))
    if related.total:
        return related
    try:
        return await app.workers.call(archive, FindSimilar(related.path, start, limit, app.scan_seconds))
    except errors.OpenZimMcpArchiveError:
        return related


def _links_cursor(
    archive: ArchiveFile, entry: EntryResult, direction: str, stop: int, limit: int, total: int
) -> str | None:
    request = {"entry_path": entry.path, "direction": direction, "limit": limit, "zim_file_path": archive.name}
    return cursors.next_cursor(LINKS_TOOL, archive.uuid, stop, total, request)


_PAGES: dict[Direction, Callable[[App, ArchiveFile, str, int, int], Awaitable[LinksPage]]] = {
    "outbound": _outbound_page,
    "inbound": _inbound_page,
    "related": _related_page,
}
