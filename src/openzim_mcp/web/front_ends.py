"""The functions behind the endpoints: each calls `app/` as a tool does, and adds where a browser opens the result."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from openzim_mcp import addresses, errors, uris
from openzim_mcp.app import health, links, near, reading, search
from openzim_mcp.app.archives import read_archive_metadata
from openzim_mcp.app.elsewhere import find_elsewhere
from openzim_mcp.app.query import ask
from openzim_mcp.app.query.reply import Reply
from openzim_mcp.app.references import locate_entry
from openzim_mcp.calls.reading import FindText, LocateEntry, ReadSection, ReadSummary, ReadTableOfContents, ReadText
from openzim_mcp.text import remove_mark
from openzim_mcp.web.results import (
    Answer,
    ArchiveDetails,
    ArchiveRow,
    ArchiveRows,
    Health,
    Hit,
    HitPage,
    ReadResult,
    SuggestionList,
    TitleSuggestion,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.app.caller import Caller
    from openzim_mcp.app.health import ArchiveState
    from openzim_mcp.calls.archive import Description
    from openzim_mcp.calls.reading import TocEntry
    from openzim_mcp.web import parameters
    from openzim_mcp.zimfile import ArchiveFile

_EMPHASIS = re.compile(r"(?<![\w*`])([*`])(?=\S)([^*`]+)(?<=\S)\1(?![\w*`])")


async def answer(app: App, request: parameters.AskParameters, caller: Caller) -> Answer:
    """Answer a question."""
    reply = await ask.answer_query(app, request.to_query(), caller)
    assert isinstance(reply, Reply), "a briefing is the answer to synthesize=True only"
    return Answer(
        query=request.q,
        answered=not reply.is_empty if reply.answered is None else reply.answered,
        confidence=reply.confidence,
        markdown=reply.markdown,
        passages=list(reply.passages),
        sources=list(reply.cited),
        next_cursor=reply.next_cursor,
    )


async def search_entries(app: App, request: parameters.SearchParameters, caller: Caller) -> HitPage:
    """Search one archive, or all of them."""
    page = await near.run_search(app, request.to_search(), caller)
    if isinstance(page, near.NearPage):
        return _to_near_page(page, caller.base_url)
    if isinstance(page, search.SearchPage):
        rows = [search.with_archive(page.archive, row) for row in page.results or ()]
        total, failed = page.total, 0
    else:
        rows, failed = page.results, page.archives_failed
        total = sum(row.total for row in page.per_file_results)
    return HitPage(
        query=page.query,
        results=[_to_hit(row, caller.base_url) for row in rows],
        total=total,
        next_cursor=page.next_cursor,
        done=page.done,
        archives_failed=failed,
    )


def _to_near_page(page: near.NearPage, base_url: str) -> HitPage:
    return HitPage(
        query=page.query or "",
        results=[
            msgspec.structs.replace(_to_hit(row, base_url), distance_m=row.distance_m, direction=row.direction)
            for row in page.results
        ],
        total=page.total,
        next_cursor=page.next_cursor,
        done=page.done,
        archives_failed=page.archives_failed,
        near=page.near,
        complete=page.complete,
        progress=page.progress,
    )


def _to_hit(row: search.MergedHit | near.NearHit, base_url: str) -> Hit:
    hit = Hit(
        archive=row.archive,
        path=row.path,
        title=row.title,
        snippet=_to_plain_text(row.snippet or ""),
        url=base_url + addresses.reader_address(row.archive.removesuffix(".zim"), row.path),
        uri=uris.entry_uri(row.archive.removesuffix(".zim"), row.path),
    )
    if isinstance(row, near.NearHit):
        return hit
    return msgspec.structs.replace(hit, score=row.score, section=row.section, match=row.match)


def _to_plain_text(markdown: str) -> str:
    """Return a snippet without emphasis, code marks and line ends."""
    return " ".join(_EMPHASIS.sub(r"\2", remove_mark(markdown, "**")).split())


def _links(archive: str, path: str, base_url: str) -> dict[str, str]:
    name = archive.removesuffix(".zim")
    return {"url": base_url + addresses.reader_address(name, path), "uri": uris.entry_uri(name, path)}


async def suggest_titles(app: App, request: parameters.SuggestParameters, caller: Caller) -> SuggestionList:
    """Complete a title."""
    page = await search.search(app, request.to_search(), caller)
    if isinstance(page, search.SearchPage):
        rows = [search.with_archive(page.archive, row) for row in page.suggestions or ()]
    else:
        rows = page.results
    return SuggestionList(
        request.q,
        [
            TitleSuggestion(
                archive=row.archive, path=row.path, title=row.title, **_links(row.archive, row.path, caller.base_url)
            )
            for row in rows
        ],
    )


async def read_entry(app: App, request: parameters.ReadParameters, caller: Caller) -> ReadResult:
    """Read an entry, its lead, its outline or one section of it; or find words in it."""
    archive, path = await locate_entry(app, request.reference or "", request.archive)
    if request.find:
        result = await _find_text(app, archive, path, request.find, request)
    elif request.section:
        result = await _read_section(app, archive, path, request)
    elif request.view == "summary":
        summary = await reading.read_or_closest(app, archive, ReadSummary(path))
        result = _result(archive, summary.path, summary.title, summary.summary)
        result = msgspec.structs.replace(result, elsewhere=await find_elsewhere(app, archive, summary.path) or None)
    elif request.view == "toc":
        contents = await reading.read_or_closest(app, archive, ReadTableOfContents(path))
        outline = "\n".join(_outline(contents.toc))
        result = msgspec.structs.replace(
            _result(archive, contents.path, contents.title, outline),
            toc=contents.toc,
            elsewhere=await find_elsewhere(app, archive, contents.path) or None,
        )
    else:
        result = await _read_text(app, archive, path, request)
    if not result.mime_type:
        entry = await app.workers.call(archive, LocateEntry(result.path))
        result = msgspec.structs.replace(result, mime_type=entry.mime_type if entry else "")
    return msgspec.structs.replace(result, url=caller.base_url + result.url)


def _result(archive: ArchiveFile, path: str, title: str, markdown: str, section_id: str = "") -> ReadResult:
    return ReadResult(
        archive=archive.file_name,
        path=path,
        title=title,
        mime_type="",
        markdown=markdown,
        url=addresses.reader_address(archive.name, path, section_id),
        uri=uris.entry_uri(archive.name, path),
    )


async def _read_text(app: App, archive: ArchiveFile, path: str, request: parameters.ReadParameters) -> ReadResult:
    max_chars = request.limit or app.settings.content.max_content_length
    text = await reading.read_or_closest(app, archive, ReadText(path, max_chars, offset=request.offset))
    stop = request.offset + len(text.content)
    return msgspec.structs.replace(
        _result(archive, text.actual_path, text.title, text.content),
        mime_type=text.mime_type,
        note=text.note,
        characters=None if text.place else text.characters,
        next_offset=stop if text.place or stop < text.characters else None,
    )


async def _find_text(
    app: App, archive: ArchiveFile, path: str, words: str, request: parameters.ReadParameters
) -> ReadResult:
    max_chars = request.limit or app.settings.content.max_content_length
    call = FindText(path, words, request.offset, reading.MATCHES_PER_PAGE, max_chars)
    found = await reading.read_or_closest(app, archive, call)
    return msgspec.structs.replace(
        _result(archive, found.path, found.title, "\n".join(match.line for match in found.matches)),
        matches=found.matches,
        total=found.total,
        next_offset=found.next_offset,
        note=found.note,
    )


async def _read_section(app: App, archive: ArchiveFile, path: str, request: parameters.ReadParameters) -> ReadResult:
    max_chars = request.limit or app.settings.content.max_content_length
    call = ReadSection(path, request.section or "", max_chars, offset=request.offset, compact=False)
    section = await reading.read_or_closest(app, archive, call)
    return msgspec.structs.replace(
        _result(archive, section.path, section.title, section.content, section.section.id),
        section=section.section.title,
        characters=section.characters,
        next_offset=section.next_offset,
    )


def _outline(toc: Sequence[TocEntry], depth: int = 0) -> list[str]:
    return [line for entry in toc for line in [f"{'  ' * depth}- {entry.title}", *_outline(entry.children, depth + 1)]]


async def read_links(app: App, request: parameters.LinksParameters, caller: Caller) -> links.LinksPage:
    """Read the links of an entry."""
    return await links.read_links(app, request.to_links(), caller)


async def list_archives(app: App, _request: parameters.NoParameters, caller: Caller) -> ArchiveRows:
    """List all archives."""
    return ArchiveRows(await _archive_rows(app, (await app.scan()).archives, caller.base_url))


async def describe_archive(app: App, name: str, caller: Caller) -> ArchiveDetails:
    """Describe one archive."""
    archive = await app.find_archive(name)
    row = (await _archive_rows(app, [archive], caller.base_url))[0]
    details = ArchiveDetails(**msgspec.structs.asdict(row))
    try:
        metadata = await read_archive_metadata(app, archive)
    except errors.OpenZimMcpArchiveError:
        return details
    return msgspec.structs.replace(details, metadata=metadata)


async def report_health(app: App, _request: parameters.NoParameters, caller: Caller) -> Health:
    """Report on the server and its archives."""
    report = await health.report_server(app, caller)
    return Health(report.health, await _archive_rows(app, (await app.scan()).archives, caller.base_url))


async def _archive_rows(app: App, archives: Sequence[ArchiveFile], base_url: str) -> list[ArchiveRow]:
    states = await health.check_archives(app, archives)
    return [
        _archive_row(archive, state, app.facts.of(archive.identity).description, base_url)
        for archive, state in zip(archives, states, strict=True)
    ]


def _archive_row(
    archive: ArchiveFile, state: ArchiveState, description: Description | None, base_url: str
) -> ArchiveRow:
    return ArchiveRow(
        name=archive.name,
        title=state.title or "",
        description=description.description if description else "",
        language=state.language or "",
        date=state.date or "",
        kind=state.kind or "other",
        articles=state.articles,
        size=archive.size,
        state=state.status,
        reason=state.reason,
        url=base_url + addresses.archive_address(archive.name),
        uri=uris.archive_uri(archive.name),
    )
