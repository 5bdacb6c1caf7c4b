"""Requests of `zim_query` for an article in another language, and for all languages that it is in."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from openzim_mcp import errors, uris
from openzim_mcp.app.elsewhere import find_elsewhere
from openzim_mcp.app.query.excerpts import Source
from openzim_mcp.app.query.patterns import language_code, language_name
from openzim_mcp.app.reading import read_or_closest
from openzim_mcp.calls.reading import Elsewhere, FindText, LocateEntry, ReadSummary
from openzim_mcp.languages import two_letter_code, two_letter_codes
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from openzim_mcp.app.query.reply import QueryContext, Reply
    from openzim_mcp.calls.reading import Summary
    from openzim_mcp.zimfile import ArchiveFile

_MAX_TRANSLATIONS = 3
_TRANSLATION_CHARS = 2000


async def read_in_language(context: QueryContext, slots: dict[str, str]) -> Reply:
    """Read the lead of an article in a language; else the lines of a dictionary, else say which languages there are."""
    code, title = language_code(slots["language"]), slots["title"]
    everywhere = replace(context, archives=context.library)
    archive = await _find_original(everywhere, title, code)
    entry = await _locate(everywhere, archive, title)
    rows = [entry, *await find_elsewhere(context.app, archive, entry.path)]
    for row in rows:
        if row.language == code:
            return await _read_lead(context, row)
    translation = await _find_in_dictionaries(everywhere, title, code)
    if translation is not None:
        return translation
    languages = ", ".join(dict.fromkeys(language_name(row.language) for row in rows if row.language))
    there_are = f" It is here in: {languages}." if languages else ""
    text = f"No article about {safe_line(entry.title, 100)!r} is known in {language_name(code)}.{there_are}"
    return replace(context.text_reply(text, _source(entry)), is_empty=True)


async def list_languages_of(context: QueryContext, slots: dict[str, str]) -> Reply:
    """List the articles about the same in other archives and languages."""
    everywhere = replace(context, archives=context.library)
    archive = await everywhere.archive_with_title(slots["title"])
    entry = await _locate(everywhere, archive, slots["title"])
    rows = await find_elsewhere(context.app, archive, entry.path)
    title = safe_line(entry.title, 100)
    if not rows:
        codes = await _languages_of_library(context)
        text = (
            f"No other article about {title!r} is known. The archives are in: {', '.join(map(language_name, codes))}."
        )
        return replace(context.text_reply(text, _source(entry)), is_empty=True)
    lines = [
        f"- {safe_line(row.title, 200)} — {language_name(row.language) if row.language else 'unknown language'} "
        f"({row.archive}: {uris.path_in_text(row.path)})"
        for row in rows
    ]
    start, stop = context.request.offset, context.request.offset + context.limit
    return context.list_reply(
        f"{title} elsewhere:", lines[start:stop], source=_source(entry), is_complete=stop >= len(lines)
    )


async def _find_original(context: QueryContext, title: str, code: str) -> ArchiveFile:
    """Return the archive with the article to translate: one in another language, as a word may mean something else."""
    archives = await context.archives_with_title(title) or [await context.archive_with_title(title)]
    descriptions = (await context.app.describe_each(archives)).results
    languages = {name: two_letter_code(row.language.partition(",")[0]) for name, row in descriptions.items()}
    return next((row for row in archives if languages.get(row.name) != code), archives[0])


async def _locate(context: QueryContext, archive: ArchiveFile, title: str) -> Elsewhere:
    """Return the entry of a title, and the language of its archive."""
    located = await read_or_closest(context.app, archive, ReadSummary(title))
    codes = (await context.app.describe(archive)).language.split(",")
    return Elsewhere(archive.file_name, located.path, located.title, two_letter_code(codes[0]) if codes[0] else "")


async def _read_lead(context: QueryContext, row: Elsewhere) -> Reply:
    archive = await context.app.find_archive(row.archive)
    summary: Summary = await context.app.workers.call(archive, ReadSummary(row.path))
    meanings = [f"- {meaning}" for meaning in summary.meanings or []]
    return context.text_reply("\n".join([summary.summary, *meanings]), _source(row))


async def _find_in_dictionaries(context: QueryContext, title: str, code: str) -> Reply | None:
    """Return the lines of a dictionary's entry that name a language: its translations."""
    descriptions = (await context.app.describe_each(context.archives)).results
    for archive in context.archives:
        description = descriptions.get(archive.name)
        if description is None or description.kind != "dictionary":
            continue
        try:
            entry = await context.app.workers.call(archive, LocateEntry(title))
            if entry is None:
                continue
            call = FindText(entry.path, language_name(code), 0, _MAX_TRANSLATIONS, _TRANSLATION_CHARS)
            found = await context.app.workers.call(archive, call)
        except errors.OpenZimMcpError:
            continue
        if found.matches:
            source = _source(Elsewhere(archive.file_name, found.path, found.title, ""))
            return context.text_reply("\n".join(match.line for match in found.matches), source)
    return None


async def _languages_of_library(context: QueryContext) -> list[str]:
    descriptions = (await context.app.describe_each(context.library)).results.values()
    codes = [code for row in descriptions for code in two_letter_codes(row.language)]
    return list(dict.fromkeys(codes))


def _source(row: Elsewhere) -> Source:
    return Source(row.archive, row.path, row.title, uris.entry_uri(row.archive.removesuffix(".zim"), row.path))
