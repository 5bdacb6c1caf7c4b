"""One handler per intent of `zim_query`."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from openzim_mcp import errors, tokens, uris
from openzim_mcp.app import links, reading, references
from openzim_mcp.app.archives import list_entry_page
from openzim_mcp.app.health import report_server
from openzim_mcp.app.query import excerpts, library, places, translations
from openzim_mcp.app.query.answers import answer_question, compare, no_results_reply, not_searched
from openzim_mcp.app.query.interpret import split_list
from openzim_mcp.app.query.reply import DEFAULT_TOKENS, QueryContext, Reply
from openzim_mcp.app.rare_words import drop_irrelevant
from openzim_mcp.app.routing import route_words
from openzim_mcp.app.search import merge_hits
from openzim_mcp.calls.reading import (
    Article,
    EntryResult,
    FindLeadImage,
    FindText,
    PickRandomPath,
    ReadArticle,
    ReadBinary,
    ReadLinks,
    ReadSection,
    ReadStructure,
    ReadSummary,
)
from openzim_mcp.calls.search import FindTitles, SearchText, SuggestTitles
from openzim_mcp.text import continuation_line, safe_line, title_key

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from openzim_mcp.calls import Call
    from openzim_mcp.calls.reading import LinkRow, SectionHead
    from openzim_mcp.calls.search import Suggestions, TitleHits
    from openzim_mcp.zimfile import ArchiveFile

_OUTLINE_ROWS = 100
_SNIPPET_CHARS = 160
_MAX_SUMMARIES = 10
_MATCHES_CHARS = 10_000

Slots = dict[str, str]


async def _show_health(context: QueryContext, _: Slots) -> Reply:
    health = (await report_server(context.app)).health
    notes = [*health.warnings, *health.recommendations]
    return context.text_reply("\n".join([f"The server is {health.status}.", *(f"- {note}" for note in notes)]))


async def _show_main_page(context: QueryContext, slots: Slots) -> Reply:
    archive = await context.archive(slots.get("archive"))
    return await _read_article_in(context, archive, await references.main_path(context.app, archive))


async def _show_random_article(context: QueryContext, _: Slots) -> Reply:
    archive = random.choice(context.archives) if context.archives else await context.archive()  # noqa: S311
    path = await context.app.workers.call(archive, PickRandomPath())
    return await _read_summary_in(context, archive, path)


async def _show_image(context: QueryContext, slots: Slots) -> Reply:
    archive = await context.archive_with_title(slots["path"])
    image = await reading.read_or_closest(context.app, archive, FindLeadImage(slots["path"]))
    if image.image_path is None:
        return context.text_reply("The article has no picture in this archive.", _source(archive, image))
    entry = await reading.read_or_closest(context.app, archive, ReadBinary(image.image_path))
    uri = uris.entry_uri(archive.name, entry.path)
    line = f"{uris.path_in_text(entry.path)}: {entry.mime_type}, {entry.size} bytes — {uri}"
    return Reply(line, image=entry if entry.mime_type.startswith("image/") else None)


async def _browse(context: QueryContext, slots: Slots) -> Reply:
    limit = min(500, max(1, int(slots.get("number", context.limit))))
    archive = await context.archive()
    page = await list_entry_page(context.app, archive, slots["namespace"], context.request.offset, limit)
    rows = [f"- {row.title} ({uris.path_in_text(row.path)})" for row in page.entries]
    return context.list_reply(f"{page.total} entries in namespace {page.namespace}:", rows, is_complete=page.done)


async def _search(context: QueryContext, slots: Slots) -> Reply:
    if "archive" in slots:
        context = replace(context, archives=[await context.archive(slots["archive"])])
    query, start = slots["query"], context.request.offset
    content = context.app.settings.content
    call = SearchText(
        query,
        0,
        start + context.limit,
        snippet_chars=_SNIPPET_CHARS if context.request.compact else content.snippet_length,
        scan_seconds=context.app.scan_seconds,
    )
    archives = (await route_words(context.app, context.archives, query)).archives
    outcomes = await context.app.workers.call_each(archives, call)
    context.app.passage_indexes.request(archives, is_question=False)
    relevant = await drop_irrelevant(context.app, archives, query, outcomes.results)
    hits = merge_hits(relevant)[start : start + context.limit]
    if not hits and not start:
        return await no_results_reply(context, query)
    total = sum(archive_hits.total for archive_hits in relevant.values())
    is_single = len(context.archives) == 1
    rows = [
        f"{number}. **{hit.title}**{' › ' + hit.section if hit.section else ''} "
        f"({'' if is_single else hit.archive + ': '}{uris.path_in_text(hit.path)})\n   {hit.snippet}"
        for number, hit in enumerate(hits, start + 1)
    ]
    in_archive = f" in {context.archives[0].file_name}" if is_single else ""
    head = f"{total} results for {safe_line(query, 200)!r}{in_archive}:\n"
    foot = not_searched([f"{name}.zim" for name in outcomes.errors]).strip()
    return context.list_reply(head, rows, foot=foot, is_complete=total <= start + len(hits))


async def _find_titles(context: QueryContext, slots: Slots) -> Reply:
    stop = context.request.offset + context.limit
    return await _list_titles(context, FindTitles(slots["title"], 0, stop), slots["title"])


async def _suggest_titles(context: QueryContext, slots: Slots) -> Reply:
    stop = context.request.offset + context.limit
    return await _list_titles(context, SuggestTitles(slots["prefix"], 0, stop), slots["prefix"])


async def _list_titles(context: QueryContext, call: Call[TitleHits | Suggestions], query: str) -> Reply:
    """List titles that are, or start with, some words."""
    start, stop = context.request.offset, context.request.offset + context.limit
    results = (await context.call_each(call, query)).results
    rows = [
        f"- {hit.title}{f' ({hit.match})' if hit.match else ''} — {hit.archive}: {uris.path_in_text(hit.path)}"
        for hit in merge_hits(results)
    ]
    if not rows:
        return await no_results_reply(context, query)
    is_complete = len(rows) <= stop and all(hits.total <= stop for hits in results.values())
    return context.list_reply("", rows[start:stop], is_complete=is_complete)


async def _read_section(context: QueryContext, slots: Slots) -> Reply:
    archive = await context.archive_with_title(slots["title"])
    request = context.request
    start = request.content_offset
    name = slots.get("section") or slots["heading"]
    call = ReadSection(slots["title"], name, context.max_chars, offset=start, compact=request.compact)
    section = await reading.read_or_closest(context.app, archive, call)
    source = _source(archive, section, section.section)
    text, total = section.content, section.characters
    if request.max_tokens:
        text = tokens.truncate(text, context.tokens_left(f"{continuation_line(total, total)}\n\n{source.line}"))
    stop = start + len(text)
    if stop >= total:
        return Reply(f"{text}\n\n{source.line}", (source.line,), cited=(source,))
    continuation = request.model_copy(update={"content_offset": stop})
    text = f"{text}\n\n{continuation_line(stop, total)}\n\n{source.line}"
    return Reply(text, (source.line,), continuation, cited=(source,))


async def _find_words(context: QueryContext, slots: Slots) -> Reply:
    archive = await context.archive_with_title(slots["title"])
    request = context.request
    call = FindText(
        slots["title"], slots["words"], request.offset, context.limit, _MATCHES_CHARS, compact=request.compact
    )
    found = await reading.read_or_closest(context.app, archive, call)
    words, title, note = safe_line(found.find, 200), safe_line(found.title, 200), found.note or ""
    if not found.total:
        text = "\n".join(filter(None, (f"No line of the article {title} has {words!r}.", note)))
        return replace(context.text_reply(text, _source(archive, found)), is_empty=True)
    rows = [f"{match.line} (content_offset={match.content_offset})" for match in found.matches]
    count = "1 line has" if found.total == 1 else f"{found.total} lines have"
    return context.list_reply(
        f"{count} {words!r}; get article {title} with a content_offset reads on from there:\n",
        rows,
        foot=note,
        source=_source(archive, found),
        is_complete=found.next_offset is None,
    )


async def _show_outline(context: QueryContext, slots: Slots) -> Reply:
    archive = await context.archive_with_title(slots["title"])
    structure = await reading.read_or_closest(context.app, archive, ReadStructure(slots["title"]))
    rows = [f"{'  ' * max(0, heading.level - 2)}- {heading.title}" for heading in structure.headings]
    start, stop = context.request.offset, context.request.offset + (context.request.limit or _OUTLINE_ROWS)
    head = "" if rows else "It has no headings."
    source = _source(archive, structure)
    return context.list_reply(head, rows[start:stop], source=source, is_complete=stop >= len(rows))


async def _read_summary(context: QueryContext, slots: Slots) -> Reply:
    return await _read_summary_in(context, await context.archive_with_title(slots["title"]), slots["title"])


async def _read_summary_in(context: QueryContext, archive: ArchiveFile, path: str) -> Reply:
    summary = await reading.read_or_closest(context.app, archive, ReadSummary(path))
    meanings = [f"- {meaning}" for meaning in summary.meanings or []]
    return context.text_reply("\n".join([summary.summary, *meanings]), _source(archive, summary))


async def _list_related(context: QueryContext, slots: Slots) -> Reply:
    archive = await context.archive_with_title(slots["title"])
    start = context.request.offset
    page = await links.find_related(context.app, archive, slots["title"], start, context.limit)
    rows = [f"- {article.title} ({uris.path_in_text(article.path)})" for article in page.related]
    return _links_reply(context, archive, page, rows, page.total)


async def _list_inbound(context: QueryContext, slots: Slots) -> Reply:
    archive = await context.archive_with_title(slots["title"])
    page = await links.find_inbound(context.app, archive, slots["title"], context.request.offset, context.limit)
    inbound = page.links
    if inbound is None:
        inbound = await links.search_for_title(context.app, archive, page, context.limit)
    rows = [f"- {row.title} ({uris.path_in_text(row.path)})" for row in inbound]
    total = page.total if page.is_complete else len(rows)
    return _links_reply(context, archive, page, rows, total, links.describe_inbound(page))


async def _list_links(context: QueryContext, slots: Slots) -> Reply:
    archive = await context.archive_with_title(slots["title"])
    call = ReadLinks(slots["title"], context.request.offset, context.limit, for_reading=True)
    page = await reading.read_or_closest(context.app, archive, call)
    rows = [f"- {_link_text(link)}" for link in page.links]
    is_first = page.left_out and not context.request.offset
    left_out = f"({page.left_out} pictures, repeats and missing pages left out)" if is_first else ""
    return _links_reply(context, archive, page, rows, page.total, left_out)


def _link_text(link: LinkRow) -> str:
    """Return a link as it can be handed back: its title, and its text if that is another."""
    target = link.url or link.title or link.path or ""
    return target if title_key(link.text) == title_key(target) else f"{link.text} → {target}"


def _links_reply(
    context: QueryContext, archive: ArchiveFile, entry: EntryResult, rows: Sequence[str], total: int, foot: str = ""
) -> Reply:
    head = "" if rows else "There are none."
    is_complete = context.request.offset + context.limit >= total
    return context.list_reply(head, rows, foot=foot, source=_source(archive, entry), is_complete=is_complete)


async def _read_summaries(context: QueryContext, slots: Slots) -> Reply:
    titles = split_list(slots["titles"])[:_MAX_SUMMARIES]
    default = DEFAULT_TOKENS * len(titles)
    share = int(context.budget(default)[0] / len(titles))
    title_context = replace(context, request=context.request.model_copy(update={"compact_budget": share}))
    texts = []
    for title in titles:
        try:
            texts.append((await _read_summary(title_context, {"title": title})).text)
        except errors.OpenZimMcpError as error:
            texts.append(error.message)
    return context.text_reply("\n\n".join(texts), default=default)


async def _read_article(context: QueryContext, slots: Slots) -> Reply:
    return await _read_article_in(context, await context.archive_with_title(slots["title"]), slots["title"])


async def _read_article_in(context: QueryContext, archive: ArchiveFile, path: str) -> Reply:
    request = context.request
    # Of several archives, the reply says which one has the article; its URI is a guess until it is read.
    source_tokens = (
        tokens.estimate(_source(archive, EntryResult(path, path, "")).line) if len(context.library) > 1 else 0
    )
    call = ReadArticle(
        path,
        requested=path,
        offset=request.content_offset,
        max_chars=context.max_chars,
        max_tokens=int(request.max_tokens - source_tokens * tokens.SAFETY_FACTOR) if request.max_tokens else None,
        compact=request.compact,
    )
    article = await reading.read_or_closest(context.app, archive, call)
    stop = article.next_offset
    continuation = None if stop is None else request.model_copy(update={"content_offset": stop})
    source = _source(archive, article)
    if not source_tokens:
        return Reply(article.markdown, continuation=continuation, cited=(source,))
    return Reply(f"{article.markdown}\n\n{source.line}", (source.line,), continuation, cited=(source,))


def _source(archive: ArchiveFile, entry: EntryResult | Article, section: SectionHead | None = None) -> excerpts.Source:
    uri = uris.entry_uri(archive.name, entry.path)
    place = (section.title or None, section.id or None) if section else ()
    return excerpts.Source(archive.file_name, entry.path, entry.title, uri, *place)


HANDLERS: dict[str, Callable[[QueryContext, Slots], Awaitable[Reply]]] = {
    "archives": library.list_archives,
    "archives_in": library.list_archives_in,
    "help": library.show_help,
    "languages": library.list_languages,
    "topics": library.list_topics,
    "books": library.list_books,
    "about": library.find_archives_about,
    "articles": library.list_articles,
    "articles_in": library.list_articles,
    "describe": library.describe_archives,
    "health": _show_health,
    "metadata": library.describe_archives,
    "main_page": _show_main_page,
    "random": _show_random_article,
    "picture": _show_image,
    "walk": _browse,
    "browse": _browse,
    "near": places.list_near,
    "found_near": places.find_near_words,
    "in_language": translations.read_in_language,
    "in_languages": translations.list_languages_of,
    "search_all": _search,
    "search": _search,
    "titled": _find_titles,
    "suggestions": _suggest_titles,
    "section": _read_section,
    "part": _read_section,
    "find": _find_words,
    "outline": _show_outline,
    "summary": _read_summary,
    "inbound": _list_inbound,
    "related": _list_related,
    "links": _list_links,
    "batch": _read_summaries,
    "compare": compare,
    "article": _read_article,
    "question": answer_question,
}
