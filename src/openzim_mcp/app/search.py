"""`zim_search`: its arguments, its modes, and the search of all archives at once."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Literal

from pydantic import Field, model_validator

from openzim_mcp import cursors, errors
from openzim_mcp.app.arguments import ArchiveArguments, check_start
from openzim_mcp.app.progress import Tally
from openzim_mcp.worker.search import fulltext, titles
from openzim_mcp.worker.search import query as queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.app import Backend, Payload
    from openzim_mcp.config import Operation
    from openzim_mcp.pool.jobs import Listener
    from openzim_mcp.protocol.tools import Call
    from openzim_mcp.zimfile import ArchiveFile

_LONGEST_QUERY = 1000
_SUGGESTIONS = 50
_OF_EACH = 3
"""How many results each archive's own list has, if a call does not say."""
_DEEPEST = 1000
_OPERATIONS: dict[str, Operation] = {"fulltext": "search", "title": "find_entry_by_title", "suggest": "suggestions"}
_NOTES = ("corrected", "relaxed", "total_is_estimate", "reason", "hint")


class SearchArguments(ArchiveArguments):
    """What `zim_search` takes."""

    query: str | None = Field(None, max_length=_LONGEST_QUERY, description="Words, a question, or a title.")
    mode: Literal["fulltext", "title", "suggest"] = Field(
        "fulltext", description="fulltext: articles and the passage that matches; title: by name; suggest: completions."
    )
    cross_file: bool = Field(False, description="Search all archives.")
    namespace: str | None = Field(None, max_length=500, description="Only this namespace or folder (fulltext).")
    content_type: str | None = Field(None, max_length=100, description="Only this type, as text/html (fulltext).")
    limit: int | None = Field(None, ge=1, le=100, description="Results, up to 100; suggest up to 50 (default 10).")
    offset: int = Field(0, ge=0, le=2**32, description="Results to skip.")
    cursor: str | None = Field(None, description="next_cursor of the previous call; enough by itself.")

    @model_validator(mode="after")
    def _check_combination(self) -> SearchArguments:
        check_start(self.cursor, self.offset)
        if self.query is None and not self.cursor:
            raise ValueError("query: required, but not given; say what to look for")
        if self.mode == "suggest" and (self.limit or 0) > _SUGGESTIONS:
            raise ValueError(f"limit: should be 1 to {_SUGGESTIONS} with mode='suggest', not {self.limit}")
        if self.mode != "fulltext" and (self.namespace or self.content_type):
            raise ValueError("namespace and content_type belong to mode='fulltext'")
        if self.cross_file and self.zim_file_path:
            raise ValueError("cross_file and zim_file_path exclude each other: leave one out")
        return self


def search_cost(given: SearchArguments) -> tuple[Operation, int]:
    """Return what a call is charged as; over all archives, that is done when their number is known."""
    return _OPERATIONS[given.mode], 0 if given.cross_file else 1


async def zim_search(call: Call, given: SearchArguments) -> Payload:
    """Find what a call asks for."""
    queries.text_of(given.query or "")
    if given.cross_file:
        return await _all_archives(call, given)
    archive = await call.backend.find(given.zim_file_path)
    limit = given.limit or call.backend.settings.content.default_search_limit
    return await _one(call.backend, archive, _request(given, limit), given.offset, given.cursor)


def _request(given: SearchArguments, limit: int) -> Payload:
    """Return what a cursor carries, besides the archive and the place."""
    asked = given.model_dump(include={"query", "mode", "namespace", "content_type"}, exclude_none=True)
    return asked | {"limit": limit}


async def _one(
    backend: Backend,
    archive: ArchiveFile,
    request: Payload,
    offset: int = 0,
    cursor: str | None = None,
    snippet: int | None = None,
) -> Payload:
    """Search one archive; where its index is closed, without it."""
    page: Payload = {"request": request, "offset": offset, "cursor": cursor}
    if request["mode"] != "fulltext":
        function = titles.find if request["mode"] == "title" else titles.suggest
        return await backend.ask(function, archive, **page)
    page |= {"snippet": snippet or backend.settings.content.snippet_length, "seconds": backend.scan_seconds}
    return await backend.ask(fulltext.fulltext, archive, without_index=fulltext.fulltext_without_index, **page)


async def _all_archives(call: Call, given: SearchArguments) -> Payload:
    """Search every archive at once and put the results in one order."""
    backend = call.backend
    archives = (await backend.scan()).archives
    await backend.limiter.charge(call.client, _OPERATIONS[given.mode], len(archives))
    limit = given.limit or backend.settings.content.default_search_limit
    request = _request(given, limit)
    now = state(archives)
    start = cursors.position(fulltext.TOOL, given.cursor, given.offset, now, request)
    if start >= _DEEPEST:
        raise errors.OutOfRange(
            f"offset={start} lies beyond the end: a list of all archives has {_DEEPEST} places at most.",
            hint="Search one archive (zim_file_path) to go deeper.",
        )
    stop = min(start + limit, _DEEPEST)
    answers = await everywhere(backend, archives, request | {"limit": stop}, listener=call.listener)
    searched = [answer for answer in answers if "error" not in answer]
    done = stop >= min(_DEEPEST, sum(answer["total"] for answer in searched))
    of_each = limit if given.limit else min(limit, _OF_EACH)
    own = slice(start * of_each // limit, stop * of_each // limit)
    return {
        "query": given.query,
        "mode": given.mode,
        "per_file_results": [_own_list(answer, own) for answer in answers],
        "results": merge(answers, given.mode)[start:stop],
        "archives_searched": len(searched),
        "archives_failed": len(answers) - len(searched),
        "next_cursor": None if done else cursors.encode(fulltext.TOOL, now, stop, request | {"cross_file": True}),
        "done": done,
    }


def state(archives: Sequence[ArchiveFile]) -> str:
    """Return what names the archives as they are now, so that a cursor does not outlive a change."""
    names = "\n".join(f"{archive.name} {archive.identity}" for archive in archives)
    return hashlib.sha256(names.encode()).hexdigest()[: cursors.UUID]


async def everywhere(
    backend: Backend,
    archives: Sequence[ArchiveFile],
    request: Payload,
    snippet: int | None = None,
    listener: Listener | None = None,
) -> list[Payload]:
    """Return the first results of every archive; one that fails or is late says so."""
    tally = Tally(listener, len(archives))

    async def ask(archive: ArchiveFile) -> Payload:
        try:
            return await _one(backend, archive, request, snippet=snippet)
        finally:
            await tally.step()

    answers = await backend.each(archives, ask)
    return [
        {"archive": archive.shown}
        | ({"error": answer.message} if isinstance(answer, errors.OpenZimMcpError) else answer)
        for archive, answer in zip(archives, answers, strict=True)
    ]


def merge(answers: list[Payload], mode: str) -> list[Payload]:
    """Return the rows of all archives in one order: by score, by kind of match, or each archive's best in turn."""
    rows = []
    for number, answer in enumerate(answers):
        for place, row in enumerate(answer.get("suggestions" if mode == "suggest" else "results", [])):
            rank = {"fulltext": -row.get("score", 0), "title": titles.ORDER.get(row.get("match"), 0), "suggest": 0}[
                mode
            ]
            rows.append((rank, place, number, {"archive": answer["archive"]} | row))
    return [row for *_, row in sorted(rows, key=lambda row: row[:3])]


def _own_list(answer: Payload, own: slice) -> Payload:
    """Return what one archive has by itself."""
    if "error" in answer:
        return {"archive": answer["archive"], "total": 0, "error": answer["error"]}
    rows = "suggestions" if "suggestions" in answer else "results"
    notes = {name: answer[name] for name in _NOTES if name in answer}
    return {"archive": answer["archive"], rows: answer[rows][own], "total": answer["total"]} | notes
