"""Replies about the library itself, from the records of its archives: what there is, in which languages, about what."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from openzim_mcp.app.archives import archive_titles, list_article_page
from openzim_mcp.app.health import list_states
from openzim_mcp.app.query.patterns import language_code, language_name
from openzim_mcp.calls.archive import ReadMetadata
from openzim_mcp.languages import two_letter_codes
from openzim_mcp.library.names import split_date
from openzim_mcp.text import normalize, safe_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.health import ArchiveState
    from openzim_mcp.app.query.interpret import Interpretation
    from openzim_mcp.app.query.reply import QueryContext, Reply
    from openzim_mcp.zimfile import ArchiveFile

_ARCHIVES_PER_REPLY = 25
_NAMES_PER_LANGUAGE = 4
_TITLES_IN_HELP = 5
_MAX_TITLE_CHARS = 60
_MAX_DESCRIPTION_CHARS = 100
_MAX_REASON_CHARS = 100
_MIN_STEM_CHARS = 4
_MAX_ENDING_CHARS = 2
"""Two words with the same start of enough characters are the same, if one is longer by no more than this."""
_RECORD_FIELDS = (
    "title", "description", "language", "creator", "publisher", "date", "flavour", "articles", "media",
)  # fmt: skip
_COVER = re.compile(r"[ _]\(?cover\)?$")
_WORDS = re.compile(r"[^\W_]+")
_REQUESTS = """Ask a question in plain words, or say:
- list archives; archives in LANGUAGE; which archive is about X; which languages, topics or books are there
- how many articles does NAME have; how old is NAME; list articles in NAME
- search for X; search for X in NAME; find article titled X
- get article X; summary of X; outline of X; section S of X; links of X; what links to X; related to X; picture of X
- near X; museums near X within 5 km; X in German; X in other languages
- compare X and Y
- for more, repeat the request with the offset of its last line
X is a title, or a source as answers show it (zim://…). NAME is the name or title of an archive."""

Slots = dict[str, str]


async def show_help(context: QueryContext, _: Slots) -> Reply:
    """Say what is served and what can be asked, in few tokens."""
    states = await _largest_first(context)
    codes = {code for state in states for code in two_letter_codes(state.language or "")}
    languages = f" in {len(codes)} languages" if len(codes) > 1 else ""
    titles = dict.fromkeys(safe_line(state.title, _MAX_TITLE_CHARS) for state in states if state.title)
    among = f", among them: {'; '.join(list(titles)[:_TITLES_IN_HELP])}" if titles else ""
    return context.text_reply(f"{_count(len(states), 'archive')}{languages}{among}.\n{_REQUESTS}")


async def list_archives(context: QueryContext, _: Slots) -> Reply:
    """List the archives."""
    states = await _largest_first(context)
    return _archives_reply(context, f"{_count(len(states), 'archive')}:", [_archive_row(state) for state in states])


async def list_archives_in(context: QueryContext, slots: Slots) -> Reply:
    """List the archives in one language."""
    code = language_code(slots["language"])
    name = language_name(code)
    rows = [
        _archive_row(state) for state in await _largest_first(context) if code in two_letter_codes(state.language or "")
    ]
    if not rows:
        languages = await list_languages(context, {})
        return replace(languages, text=f"No archive is in {name}. {languages.text}", is_empty=True)
    return _archives_reply(context, f"{_count(len(rows), 'archive')} in {name}:", rows)


async def list_languages(context: QueryContext, _: Slots) -> Reply:
    """List the languages of the archives, those of most archives first."""
    names = defaultdict(list)
    for state in await _largest_first(context):
        for code in two_letter_codes(state.language or ""):
            names[code].append(state.name)
    rows = [
        f"- {language_name(code)} ({code}): {', '.join(in_language[:_NAMES_PER_LANGUAGE])}"
        + (f" and {len(in_language) - _NAMES_PER_LANGUAGE} more" if len(in_language) > _NAMES_PER_LANGUAGE else "")
        for code, in_language in sorted(names.items(), key=lambda row: (-len(row[1]), row[0]))
    ]
    return _archives_reply(context, f"{_count(len(rows), 'language')}:", rows)


async def list_topics(context: QueryContext, _: Slots) -> Reply:
    """List what the archives say that they are about."""
    descriptions = (await context.app.describe_each(context.archives)).results
    rows = [
        f"- {name}.zim: {' — '.join(filter(None, texts))}"
        for name, row in sorted(descriptions.items(), key=lambda item: -item[1].articles)
        if any(texts := (safe_line(row.title, _MAX_TITLE_CHARS), safe_line(row.description, _MAX_DESCRIPTION_CHARS)))
    ]
    return _archives_reply(context, "What the archives are about, the largest first:", rows)


async def list_books(context: QueryContext, _: Slots) -> Reply:
    """List the books of the archives of books, in pages."""
    descriptions = (await context.app.describe_each(context.archives)).results
    archives = [row for row in context.archives if (d := descriptions.get(row.name)) and d.kind == "book"]
    if not archives:
        topics = await list_topics(context, {})
        return replace(topics, text=f"No archive is a collection of books. {topics.text}", is_empty=True)
    start, stop = context.request.offset, context.request.offset + context.limit
    rows: list[str] = []
    for archive in archives:
        # Twice as many as needed, as each book may have a cover.
        page = await list_article_page(context.app, archive, None, 0, 2 * stop + context.limit)
        rows += [f"- {row.title} — {archive.file_name}" for row in page.entries if not _COVER.search(row.title)]
    return context.list_reply("Books:", rows[start:stop], is_complete=stop >= len(rows))


async def find_archives_about(context: QueryContext, slots: Slots) -> Reply:
    """List the archives whose records have the words of a topic; if none has, those with an article of that title."""
    topic = slots["topic"]
    states = [state for state in await _largest_first(context) if state.status != "unusable"]
    descriptions = (await context.app.describe_each(context.archives)).results
    records = {name: f"{row.title} {row.description} {name}" for name, row in descriptions.items()}
    rows = [_archive_row(s) for s in states if _has_words(records.get(s.name.removesuffix(".zim"), ""), topic)]
    quoted = f"'{safe_line(topic, 100)}'"
    if rows:
        return _archives_reply(context, f"About {quoted}:", rows)
    scores = await context.score_titles([topic], [topic])
    rows = [_archive_row(state) for state in states if max(scores.get(state.name.removesuffix(".zim"), [0.0]))]
    if rows:
        return _archives_reply(context, f"Not about {quoted}, but with an article of that title:", rows)
    reply = context.text_reply(
        f"No archive is about {quoted}, or has an article of that title. Say: search for {topic}"
    )
    return replace(reply, is_empty=True)


async def list_articles(context: QueryContext, _: Slots) -> Reply:
    """List the articles of an archive, without redirects, in pages."""
    archive = await context.archive()
    page = await list_article_page(context.app, archive, None, context.request.offset, context.limit)
    rows = [f"- {row.title}" for row in page.entries]
    head = f"{page.total if page.total is not None else 'More than 100000'} articles in {archive.file_name}:"
    return context.list_reply(head, rows, is_complete=page.done)


async def describe_archives(context: QueryContext, slots: Slots) -> Reply:
    """Show the record of an archive; of several, a line each."""
    if "archive" in slots and len(context.archives) != 1:
        context = replace(context, archives=[await context.archive(slots["archive"])])
    if len(context.archives) != 1:
        names = {archive.file_name for archive in context.archives}
        states = [state for state in await _largest_first(context) if state.name in names]
        articles = sum(state.articles or 0 for state in states)
        head = f"{_count(len(states), 'archive')}, {articles} articles:"
        return _archives_reply(context, head, [_archive_row(state) for state in states])
    metadata = await context.app.workers.call(context.archives[0], ReadMetadata(with_namespaces=False))
    values = metadata.metadata | {name: str(count) for name, count in metadata.counts.items() if count}
    rows = [f"- {name}: {values[name]}" for name in _RECORD_FIELDS if values.get(name)]
    return context.text_reply("\n".join([f"{metadata.archive}:", *rows]))


async def named_archives(context: QueryContext, interpretation: Interpretation) -> list[ArchiveFile]:
    """Return the archives that a request about an archive names, by a whole name or title or by words of it."""
    name = (interpretation.title or "").removesuffix(".zim")
    titles = await archive_titles(context.app, context.archives)
    names = {row.name: (row.name, split_date(row.name)[0], titles.get(row.name, "")) for row in context.archives}
    whole = [row for row in context.archives if _joined(name) in map(_joined, names[row.name])]
    if whole or interpretation.archive_match == "whole":
        return whole
    return [row for row in context.archives if name_matches(name, row.name, titles.get(row.name, ""))]


def name_matches(text: str, *names: str) -> bool:
    """Return whether one of an archive's names starts with a text, or contains all its words."""
    words = _WORDS.findall(text.casefold())
    words_of_names = [_WORDS.findall(name.casefold()) for name in names]
    return any("".join(name).startswith("".join(words)) or set(words) <= set(name) for name in words_of_names)


async def _largest_first(context: QueryContext) -> list[ArchiveState]:
    return sorted(await list_states(context.app), key=lambda state: -(state.articles or 0))


def _joined(name: str) -> str:
    return "".join(_WORDS.findall(name.casefold()))


def _archives_reply(context: QueryContext, head: str, rows: Sequence[str]) -> Reply:
    """Reply with a page of rows, each about an archive."""
    start = context.request.offset
    stop = start + (context.request.limit or _ARCHIVES_PER_REPLY)
    return context.list_reply(head, rows[start:stop], is_complete=stop >= len(rows))


def _archive_row(state: ArchiveState) -> str:
    """Return an archive in a line: title, kind, languages, date, articles, and its state if it is not in order."""
    languages = "/".join(two_letter_codes(state.language or ""))
    articles = _count(state.articles, "article") if state.articles else ""
    facts = ", ".join(filter(None, (state.kind, languages, (state.date or "")[:7], articles)))
    record = "; ".join(filter(None, (safe_line(state.title or "", _MAX_TITLE_CHARS), facts)))
    problem = f" ({state.status}: {safe_line(state.reason or '', _MAX_REASON_CHARS)})" if state.status != "ok" else ""
    return f"- {state.name}{f': {record}' if record else ''}{problem}"


def _has_words(record: str, topic: str) -> bool:
    words = _WORDS.findall(normalize(record))
    return all(any(_same_word(word, other) for other in words) for word in _WORDS.findall(normalize(topic)))


def _same_word(first: str, second: str) -> bool:
    short, long = sorted((first, second), key=len)
    is_ending = len(short) >= _MIN_STEM_CHARS and len(long) - len(short) <= _MAX_ENDING_CHARS
    return long.startswith(short) if is_ending else long == short


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
