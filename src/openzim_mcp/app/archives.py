"""Archives as a whole: the list of them, their metadata, and the entries of their namespaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import msgspec
from pydantic import Field, model_validator

from openzim_mcp import cursors, errors
from openzim_mcp.app.arguments import ArchiveRequest, check_start, resume
from openzim_mcp.app.caller import LOCAL, Caller
from openzim_mcp.app.health import ArchiveState, check_archives
from openzim_mcp.calls import Struct
from openzim_mcp.calls.archive import (
    ChecksumResult,
    EntryRow,
    ListArticles,
    ListEntries,
    ListNamespaces,
    Metadata,
    Namespace,
    ReadMetadata,
    Verify,
)
from openzim_mcp.calls.reading import PreviewMainPage
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.calls import Result
    from openzim_mcp.calls.archive import ArticleRows, EntryRows
    from openzim_mcp.zimfile import ArchiveFile

BROWSE_TOOL = "zim_browse"
_ENTRIES_PER_PAGE = 50
_ENTRIES_PER_WALK = 200
_PREVIEW_CHARS = 2000
_MAX_TITLE_CHARS = 40


class BrowseRequest(ArchiveRequest):
    """What `zim_browse` takes."""

    namespace: str | None = Field(
        None, max_length=500, description="C or A: articles; M: metadata; or a folder, as in C/questions."
    )
    mode: Literal["page", "walk"] = Field("page", description="page: any offset; walk: every entry once, by cursor.")
    cursor: str | None = Field(None, description="next_cursor of the previous call (walk); enough by itself.")
    limit: int | None = Field(None, ge=1, le=500, description="Entries per call (default: page 50, walk 200).")
    offset: int = Field(0, ge=0, le=2**32, description="Entries to skip (page).")
    articles_only: bool = Field(False, description="Without redirects, pictures and other files.")

    @model_validator(mode="after")
    def _check_combination(self) -> BrowseRequest:
        check_start(self.cursor, self.offset)
        if self.cursor and self.mode == "page" and "mode" in self.model_fields_set:
            raise ValueError("cursor belongs to mode='walk'; use offset with mode='page'")
        if self.mode == "walk" and self.offset:
            raise ValueError("offset belongs to mode='page'; use cursor with mode='walk'")
        if not self.cursor and not self.namespace:
            raise ValueError("namespace: required, but not given; namespace='C' lists the content")
        return self


class EntryPage(Struct, frozen=True):
    """Some entries of a namespace or folder, by position."""

    archive: str
    namespace: str
    entries: list[EntryRow]
    total: int | None
    """None if the articles are too many to count."""
    offset: int
    limit: int
    done: bool


class EntryWalk(Struct, frozen=True):
    """Some entries of a namespace or folder, in the order of their ids, and where to continue."""

    archive: str
    namespace: str
    entries: list[EntryRow]
    total: int | None
    next_cursor: str | None
    done: bool


class ArchiveMetadata(Metadata, frozen=True, kw_only=True):
    """The metadata of an archive, and whether its checksum was verified."""

    verification: Literal["unverified", "valid", "damaged"]


class ListedArchive(Struct, frozen=True):
    """An archive in a list: whether it can be read and, if so, its metadata."""

    state: ArchiveState
    metadata: ArchiveMetadata | None


class ArchiveList(Struct, frozen=True):
    """All archives, and the files that are not served, with the reasons."""

    archives: list[ListedArchive]
    rejected: list[str]
    is_handbook: bool = False


@dataclass(frozen=True)
class Overview:
    """What an archive is; `problems` has the reason for each part that cannot be read."""

    archive: ArchiveFile
    metadata: Metadata | None
    namespaces: dict[str, Namespace] | None
    main_page_preview: str | None
    problems: dict[str, str]


async def browse(app: App, request: BrowseRequest, _caller: Caller = LOCAL) -> EntryPage | EntryWalk:
    """List the entries of a namespace or folder."""
    request = resume(BROWSE_TOOL, request)
    archive = await app.find_archive(request.zim_file_path)
    if request.cursor or request.mode == "walk":
        return await _walk(app, archive, request)
    limit = request.limit or _ENTRIES_PER_PAGE
    list_page = list_article_page if request.articles_only else list_entry_page
    return await list_page(app, archive, request.namespace or "", request.offset, limit)


async def list_entry_page(app: App, archive: ArchiveFile, namespace: str, offset: int, limit: int) -> EntryPage:
    """List some entries of a namespace or folder."""
    rows = await app.workers.call(archive, ListEntries(namespace, offset, limit))
    done = offset + limit >= rows.total
    return EntryPage(archive.file_name, rows.namespace, rows.entries, rows.total, offset, limit, done)


async def list_article_page(
    app: App, archive: ArchiveFile, namespace: str | None, offset: int, limit: int
) -> EntryPage:
    """List some articles of a namespace or folder, or of the whole archive; `offset` counts articles."""
    rows = await app.workers.call(archive, ListArticles(limit, namespace, offset=offset))
    return EntryPage(archive.file_name, rows.namespace, rows.entries, rows.total, offset, limit, rows.done)


async def _walk(app: App, archive: ArchiveFile, request: BrowseRequest) -> EntryWalk:
    limit = request.limit or _ENTRIES_PER_WALK
    start = cursors.start_position(BROWSE_TOOL, request.cursor, 0, archive.uuid, {})
    rows: ArticleRows | EntryRows
    if request.articles_only:
        rows = await app.workers.call(archive, ListArticles(limit, request.namespace, start=start))
        stop = None if rows.done else rows.stop
    else:
        rows = await app.workers.call(archive, ListEntries(request.namespace or "", start, limit))
        stop = start + limit if start + limit < rows.total else None
    if request.cursor:
        cursors.require_same(
            cursors.decode(request.cursor, BROWSE_TOOL).request.get("namespace"), rows.namespace, "namespace"
        )
    in_cursor: dict[str, object] = {"zim_file_path": archive.name, "namespace": rows.namespace, "limit": limit}
    in_cursor |= {"articles_only": True} if request.articles_only else {}
    cursor = None if stop is None else cursors.encode(BROWSE_TOOL, archive.uuid, stop, in_cursor)
    return EntryWalk(archive.file_name, rows.namespace, rows.entries, rows.total, cursor, cursor is None)


async def describe_archive(app: App, request: ArchiveRequest, _caller: Caller = LOCAL) -> ArchiveMetadata:
    """Describe one archive."""
    archive = await app.find_archive(request.zim_file_path)
    return await read_archive_metadata(app, archive)


async def read_archive_metadata(app: App, archive: ArchiveFile) -> ArchiveMetadata:
    """Return the metadata of an archive."""
    return await _with_verification(app, archive, await app.workers.call(archive, ReadMetadata()))


async def list_archives(app: App) -> ArchiveList:
    """List all archives with their metadata."""
    scan = await app.scan()
    states = await check_archives(app, scan.archives)
    readable = [a for a, state in zip(scan.archives, states, strict=True) if state.status != "unusable"]
    metadata = await app.workers.call_each(readable, ReadMetadata())
    rows = []
    for archive, state in zip(scan.archives, states, strict=True):
        archive_metadata = metadata.results.get(archive.name)
        error = metadata.errors.get(archive.name)
        if error:
            state = msgspec.structs.replace(state, status="unusable", reason=error.message)  # noqa: PLW2901
        verified = await _with_verification(app, archive, archive_metadata) if archive_metadata else None
        rows.append(ListedArchive(state, verified))
    return ArchiveList(rows, [f"{row.name}: {row.reason}" for row in scan.rejected], scan.is_handbook)


async def _with_verification(app: App, archive: ArchiveFile, metadata: Metadata) -> ArchiveMetadata:
    run = await app.jobs.latest(archive, Verify())
    state = verification_state(run.result if run else None)
    return ArchiveMetadata(**msgspec.structs.asdict(metadata), verification=state)


def verification_state(result: ChecksumResult | None) -> Literal["unverified", "valid", "damaged"]:
    """Return in a word whether a file matches its checksum."""
    if result is None or result.valid is None:
        return "unverified"
    return "valid" if result.valid else "damaged"


async def read_overview(app: App, archive: ArchiveFile) -> Overview:
    """Return what an archive is; a part that cannot be read does not affect the others."""
    problems: dict[str, str] = {}

    async def unless_damaged(part: str, reading: Awaitable[Result]) -> Result | None:
        try:
            return await reading
        except errors.OpenZimMcpArchiveError as error:
            problems[part] = error.message
            return None

    call = app.workers.call
    metadata = await unless_damaged("metadata", call(archive, ReadMetadata(with_namespaces=False)))
    namespaces = await unless_damaged("namespaces", call(archive, ListNamespaces()))
    preview = await unless_damaged("main_page", call(archive, PreviewMainPage(_PREVIEW_CHARS)))
    return Overview(archive, metadata, namespaces, preview, problems)


async def archive_titles(app: App, archives: Sequence[ArchiveFile]) -> dict[str, str]:
    """Return the shortened titles of archives, by name; without those that could not be read in time."""
    descriptions = (await app.describe_each(archives)).results
    return {name: safe_line(description.title, _MAX_TITLE_CHARS) for name, description in descriptions.items()}
