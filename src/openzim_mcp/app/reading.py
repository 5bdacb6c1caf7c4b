"""Reading: an article, its summary, outline, sections and links; several entries; a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import anyio
import msgspec
from pydantic import Field, model_validator

from openzim_mcp import cursors, errors
from openzim_mcp.app.arguments import ArchiveRequest, BudgetedRequest, check_start, resume
from openzim_mcp.app.caller import LOCAL, Caller
from openzim_mcp.calls import Struct
from openzim_mcp.calls.reading import (
    Article,
    BinaryEntry,
    EntryResult,
    EntryText,
    FindClosestTitle,
    FindRelated,
    LinkRow,
    ReadArticle,
    ReadBinary,
    ReadLinks,
    ReadSection,
    ReadStructure,
    ReadSummary,
    ReadTableOfContents,
    ReadText,
    RelatedArticle,
    Section,
    Structure,
    Summary,
    TableOfContents,
)

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.calls import Result
    from openzim_mcp.calls.reading import EntryCall
    from openzim_mcp.config import Operation
    from openzim_mcp.zimfile import ArchiveFile

LINKS_TOOL = "zim_links"
_MAX_BATCH_ENTRIES = 50
_MAX_BATCH_CHARS = 400_000
_MAX_PATH_CHARS = 2000
"""Of each path in a batch, which its row repeats."""
_SECTION_CHARS = 20_000
_LINKS_PER_PAGE = 100
_RELATED_PER_PAGE = 20
_HEADINGS_PER_PAGE = 400
_HEADING_VIEWS: dict[str, type[ReadTableOfContents | ReadStructure]] = {
    "toc": ReadTableOfContents,
    "structure": ReadStructure,
}


class EntryRequest(BudgetedRequest):
    """What `zim_get` takes."""

    entry_path: str | None = Field(None, max_length=70_000, description="Path, title or URL of the entry.")
    entry_paths: list[str] | None = Field(None, description=f"Several entries at once, up to {_MAX_BATCH_ENTRIES}.")
    view: Literal["full", "summary", "toc", "structure"] = Field("full", description="What to read of the article.")
    binary: bool = Field(False, description="Fetch the bytes of entry_path, in base64.")
    main_page: bool = Field(False, description="Read the main page of the archive.")
    max_content_length: int | None = Field(None, ge=100, description="Characters per page.")
    content_offset: int = Field(0, ge=0, description="Where the page starts.")
    compact: bool = Field(False, description="Fold large tables and long lists.")

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as, and how often."""
        if self.entry_paths:
            return "get_zim_entries", len(self.entry_paths)
        if self.binary:
            return "get_binary_entry", 1
        return ("get_entry" if self.view == "full" else "get_structure"), 1


class SectionRequest(BudgetedRequest):
    """What `zim_get_section` takes."""

    entry_path: str = Field(max_length=70_000, description="Path or title of the article.")
    section_id: str = Field(max_length=500, description="Id, heading, or number in the outline (2.1).")
    max_chars: int | None = Field(None, ge=1, description="Characters at most.")
    compact: bool = Field(True, description="Fold large tables; false shows them.")


class LinksRequest(ArchiveRequest):
    """What `zim_links` takes."""

    entry_path: str | None = Field(None, max_length=70_000, description="Path or title of the article.")
    direction: Literal["outbound", "related"] = Field(
        "outbound", description="outbound: every link; related: the articles that belong with it."
    )
    cursor: str | None = Field(None, description="next_cursor of the previous call; enough by itself.")
    limit: int | None = Field(None, ge=1, le=500, description="Links per call (default: outbound 100, related 20).")
    offset: int = Field(0, ge=0, le=2**32, description="Links to skip.")

    @model_validator(mode="after")
    def _check_combination(self) -> LinksRequest:
        check_start(self.cursor, self.offset)
        if not self.cursor and not self.entry_path:
            raise ValueError("entry_path: required, but not given")
        return self

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as, and how often."""
        return ("get_related_articles" if self.direction == "related" else "default"), 1


class BatchRow(Struct, frozen=True, kw_only=True):
    """One entry of a batch, or why it could not be read."""

    path: str
    success: bool
    title: str | None = None
    actual_path: str | None = None
    mime_type: str | None = None
    content: str | None = None
    error: str | None = None


class Batch(Struct, frozen=True):
    """Several entries, in the order asked for."""

    results: list[BatchRow]
    succeeded: int
    failed: int


class LinksPage(EntryResult, frozen=True, kw_only=True):
    """A page of the links of an article, or of the articles related to it."""

    outbound_links: list[LinkRow] | None = None
    related: list[RelatedArticle] | None = None
    internal_count: int | None = None
    external_count: int | None = None
    media_count: int | None = None
    next_cursor: str | None
    done: bool


EntryView = Article | Summary | TableOfContents | Structure | BinaryEntry | Batch


async def read_entry(app: App, request: EntryRequest, caller: Caller = LOCAL) -> EntryView:
    """Read an article or a view of it, several entries, or a file."""
    _check_selector(request)
    archive = await app.find_archive(request.zim_file_path)
    if request.entry_paths is not None:
        return await _read_batch(app, archive, request, caller)
    path = request.entry_path if request.entry_path is not None else await main_path(app, archive)
    if request.binary:
        return await read_or_closest(app, archive, ReadBinary(path))
    if request.view != "full":
        return await read_or_closest(app, archive, _view_call(request, path))
    call = ReadArticle(
        path,
        requested=path,
        offset=request.content_offset,
        max_chars=request.max_content_length or app.settings.content.max_content_length,
        max_tokens=request.max_tokens,
        compact=request.compact or request.max_tokens is not None,
    )
    return await read_or_closest(app, archive, call)


async def read_section(app: App, request: SectionRequest, _caller: Caller = LOCAL) -> Section:
    """Read one section."""
    archive = await app.find_archive(request.zim_file_path)
    call = ReadSection(
        request.entry_path,
        request.section_id,
        max_chars=request.max_chars or _SECTION_CHARS,
        max_tokens=request.max_tokens,
        compact=request.compact,
    )
    return await read_or_closest(app, archive, call)


async def read_entry_text(app: App, archive: ArchiveFile, path: str, max_chars: int) -> EntryText:
    """Read the text of an entry of any kind."""
    return await read_or_closest(app, archive, ReadText(path, max_chars))


async def read_links(app: App, request: LinksRequest, _caller: Caller = LOCAL) -> LinksPage:
    """Read the links of an article, or find the articles related to it."""
    request = resume(LINKS_TOOL, request)
    archive = await app.find_archive(request.zim_file_path)
    start = cursors.start_position(
        LINKS_TOOL, request.cursor, request.offset, archive.uuid, {"direction": request.direction}
    )
    is_related = request.direction == "related"
    limit = request.limit or (_RELATED_PER_PAGE if is_related else _LINKS_PER_PAGE)
    page = await (_related_page if is_related else _outbound_page)(app, archive, request.entry_path or "", start, limit)
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
    related = await read_or_closest(app, archive, FindRelated(path, start, limit))
    cursor = _links_cursor(archive, related, "related", start + limit, limit, related.total)
    return LinksPage(
        path=related.path,
        title=related.title,
        archive=related.archive,
        related=related.related,
        next_cursor=cursor,
        done=cursor is None,
    )


def _links_cursor(
    archive: ArchiveFile, entry: EntryResult, direction: str, stop: int, limit: int, total: int
) -> str | None:
    request = {"entry_path": entry.path, "direction": direction, "limit": limit, "zim_file_path": archive.name}
    return cursors.next_cursor(LINKS_TOOL, archive.uuid, stop, total, request)


async def read_or_closest(app: App, archive: ArchiveFile, call: EntryCall[Result]) -> Result:
    """Run a call on an entry; if no entry has its path, on the one with the closest title."""
    try:
        return await app.workers.call(archive, call)
    except errors.EntryNotFound as missing:
        path = await _closest_path(app, archive, call.path, missing)
    return await app.workers.call(archive, msgspec.structs.replace(call, path=path))


async def _closest_path(app: App, archive: ArchiveFile, requested: str, missing: errors.EntryNotFound) -> str:
    """Return the path with the closest title, or raise the error with the closest titles as a hint."""
    try:
        closest = await app.workers.call(archive, FindClosestTitle(requested))
    except errors.OpenZimMcpArchiveError:
        raise missing from None
    if closest.path is not None:
        return closest.path
    if closest.did_you_mean:
        missing.hint = f"The closest titles: {', '.join(closest.did_you_mean)}."
        missing.details["did_you_mean"] = closest.did_you_mean
    raise missing


async def main_path(app: App, archive: ArchiveFile) -> str:
    """Return the path of the main page."""
    path = (await app.describe(archive)).main_path
    if path is None:
        raise errors.EntryNotFound(
            f"{archive.name!r} has no main page.", hint="zim_browse lists its entries; zim_metadata describes it."
        )
    return path


def _view_call(request: EntryRequest, path: str) -> ReadSummary | ReadTableOfContents | ReadStructure:
    """Return the call for a view; a list of headings continues at `content_offset`."""
    if request.view == "summary":
        return ReadSummary(path)
    return _HEADING_VIEWS[request.view](path, offset=request.content_offset, limit=_HEADINGS_PER_PAGE)


def _check_selector(request: EntryRequest) -> None:
    """Accept exactly one of entry_path, entry_paths and main_page."""
    selectors = [request.entry_path is not None, request.entry_paths is not None, request.main_page]
    problem = None
    if sum(selectors) != 1:
        problem = "Set exactly one of: entry_path, entry_paths, main_page."
    elif request.binary and request.entry_path is None:
        problem = "binary needs entry_path."
    elif request.main_page and request.view != "full":
        problem = f"main_page has no view {request.view!r}."
    elif request.entry_paths is not None and not 1 <= len(request.entry_paths) <= _MAX_BATCH_ENTRIES:
        problem = f"entry_paths takes 1 to {_MAX_BATCH_ENTRIES} paths, not {len(request.entry_paths)}."
    elif any(len(path) > _MAX_PATH_CHARS for path in request.entry_paths or ()):
        problem = f"A path in entry_paths has more than {_MAX_PATH_CHARS} characters."
    if problem:
        raise errors.InvalidPathCombination(
            problem,
            hint="entry_path for one entry (with view or binary), entry_paths=[…] for several, main_page=true alone.",
        )


async def _read_batch(app: App, archive: ArchiveFile, request: EntryRequest, caller: Caller) -> Batch:
    """Read several entries at once, over all workers, and return them in the order asked for."""
    paths = request.entry_paths or []
    max_chars = request.max_content_length or app.settings.content.max_content_length
    max_chars = min(max_chars, _MAX_BATCH_CHARS // len(paths))
    rows: dict[int, BatchRow] = {}

    async def read_one(number: int, path: str) -> None:
        try:
            text = await read_entry_text(app, archive, path, max_chars)
            rows[number] = BatchRow(path=path, success=True, **msgspec.structs.asdict(text))
        except errors.OpenZimMcpError as error:
            rows[number] = BatchRow(path=path, success=False, error=error.message)
        if caller.progress:
            await caller.progress(len(rows), len(paths))

    async with anyio.create_task_group() as tasks:
        for number, path in enumerate(paths):
            tasks.start_soon(read_one, number, path)
    succeeded = sum(row.success for row in rows.values())
    return Batch([rows[number] for number in range(len(paths))], succeeded, len(rows) - succeeded)
