"""What the endpoints of the API return."""

from __future__ import annotations

from typing import Literal

from openzim_mcp.app.archives import ArchiveMetadata  # noqa: TC001  msgspec evaluates annotations
from openzim_mcp.app.health import ServerHealth  # noqa: TC001
from openzim_mcp.app.near import Center  # noqa: TC001
from openzim_mcp.app.page_scans import IndexProgress  # noqa: TC001
from openzim_mcp.app.query.excerpts import CitedPassage, Source  # noqa: TC001
from openzim_mcp.calls import Struct
from openzim_mcp.calls.reading import Elsewhere, TextMatch, TocEntry  # noqa: TC001
from openzim_mcp.calls.search import TitleMatchKind  # noqa: TC001


class Answer(Struct, frozen=True):
    """The answer to a question: its text, the passages in it, and where these are from."""

    query: str
    answered: bool
    confidence: float | None
    markdown: str
    passages: list[CitedPassage]
    sources: list[Source]
    next_cursor: str | None = None


class Hit(Struct, frozen=True, kw_only=True):
    """An entry that was found; `snippet` is plain text, `url` opens in a browser."""

    archive: str
    path: str
    title: str
    snippet: str = ""
    url: str
    uri: str
    score: float | None = None
    section: str | None = None
    match: TitleMatchKind | None = None
    distance_m: int | None = None
    direction: str | None = None


class HitPage(Struct, frozen=True, kw_only=True):
    """A page of results; an archive that could not be searched is only counted.

    For what is near a place, `complete` tells whether all pages have been read for places.
    """

    query: str
    results: list[Hit]
    total: int
    next_cursor: str | None
    done: bool
    archives_failed: int = 0
    near: Center | None = None
    complete: bool | None = None
    progress: IndexProgress | None = None


class TitleSuggestion(Struct, frozen=True, kw_only=True):
    """An entry whose title continues what was typed."""

    archive: str
    path: str
    title: str
    url: str
    uri: str


class SuggestionList(Struct, frozen=True):
    """Entries whose titles continue what was typed."""

    query: str
    suggestions: list[TitleSuggestion]


class ReadResult(Struct, frozen=True, kw_only=True):
    """The text of an entry, or of a part of it; `next_offset` is where it continues."""

    archive: str
    path: str
    title: str
    mime_type: str
    markdown: str
    section: str | None = None
    toc: list[TocEntry] | None = None
    matches: list[TextMatch] | None = None
    total: int | None = None
    """How many lines hold the words to find; `next_offset` then counts matches."""
    next_offset: int | None = None
    characters: int | None = None
    note: str | None = None
    elsewhere: list[Elsewhere] | None = None
    """Articles about the same in other archives and languages; with `view=summary` and `view=toc`."""
    url: str
    uri: str


class ArchiveRow(Struct, frozen=True, kw_only=True):
    """An archive: what it is, and whether it can be read; `reason` says why not."""

    name: str
    title: str
    description: str
    language: str
    date: str
    kind: str
    articles: int | None
    size: int
    state: Literal["ok", "no_search", "unusable"]
    reason: str | None = None
    url: str
    uri: str


class ArchiveRows(Struct, frozen=True):
    """All archives."""

    archives: list[ArchiveRow]


class ArchiveDetails(ArchiveRow, frozen=True, kw_only=True):
    """One archive with its metadata, if it can be read."""

    metadata: ArchiveMetadata | None = None


class Health(Struct, frozen=True):
    """The state of the server and of its archives."""

    health: ServerHealth
    loaded_archives: list[ArchiveRow]
