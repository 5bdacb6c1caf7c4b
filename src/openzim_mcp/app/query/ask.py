"""`zim_query`: interpret a query, and reply to the interpretation that fits the archives best."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from openzim_mcp import cursors, errors, tokens
from openzim_mcp.app.archives import archive_titles
from openzim_mcp.app.arguments import parse_request, require_text
from openzim_mcp.app.caller import LOCAL, Caller
from openzim_mcp.app.query import answers, handlers, library
from openzim_mcp.app.query.cited_entries import follow_citations
from openzim_mcp.app.query.interpret import (
    Interpretation,
    find_alternatives,
    interpret,
    rank_interpretations,
    titles_to_score,
)
from openzim_mcp.app.query.links import add_links
from openzim_mcp.app.query.nearest import find_command, find_nearest
from openzim_mcp.app.query.reply import MAX_ROWS, TOOL, QueryContext, QueryRequest, Reply, continuation_cursor
from openzim_mcp.app.search import fingerprint_archives
from openzim_mcp.library.names import match_archive, names_starting_with
from openzim_mcp.text import safe_line, title_key

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.app.query.excerpts import Briefing
    from openzim_mcp.app.search import MergedHit
    from openzim_mcp.zimfile import ArchiveFile

_IN_ARCHIVE = re.compile(
    r"[\s,]+(?:in|from|on|using|according to)\s+(?:the\s+)?(?P<name>[\w.-]+?(?: [\w.-]+?){0,2}?)(?P<zim>\.zim)?"
    r"(?P<archive>\s+(?:archive|file|zim))?[?.!]*$",
    re.IGNORECASE,
)
_CONTINUATION = re.compile(r"\s*\[(?P<name>(?:content_)?offset)=(?P<offset>\d{1,9})\b[^\]]*\]\s*$")
"""The line that says where an answer continues, as a model may hand it back in words."""
_MIN_NAME_CHARS = 4
_MAX_NOTE_CHARS = 240
_ARCHIVES_PER_TOKEN = 10
"""A query without an archive searches all of them: each further group of this size costs one token more."""
_MAX_ALTERNATIVES = 2
_ABOUT_ALL_ARCHIVES = {"near", "found_near", "in_language", "in_languages"}
_ALSO_QUESTIONS = {"part", "found_near"}
"""Requests that are answered as a question where nothing can be found for them."""


async def answer_query(app: App, request: QueryRequest, caller: Caller = LOCAL) -> Reply | Briefing:
    """Answer a query, and remember where the answer continues."""
    archives = await app.usable_archives()
    last = app.continuations.get(caller.connection)
    continuation = last if isinstance(last, QueryRequest) else None
    resumed = _resume(request, fingerprint_archives(archives))
    asked = 1 if resumed.zim_file_path else len(archives)
    await app.charge(caller, "default", 1 + max(0, asked - 1) // _ARCHIVES_PER_TOKEN)
    has_previous = app.continuations.has_answer(caller.connection)
    reply = await _reply(QueryContext(app, resumed, archives, archives, continuation, has_previous))
    if not isinstance(reply, Reply):
        return reply
    app.continuations.put(caller.connection, reply.continuation)
    cursor = continuation_cursor(reply.continuation, archives) if reply.continuation else None
    reply = add_links(reply, caller.base_url, request.max_tokens) if caller.base_url else reply
    return replace(reply, next_cursor=cursor)


def _resume(request: QueryRequest, fingerprint: str) -> QueryRequest:
    """Return the request that a cursor, or the last line of an answer behind the query, continues; or itself."""
    if not request.cursor:
        line = _CONTINUATION.search(request.query)
        if line is None or line.start() == 0:
            return request
        return request.model_copy(update={"query": request.query[: line.start()], line["name"]: int(line["offset"])})
    cursor = cursors.decode(request.cursor, TOOL)
    cursors.require_same(cursor.uuid, fingerprint, "archives")
    arguments = request.model_dump(exclude_unset=True, exclude={"cursor"})
    if interpret(request.query)[0].intent == "next":
        del arguments["query"]
    for name in arguments.keys() & {"query", "zim_file_path"}:
        cursors.require_same(cursor.request.get(name), arguments[name], name)
    return parse_request(QueryRequest, cursor.request | arguments | {"offset": cursor.position})


async def _reply(context: QueryContext) -> Reply | Briefing:
    """Reply to a query: with an entry that it cites, about an archive, or in the archive that it names."""
    followed = await follow_citations(context)
    if isinstance(followed, Reply):
        return followed
    about_archive = await _reply_about_archive(followed)
    if about_archive:
        return about_archive
    text, context = await _split_archive_name(followed)
    if context.request.synthesize:
        return await answers.write_briefing(context, text)
    return await _reply_to_best(context, text)


async def _reply_to_best(context: QueryContext, text: str) -> Reply | Briefing:
    """Reply to the likeliest interpretation of a query."""
    interpretations = interpret(text)
    if len(interpretations) == 1:  # nothing but a question: no title could decide otherwise
        return await answers.answer_question(context, {"query": text})
    scores = await _score_titles(context, titles_to_score(text, interpretations))
    ranked = rank_interpretations(interpretations, scores)
    best = ranked[0]
    if best.intent == "next":
        return await _reply_next(context, best.slots)
    command = find_command(text, ranked, scores)
    nearest = await find_nearest(context, command) if command else None
    if command and nearest:
        return await _reply_about_nearest(context, command, nearest)
    note = _guess_note(best, find_alternatives(ranked, scores)) or await _other_archives_note(context, best)
    requested = command or next((row for row in ranked if row.intent == "article"), None)
    if best.intent == "question" and requested:  # the words of the request are not what is asked about
        best = replace(best, slots={"query": requested.title or text})
        note = f"(No article is called {safe_line(requested.title or '', 100)!r}.)" if command else note
    try:
        return await _reply_with_note(context, best, note)
    except (errors.EntryNotFound, errors.SectionNotFound, errors.PlaceNotFound):
        is_known = best.title is not None and scores.get(best.title, 0.0) > 0
        if (best.title is None or is_known) and best.intent not in _ALSO_QUESTIONS:
            raise
    return await answers.answer_question(context, {"query": text})


async def _reply_about_nearest(context: QueryContext, command: Interpretation, nearest: MergedHit) -> Reply:
    """Reply to a command about the article with the nearest title, and say so."""
    archives = [row for row in context.archives if row.file_name == nearest.archive]
    slots = command.slots | {command.title_slot or "": nearest.path}
    note = f"(No article is called {safe_line(command.title or '', 100)!r}; this is {safe_line(nearest.title, 100)!r}.)"
    is_same = title_key(command.title or "") in {title_key(nearest.title), title_key(nearest.via or "")}
    nearest_command = replace(command, slots=slots)
    return await _reply_with_note(replace(context, archives=archives), nearest_command, "" if is_same else note)


async def _reply_about_archive(context: QueryContext) -> Reply | None:
    """Reply to a request about an archive, or about those in a language, if the query is one."""
    if context.request.synthesize:
        return None
    for row in interpret(require_text(context.request.query)):
        archives = await library.named_archives(context, row) if row.archive_match else []
        if row.intent == "archives_in" or archives:
            reply = await handlers.HANDLERS[row.intent](replace(context, archives=archives), row.slots)
            return reply if isinstance(reply, Reply) else None
    return None


def _guess_note(best: Interpretation, alternatives: Sequence[Interpretation]) -> str:
    """Return a line that says how an ambiguous query was interpreted, and how to ask for the alternatives."""
    if not alternatives:
        return ""
    request = "a question" if best.intent == "question" else best.canonical_request
    requests = "; ".join(alternative.canonical_request for alternative in alternatives[:_MAX_ALTERNATIVES])
    return safe_line(f"(Read as: {request}. Or ask: {requests}.)", _MAX_NOTE_CHARS)


async def _other_archives_note(context: QueryContext, best: Interpretation) -> str:
    """Return a line that names the other archives with an article of the requested title."""
    if best.title is None or len(context.archives) == 1 or best.intent in _ABOUT_ALL_ARCHIVES:
        return ""
    others = (await context.archives_with_title(best.title))[1:]
    names = ", ".join(archive.file_name for archive in others)
    return safe_line(f"(Also in: {names}.)", _MAX_NOTE_CHARS) if names else ""


async def _reply_with_note(context: QueryContext, interpretation: Interpretation, note: str) -> Reply:
    """Reply to an interpretation, with a note below that counts towards the budget."""
    request = context.request
    if note and request.max_tokens:
        tokens_left = int(request.max_tokens - tokens.estimate(f"\n\n{note}") * tokens.SAFETY_FACTOR)
        context = replace(context, request=request.model_copy(update={"compact_budget": tokens_left}))
    reply = await handlers.HANDLERS[interpretation.intent](context, interpretation.slots)
    if not note:
        return reply
    continuation = reply.continuation
    if continuation:
        continuation = continuation.model_copy(update={"compact_budget": request.compact_budget})
    return replace(reply, text=f"{reply.text}\n\n{note}", continuation=continuation)


async def _reply_next(context: QueryContext, slots: dict[str, str]) -> Reply | Briefing:
    """Continue the last answer of the connection."""
    if context.continuation:
        rows = {"limit": min(MAX_ROWS, max(1, int(slots["number"][:9])))} if "number" in slots else {}
        request = context.continuation.model_copy(update=rows)
        return await _reply(replace(context, request=request, archives=context.library, continuation=None))
    if context.has_previous:
        return Reply("That was all: the previous answer was complete.")
    raise errors.NoNextPage(
        "No previous answer is remembered here: repeat the request with the offset or content_offset of its last line."
    )


async def _score_titles(context: QueryContext, titles: Sequence[str]) -> dict[str, float]:
    """Return the best score of each title over all archives; the first, the query itself, may have no typo."""
    scores = (await context.score_titles(list(titles), list(titles[1:]))).values()
    return {title: max((row[number] for row in scores), default=0.0) for number, title in enumerate(titles)}


async def _split_archive_name(context: QueryContext) -> tuple[str, QueryContext]:
    """Split the name of an archive off a query, and restrict the context to that archive."""
    text = require_text(context.request.query)
    if context.request.zim_file_path:
        return text, replace(context, archives=[await context.app.find_archive(context.request.zim_file_path)])
    match = _IN_ARCHIVE.search(text)
    if match is None:
        return text, context
    titles = await archive_titles(context.app, context.archives)
    named = match_archive(context.archives, match["name"])
    archives = [named] if named else _matching_archives(context.archives, titles, match["name"])
    if match["zim"] and not archives:
        archives = [await context.app.find_archive(match["name"] + match["zim"])]
    is_name = match["zim"] or match["archive"] or (len(match["name"]) >= _MIN_NAME_CHARS)
    if not archives or not is_name or (await _score_titles(context, [text]))[text] == 1:
        return text, context
    return text[: match.start()], replace(context, archives=archives)


def _matching_archives(archives: Sequence[ArchiveFile], titles: Mapping[str, str], name: str) -> list[ArchiveFile]:
    """Return the archives that a name may mean: those whose names start with it, else those that contain its words."""
    matching = [
        archive for archive in archives if library.name_matches(name, archive.name, titles.get(archive.name, ""))
    ]
    return names_starting_with(matching, name.replace(" ", "_")) or matching
