"""`zim_query`: a sentence in, the reading of it that the archives support best, and what that reading asks for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import anyio
from pydantic import ConfigDict, Field, model_validator

from openzim_mcp import cursors, errors, tokens
from openzim_mcp.app.app import Markdown, Picture
from openzim_mcp.app.arguments import check_start, parse
from openzim_mcp.app.query import handlers, intents
from openzim_mcp.app.query.reply import Question, Reply
from openzim_mcp.app.reading import BudgetedArguments
from openzim_mcp.app.search import state
from openzim_mcp.text import safe_line
from openzim_mcp.worker.archive import metadata
from openzim_mcp.worker.search import query as queries

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.app import Backend, Payload
    from openzim_mcp.protocol.tools import Call
    from openzim_mcp.zimfile import ArchiveFile

TOOL = "zim_query"
_IN_ARCHIVE = re.compile(
    r"[\s,]+(?:in|from|on|using|according to)\s+(?:the\s+)?(?P<name>[\w.-]+?(?: [\w.-]+?){0,2}?)(?P<zim>\.zim)?"
    r"(?P<archive>\s+(?:archive|file|zim))?[?.!]*$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W_]+")
_SHORTEST_NAME = 4
_FEW = 8
_LONGEST_LIST = 80
_MOST_ROWS = 100
_LONGEST_NOTE = 240
_OTHERS = 2
_ABOUT_AN_ARTICLE = {"article", "links", "outline", "related", "section", "summary"}
_TITLES_SECONDS = 2.0


class QueryArguments(BudgetedArguments):
    """What `zim_query` takes; a cursor knows its query, but models are told to give one always."""

    model_config = ConfigDict(json_schema_extra={"required": ["query"]})

    query: str = Field("", max_length=1000, description="A question or a request, in plain words.")
    zim_file_path: str | None = Field(None, max_length=1000, description="Ask only this archive.")
    compact_budget: int | str | None = Field(None, description="Tokens at most: a number, small, medium or large.")
    synthesize: bool = Field(False, description="A briefing from several sources, with citations.")
    limit: int | None = Field(None, ge=1, le=_MOST_ROWS, description="Rows of a list (default 10).")
    offset: int = Field(0, ge=0, le=2**32, description="Rows to skip.")
    content_offset: int = Field(0, ge=0, description="Where to go on in an article.")
    cursor: str | None = Field(None, description="From the end of a list: goes on with it.")
    max_content_length: int | None = Field(None, ge=100, description="Characters of an article.")
    compact: bool = Field(True, description="false: longer texts, whole tables.")

    @model_validator(mode="after")
    def _check_combination(self) -> QueryArguments:
        check_start(self.cursor, self.offset)
        if not self.query and not self.cursor:
            raise ValueError("query: required, but not given; ask a question or say what to do")
        return self


async def archives_there(backend: Backend) -> str:
    """Say which archives there are, by what they call themselves, if they are few."""
    there = [archive for archive in (await backend.scan()).archives if not archive.problem]
    titles = await _titles(backend, there) if len(there) <= _FEW else {}
    shared = {title for title, count in Counter(titles.values()).items() if count > 1}
    named = [title if (title := titles.get(a.name)) and title not in shared else a.name for a in there]
    text = f" Archives: {'; '.join(named)}."
    if there and len(there) <= _FEW and tokens.estimate(text) <= _LONGEST_LIST:
        return text
    return f" There are {len(there)} archives." if there else " There are no archives yet."


async def _titles(backend: Backend, archives: Sequence[ArchiveFile]) -> dict[str, str]:
    """Return what archives call themselves, as far as they say so at once."""
    titles: dict[str, str] = {}

    async def ask(archive: ArchiveFile) -> Payload:
        found = await backend.ask(metadata.title, archive)
        titles[archive.name] = found["title"]
        return found

    with anyio.move_on_after(_TITLES_SECONDS):
        await backend.each(archives, ask)
    return titles


async def zim_query(call: Call, given: QueryArguments) -> Payload | Markdown | Picture:
    """Answer a query, and remember where the answer goes on."""
    backend = call.backend
    sound = [archive for archive in (await backend.scan()).archives if not archive.problem]
    connection = call.connection
    question = Question(backend, _continued(given, state(sound)), sound, sound, backend.places.of(connection))
    reply = await _reply(question)
    if not isinstance(reply, Reply):
        return reply
    backend.places.keep(connection, reply.rest)
    return Markdown(reply.text)


def _continued(given: QueryArguments, now: str) -> QueryArguments:
    """Return the call that a cursor continues, or the call itself."""
    if not given.cursor:
        return given
    made_for, start, request = cursors.decode(given.cursor, TOOL)
    cursors.require_same(made_for, now, "archives")
    said = given.model_dump(exclude_unset=True, exclude={"cursor"})
    if next(iter(intents.readings(given.query))).intent == "next":
        del said["query"]
    for name in said.keys() & {"query", "zim_file_path"}:
        cursors.require_same(request.get(name), said[name], name)
    return parse(QueryArguments, request | said | {"offset": start})


async def _reply(question: Question) -> Reply | Payload | Picture:
    """Do what the best supported reading of a query says."""
    text, question = await _addressed(question)
    if question.given.synthesize:
        return await handlers.briefing(question, text)
    evidence = await _evidence(question, intents.titles_in(text))
    best, *others = intents.choose(text, evidence)
    if best.intent == "next":
        return await _reply(_next_page(question, best.slots))
    note = _guessed(best, intents.alternatives(text, evidence)) or await _missing(question, best, others)
    try:
        return await _noted(question, best, note)
    except (errors.EntryNotFound, errors.SectionNotFound):
        if best.title is None or (evidence.get(best.title, 0.0) > 0 and best.intent != "part"):
            raise
    return await handlers.answer(question, {"query": text})


def _guessed(best: intents.Reading, others: Sequence[intents.Reading]) -> str:
    """Say how a query was read if that was a guess, and how to ask for what else it may have meant."""
    if not others:
        return ""
    read = "a question" if best.intent == "question" else intents.said(best)
    return safe_line(f"(Read as: {read}. Or ask: {'; '.join(map(intents.said, others[:_OTHERS]))}.)", _LONGEST_NOTE)


async def _missing(question: Question, best: intents.Reading, others: Sequence[intents.Reading]) -> str:
    """Say that no article has the title that a request named, where its words were looked for instead."""
    named = [reading.title for reading in others if reading.title and reading.intent in _ABOUT_AN_ARTICLE]
    if best.intent != "question" or not named:
        return ""
    near = await handlers.nearest(question, named[0])
    return safe_line(f"(No article is called {named[0]!r}.{f' {near}' if near else ''})", _LONGEST_NOTE)


async def _noted(question: Question, reading: intents.Reading, note: str) -> Reply | Picture:
    """Do what a reading says, and leave room for a note below."""
    given = question.given
    if note and question.tokens:
        left = int(question.tokens - tokens.estimate(f"\n\n{note}") * tokens.SAFETY_FACTOR)
        question = replace(question, given=given.model_copy(update={"compact_budget": left}))
    reply = await handlers.HANDLERS[reading.intent](question, reading.slots)
    if not note or not isinstance(reply, Reply):
        return reply
    rest = reply.rest and reply.rest.model_copy(update={"compact_budget": given.compact_budget})
    return Reply(f"{reply.text}\n\n{note}", rest)


def _next_page(question: Question, slots: dict[str, str]) -> Question:
    """Return the question whose answer goes on where the last one ended."""
    if question.rest is None:
        raise errors.NoNextPage(
            "There is no next page: nothing that goes on was asked for before.",
            hint="Repeat the request with offset or content_offset, or pass the cursor at the end of the list.",
        )
    rows = {"limit": min(_MOST_ROWS, max(1, int(slots["number"][:9])))} if "number" in slots else {}
    return replace(question, given=question.rest.model_copy(update=rows), archives=question.every, rest=None)


async def _evidence(question: Question, names: Sequence[str]) -> dict[str, float]:
    """Return how well the archives know a query as a title, and the titles in it."""
    known = (await question.evidence(list(names), list(names[1:]))).values()
    return {name: max((row[number] for row in known), default=0.0) for number, name in enumerate(names)}


async def _addressed(question: Question) -> tuple[str, Question]:
    """Return a query without the archive that it names, asked of that archive; or the query, asked of all."""
    text = queries.text_of(question.given.query)
    if question.given.zim_file_path:
        return text, replace(question, archives=[await _given(question, question.given.zim_file_path)])
    found = _IN_ARCHIVE.search(text)
    if found is None:
        return text, question
    titles = await _titles(question.backend, question.archives)
    named = [a for a in question.archives if _is_called(found["name"], a.name, titles.get(a.name, ""))]
    if found["zim"] and not named:
        named = [await question.backend.find(found["name"] + found["zim"])]
    is_meant = found["zim"] or found["archive"] or (len(found["name"]) >= _SHORTEST_NAME)
    if not named or not is_meant or (await _evidence(question, [text]))[text] == 1:
        return text, question
    return text[: found.start()], replace(question, archives=named)


async def _given(question: Question, wanted: str) -> ArchiveFile:
    """Return the archive of a name, or of a title as the tool's description has it."""
    try:
        return await question.backend.find(wanted)
    except errors.ArchiveNotFound:
        titles = await _titles(question.backend, question.archives)
        called = [archive for archive in question.archives if titles.get(archive.name) == wanted]
        if len(called) != 1:
            raise
        return called[0]


def _is_called(wanted: str, *names: str) -> bool:
    """Return whether words name an archive: they begin its name or title, or are all in it."""
    words = _WORDS.findall(wanted.casefold())
    known = [_WORDS.findall(name.casefold()) for name in names]
    return any("".join(name).startswith("".join(words)) or set(words) <= set(name) for name in known)
