"""The same elsewhere: the articles of other archives, and in other languages, about the subject of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from openzim_mcp import errors
from openzim_mcp.calls.reading import Elsewhere, Structure, Summary, TableOfContents
from openzim_mcp.calls.subjects import FindSame, ReadSubject
from openzim_mcp.languages import two_letter_code
from openzim_mcp.library.names import newest_of_each, split_date

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeVar

    from openzim_mcp.app.app import App
    from openzim_mcp.calls.archive import Description
    from openzim_mcp.calls.subjects import SameSubject, Subject
    from openzim_mcp.zimfile import ArchiveFile

    AnyView = TypeVar("AnyView")

_MAX_ARCHIVES = 24
"""How many other archives are asked: those that are likeliest to have the same."""
_MAX_ROWS = 20
_TIMEOUT_SECONDS = 1.0
"""What has not been found until then is left out: a summary does not wait for it."""
_KINDS = ("wikipedia", "map", "other", "site", "book")
"""The kinds of archives that may have the same, the likeliest first: not words, questions or manuals."""
_KINDS_WITH_TITLES = {"wikipedia", "map", "other"}
"""Those in which a title names the subject."""


async def add_elsewhere(app: App, archive: ArchiveFile, view: AnyView) -> AnyView:
    """Add to a summary or outline where else there is something about its subject; a failure adds nothing."""
    if not isinstance(view, Summary | TableOfContents | Structure):
        return view
    rows = await find_elsewhere(app, archive, view.path)
    return msgspec.structs.replace(view, elsewhere=rows) if rows else view


async def find_elsewhere(app: App, archive: ArchiveFile, path: str) -> list[Elsewhere]:
    """Return the articles about the same subject: in other languages of the archive, then in other archives."""
    try:
        subject = await app.workers.call(archive, ReadSubject(path))
    except errors.OpenZimMcpError:
        return []
    rows = [
        Elsewhere(archive.file_name, row.path, row.title, two_letter_code(row.language))
        for row in subject.translations
        if row.path
    ]
    descriptions = await _describe_others(app, archive)
    same = await _find_same(app, archive, subject, descriptions)
    rows += [
        Elsewhere(f"{name}.zim", row.entry.path, row.entry.title, row.language)
        for name, row in same.items()
        if row.entry is not None
    ]
    return rows[:_MAX_ROWS]


async def _describe_others(app: App, archive: ArchiveFile) -> dict[str, tuple[ArchiveFile, Description]]:
    """Return the archives that may have the same, by name, the likeliest first."""
    base = split_date(archive.name)[0]
    archives = [row for row in await app.recent_archives() if split_date(row.name)[0] != base]
    archives = newest_of_each(archives, {row.name for row in archives})
    descriptions = (await app.describe_each(archives, timeout=_TIMEOUT_SECONDS)).results
    rows = [(row, descriptions[row.name]) for row in archives if row.name in descriptions]
    likely = sorted((row for row in rows if row[1].kind in _KINDS), key=lambda row: _KINDS.index(row[1].kind))
    return {row[0].name: row for row in likely[:_MAX_ARCHIVES]}


async def _find_same(
    app: App, archive: ArchiveFile, subject: Subject, others: Mapping[str, tuple[ArchiveFile, Description]]
) -> dict[str, SameSubject]:
    kind = (await app.describe(archive)).kind if others else "other"
    results: dict[str, SameSubject] = {}
    for by_title in (True, False):
        archives = [
            row for row, description in others.values() if ({kind, description.kind} <= _KINDS_WITH_TITLES) == by_title
        ]
        if by_title or subject.item is not None or subject.translations:
            call = FindSame(subject, by_title=by_title)
            results |= (await app.workers.call_each(archives, call, timeout=_TIMEOUT_SECONDS)).results
    return {name: results[name] for name in others if name in results}
