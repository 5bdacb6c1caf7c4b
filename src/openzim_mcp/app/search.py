"""Search: by text, by title, or suggestions while typing; in one archive or in all of them."""

from __future__ import annotations

import hashlib
import itertools
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from pydantic import Field, model_validator

from openzim_mcp import cursors, errors
from openzim_mcp.app.arguments import ArchiveRequest, check_start, require_text, resume
from openzim_mcp.app.caller import LOCAL, Caller
from openzim_mcp.app.rare_words import drop_irrelevant, find_best_covered
from openzim_mcp.app.routing import MAX_ASKED, route_words
from openzim_mcp.calls import Struct
from openzim_mcp.calls.search import (
    MATCH_ORDER,
    FindTitles,
    SearchHit,
    SearchHits,
    SearchText,
    Suggestion,
    Suggestions,
    SuggestTitles,
    TitleHit,
    TitleHits,
    TitleMatchKind,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.calls import Call
    from openzim_mcp.config import Operation
    from openzim_mcp.zimfile import ArchiveFile

TOOL = "zim_search"
_MAX_QUERY_CHARS = 1000
_MAX_SUGGESTIONS = 50
_HITS_PER_ARCHIVE = 3
"""Results per archive in a search of all archives, without a limit."""
_MAX_MERGED_HITS = 1000
_MIN_MERGED_HITS = 100
_MAX_HITS_OF_ALL = 20_000
"""Results that a search of all archives may bring into memory: each archive may have all of those that are shown."""
_MAX_LISTED_ARCHIVES = 20
_MAX_LISTED_HITS = 40
"""In the lists of single archives, together."""
_MAX_LISTED_ERRORS = 5
_MAX_ARCHIVES_WITH_PASSAGES = 5
_OPERATIONS: dict[str, Operation] = {"fulltext": "search", "title": "find_entry_by_title", "suggest": "suggestions"}

Mode = Literal["fulltext", "title", "suggest"]
Hits = SearchHits | TitleHits | Suggestions
HitRow = SearchHit | TitleHit | Suggestion


class SearchRequest(ArchiveRequest):
    """What `zim_search` takes."""

    query: str | None = Field(None, max_length=_MAX_QUERY_CHARS, description="Words, a question, or a title.")
    mode: Mode = Field(
        "fulltext", description="fulltext: articles and the passage that matches; title: by name; suggest: completions."
    )
    cross_file: bool = Field(False, description="Search all archives.")
    namespace: str | None = Field(None, max_length=500, description="Only this namespace or folder (fulltext).")
    content_type: str | None = Field(None, max_length=100, description="Only this type, as text/html (fulltext).")
    near: str | None = Field(
        None,
        max_length=300,
        description='Only places near "48.85,2.35", "48.85,2.35,5km" or a title; query may be left out.',
    )
    limit: int | None = Field(None, ge=1, le=100, description="Results, up to 100; suggest up to 50 (default 10).")
    offset: int = Field(0, ge=0, le=2**32, description="Results to skip.")
    cursor: str | None = Field(None, description="next_cursor of the previous call; enough by itself.")

    @model_validator(mode="after")
    def _check_combination(self) -> SearchRequest:
        check_start(self.cursor, self.offset)
        if self.query is None and not self.cursor and not self.near:
            raise ValueError("query: required, but not given; say what to look for")
        if self.mode == "suggest" and (self.limit or 0) > _MAX_SUGGESTIONS:
            raise ValueError(f"limit: should be 1 to {_MAX_SUGGESTIONS} with mode='suggest', not {self.limit}")
        if self.mode != "fulltext" and (self.namespace or self.content_type):
            raise ValueError("namespace and content_type belong to mode='fulltext'")
        if self.near and (self.mode != "fulltext" or self.namespace or self.content_type):
            raise ValueError("near belongs to mode='fulltext', without namespace and content_type")
        if self.cross_file and self.zim_file_path:
            raise ValueError("cross_file and zim_file_path exclude each other: leave one out")
        return self

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as; a search of all archives is charged when their number is known."""
        is_of_all = self.cross_file or (self.near and not self.zim_file_path)
        return _OPERATIONS[self.mode], 0 if is_of_all else 1

    def in_cursor(self, limit: int) -> dict[str, object]:
        """Return what a cursor carries of the request."""
        names = {"query", "mode", "namespace", "content_type", "near"}
        return self.model_dump(include=names, exclude_none=True) | {"limit": limit}


class SearchPage(Struct, frozen=True, kw_only=True):
    """A page of results from one archive."""

    query: str
    mode: Mode
    archive: str
    results: list[SearchHit] | list[TitleHit] | None = None
    suggestions: list[Suggestion] | None = None
    total: int
    offset: int
    limit: int
    next_cursor: str | None
    done: bool
    corrected: dict[str, str] = msgspec.field(default_factory=dict)
    relaxed: dict[str, list[str]] = msgspec.field(default_factory=dict)
    total_is_estimate: bool = False
    reason: str | None = None
    hint: str | None = None


class ArchiveHit(Struct, frozen=True):
    """A result in the list of its archive, without the passage if that stands in the list of all archives."""

    path: str
    title: str
    score: float
    snippet: str | None = None
    section: str | None = None


class ArchiveHits(Struct, frozen=True, kw_only=True):
    """The results of one archive among many, or why it could not be searched."""

    archive: str
    results: list[ArchiveHit] | list[TitleHit] | None = None
    suggestions: list[Suggestion] | None = None
    total: int
    corrected: dict[str, str] = msgspec.field(default_factory=dict)
    relaxed: dict[str, list[str]] = msgspec.field(default_factory=dict)
    total_is_estimate: bool = False
    reason: str | None = None
    hint: str | None = None
    error: str | None = None


class MergedHit(Struct, frozen=True, kw_only=True):
    """A result in the list of all archives."""

    archive: str
    path: str
    title: str
    match: TitleMatchKind | None = None
    via: str | None = None
    snippet: str | None = None
    score: float | None = None
    section: str | None = None


class MergedPage(Struct, frozen=True):
    """A page of results from all archives."""

    query: str
    mode: Mode
    per_file_results: list[ArchiveHits]
    results: list[MergedHit]
    archives_searched: int
    archives_failed: int
    archives_without_results: int
    next_cursor: str | None
    done: bool
    archives_not_listed: int = 0
    """Archives with results or errors that `per_file_results` has no row for."""
    archives_passed_over: int = 0
    """Those of these that have fewer of the words than others, by their records, and were not opened."""


async def search(app: App, request: SearchRequest, caller: Caller = LOCAL) -> SearchPage | MergedPage:
    """Search one archive or all of them."""
    request = resume(TOOL, request)
    query = require_text(request.query or "")
    if request.cross_file:
        return await _search_all(app, request, query, caller)
    archive = await _find_archive(app, request.zim_file_path)
    limit = request.limit or app.settings.content.default_search_limit
    in_cursor = request.in_cursor(limit)
    start = cursors.start_position(TOOL, request.cursor, request.offset, archive.uuid, in_cursor)
    hits = await app.workers.call(archive, _search_call(app, request, query, start, limit))
    if request.mode == "fulltext":
        app.passage_indexes.request([archive], is_question=False)
    stop, total = start + limit, _listed_total(hits)
    cursor = cursors.next_cursor(TOOL, archive.uuid, stop, total, {"zim_file_path": archive.name} | in_cursor)
    return SearchPage(
        query=request.query or "",
        mode=request.mode,
        archive=archive.file_name,
        offset=start,
        limit=limit,
        next_cursor=cursor,
        done=cursor is None,
        **_fields(hits),
    )


async def _find_archive(app: App, name: str | None) -> ArchiveFile:
    """Return the archive to search; if none is named and there are several, the error offers to search all."""
    try:
        return await app.find_archive(name)
    except errors.ArchiveNotFound as error:
        if not name and "available_archives" in error.details:
            error.hint = "cross_file=true searches all; or use one of available_archives."
            error.with_list("available_archives", error.details["available_archives"])
        raise


def _fields(hits: Hits) -> dict[str, Any]:
    """Return the fields of results that clients see."""
    return {name: value for name, value in msgspec.structs.asdict(hits).items() if name not in {"listed", "is_partial"}}


def _listed_total(hits: Hits) -> int:
    """Return how many results can be listed; an estimated total may be higher."""
    return hits.listed if isinstance(hits, SearchHits) else hits.total


def _search_call(app: App, request: SearchRequest, query: str, offset: int, limit: int) -> Call[Hits]:
    if request.mode == "title":
        return FindTitles(query, offset, limit)
    if request.mode == "suggest":
        return SuggestTitles(query, offset, limit)
    return SearchText(
        query,
        offset,
        limit,
        snippet_chars=app.settings.content.snippet_length,
        scan_seconds=app.scan_seconds,
        namespace=request.namespace,
        content_type=request.content_type,
    )


async def _search_all(app: App, request: SearchRequest, query: str, caller: Caller) -> MergedPage:
    """Search all archives and merge their results."""
    archives = (await app.scan()).archives
    await app.charge(caller, _OPERATIONS[request.mode], len(archives))
    limit = request.limit or app.settings.content.default_search_limit
    in_cursor = request.in_cursor(limit)
    fingerprint = fingerprint_archives(archives)
    start = cursors.start_position(TOOL, request.cursor, request.offset, fingerprint, in_cursor)
    max_hits = max(_MIN_MERGED_HITS, min(_MAX_MERGED_HITS, _MAX_HITS_OF_ALL // max(1, len(archives))))
    if start >= max_hits:
        raise errors.OutOfRange(
            f"offset={start} is beyond the end: a list of these archives has {max_hits} results at most.",
            hint="Search one archive (zim_file_path) to go deeper.",
        )
    stop = min(start + limit, max_hits)
    call = _search_call(app, request, query, 0, stop)
    asked, passed_over = await _archives_to_search(app, archives, request, query)
    outcomes = await app.workers.call_each(asked, call, progress=caller.progress)
    found = await _relevant_hits(app, asked, query, outcomes.results)
    searched = len(archives) - len(outcomes.errors)
    total = min(max_hits, sum(hits.total for hits in found.values()))
    cursor = cursors.next_cursor(TOOL, fingerprint, stop, total, in_cursor | {"cross_file": True})
    merged = merge_hits(found)
    listed = _listed_archives(merged, found)
    per_archive = min(limit if request.limit else _HITS_PER_ARCHIVE, limit, _MAX_LISTED_HITS // max(1, len(listed)))
    archive_page = slice(start * per_archive // limit, stop * per_archive // limit)
    merged = merged[start:stop]
    shown = {(hit.archive, hit.path) for hit in merged} if len(listed) <= _MAX_ARCHIVES_WITH_PASSAGES else None
    failed = list(outcomes.errors)[:_MAX_LISTED_ERRORS]
    rows = [
        _archive_hits(archive, found.get(archive.name), outcomes.errors.get(archive.name), archive_page, shown)
        for archive in archives
        if archive.name in listed or archive.name in failed
    ]
    return MergedPage(
        query=request.query or "",
        mode=request.mode,
        per_file_results=[row for row in rows if row.results or row.suggestions or row.error],
        results=merged,
        archives_searched=searched,
        archives_failed=len(outcomes.errors),
        archives_without_results=searched - len(found) - passed_over,
        next_cursor=cursor,
        done=cursor is None,
        archives_not_listed=len(found) - len(listed) + len(outcomes.errors) - len(failed) + passed_over,
        archives_passed_over=passed_over,
    )


async def _archives_to_search(
    app: App, archives: Sequence[ArchiveFile], request: SearchRequest, query: str
) -> tuple[list[ArchiveFile], int]:
    """Return the archives to search, of many those with most of the words, and how many others have some of them."""
    usable = [archive for archive in archives if not archive.problem]
    route = await route_words(app, usable, query, is_prefix=request.mode == "suggest")
    best = route.archives
    if len(usable) > MAX_ASKED and request.mode == "fulltext":
        best = await find_best_covered(app, best, query, _MAX_LISTED_ARCHIVES)
    unusable = [archive for archive in archives if archive.problem]
    return [*best, *unusable], route.passed_over + route.unknown + len(route.archives) - len(best)


def _listed_archives(merged: Iterable[MergedHit], found: Mapping[str, Hits]) -> set[str]:
    """Return the names of the archives whose own results are listed: those with the best ones of all."""
    by_file_name = {f"{name}.zim": name for name in found}
    best = dict.fromkeys(by_file_name[hit.archive] for hit in merged)
    return set(itertools.islice(best, _MAX_LISTED_ARCHIVES))


async def _relevant_hits(
    app: App, archives: Sequence[ArchiveFile], query: str, hits: Mapping[str, Hits]
) -> dict[str, Hits]:
    """Return the results of the archives that have something; of a full-text search, something with a rare word."""
    texts = {name: row for name, row in hits.items() if isinstance(row, SearchHits)}
    if not texts:
        return {name: row for name, row in hits.items() if hit_rows(row)}
    app.passage_indexes.request(archives, is_question=False)
    return dict(await drop_irrelevant(app, archives, query, texts))


def fingerprint_archives(archives: Iterable[ArchiveFile]) -> str:
    """Return a hash of the archives in their present state; a cursor is refused when it has changed."""
    states = "\n".join(f"{archive.name} {archive.identity}" for archive in archives)
    return hashlib.sha256(states.encode()).hexdigest()[: cursors.UUID_CHARS]


def hit_rows(hits: Hits) -> Sequence[HitRow]:
    """Return the rows of results."""
    return hits.suggestions if isinstance(hits, Suggestions) else hits.results


def merge_hits(hits: Mapping[str, Hits]) -> list[MergedHit]:
    """Merge the results of archives, given by name: by score, by kind of match, or by position in their archives."""
    rows = [
        (_rank(row), position, number, with_archive(f"{name}.zim", row))
        for number, (name, archive_hits) in enumerate(hits.items())
        for position, row in enumerate(hit_rows(archive_hits))
    ]
    return [row for *_, row in sorted(rows, key=lambda row: row[:3])]


def with_archive(archive: str, row: HitRow) -> MergedHit:
    """Return a result with the name of its archive."""
    return MergedHit(archive=archive, **msgspec.structs.asdict(row))


def _rank(row: HitRow) -> float:
    if isinstance(row, SearchHit):
        return -row.score
    return MATCH_ORDER[row.match] if isinstance(row, TitleHit) else 0


def _archive_hits(
    archive: ArchiveFile,
    hits: Hits | None,
    error: errors.OpenZimMcpError | None,
    page: slice,
    shown: Collection[tuple[str, str]] | None,
) -> ArchiveHits:
    """Return the results of one archive among many, or why it could not be searched.

    `shown` are the archives and paths of the results whose passages stand in the list of all archives; None leaves out
    all passages.
    """
    if hits is None:
        return ArchiveHits(archive=archive.file_name, total=0, error=error.message if error else None)
    fields = _fields(hits)
    if isinstance(hits, SearchHits):
        fields["results"] = [
            ArchiveHit(
                row.path,
                row.title,
                row.score,
                None if shown is None or (archive.file_name, row.path) in shown else row.snippet,
                row.section,
            )
            for row in hits.results[page]
        ]
    else:
        rows = "suggestions" if isinstance(hits, Suggestions) else "results"
        fields[rows] = fields[rows][page]
    return ArchiveHits(archive=archive.file_name, **fields)
