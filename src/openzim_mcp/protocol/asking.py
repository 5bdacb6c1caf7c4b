"""`zim_query`: what a sentence asks for, done by the parts that do it, and said in plain text."""

from __future__ import annotations

import contextlib
import random
import re
from typing import TYPE_CHECKING, Any

import anyio
from pydantic import Field

from openzim_mcp import errors
from openzim_mcp.content.text import clean
from openzim_mcp.protocol import finding, health
from openzim_mcp.protocol.backend import Markdown, Picture
from openzim_mcp.protocol.retrieval import BudgetedArguments, read
from openzim_mcp.services import answers, articles, browse, intents, links, metadata, queries, search, sections, titles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from openzim_mcp.archive.file import ArchiveFile
    from openzim_mcp.protocol.backend import Backend, Payload
    from openzim_mcp.protocol.tools import Call

_DEFAULT_BUDGET = 600
_BRIEFING_BUDGET = 1200
_ARTICLE_CHARACTERS = 2400
_LISTED = 10
_BATCH = 10
_IN_ARCHIVE = re.compile(r"\s+(?:in|from|on|using)\s+(?:the\s+)?([\w.-]+?)(?:\.zim)?(?:\s+(?:archive|file))?[?.!]*$")


class QueryArguments(BudgetedArguments):
    """What `zim_query` takes."""

    query: str = Field(max_length=1000, description="A question or a request, in plain words.")
    synthesize: bool = Field(False, description="A briefing from several sources, with citations.")
    limit: int | None = Field(None, ge=1, le=100, description="Results of a list.")
    offset: int = Field(0, ge=0, le=2**32, description="Results to skip.")
    content_offset: int = Field(0, ge=0, description="Where to go on in an article.")
    max_content_length: int | None = Field(None, ge=100, description="Characters of an article.")


class Question:
    """One query being answered: what was asked, of which archives."""

    def __init__(self, backend: Backend, given: QueryArguments, archives: Sequence[ArchiveFile]) -> None:
        self.backend = backend
        self.given = given
        self.archives = archives
        self.limit = given.limit or _LISTED

    def budget(self, default: float) -> tuple[float, answers.Cost]:
        """Return how much an answer may have, and how it is counted."""
        asked = self.given.compact_budget
        return (float(asked), answers.by_estimate) if asked else (default, answers.by_characters)

    async def each(self, function: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
        """Run a function on every archive at once; of several, those that fail are left out."""
        found: dict[str, Any] = {}

        async def one(archive: ArchiveFile) -> None:
            with contextlib.suppress(errors.OpenZimMcpArchiveError):
                found[archive.name] = await self.backend.ask(function, archive, **arguments)

        if len(self.archives) == 1:
            return await self._only(function, **arguments)
        with anyio.move_on_after(self.backend.settings.worker.deadline_seconds):
            async with anyio.create_task_group() as tasks:
                for archive in self.archives:
                    tasks.start_soon(one, archive)
        return {archive.name: found[archive.name] for archive in self.archives if archive.name in found}

    async def _only(self, function: Callable[..., Any], **arguments: Any) -> dict[str, Any]:
        (archive,) = self.archives
        try:
            return {archive.name: await self.backend.ask(function, archive, **arguments)}
        except errors.ArchiveQuarantined as closed:
            if closed.details.get("scope") != "index":
                raise
            return {}

    async def archive(self, name: str | None = None) -> ArchiveFile:
        """Return the one archive that is meant, or raise an error that lists them."""
        if name is None and len(self.archives) == 1:
            return self.archives[0]
        return await self.backend.find(name)

    async def holder(self, title: str) -> ArchiveFile:
        """Return the archive that knows a title best."""
        if len(self.archives) == 1:
            return self.archives[0]
        known = await self.each(answers.evidence, names=[title])
        best = max(known, key=lambda name: known[name][0], default=None)
        if best is None or not known[best][0]:
            raise errors.EntryNotFound(
                f"No archive has an article {clean(title, 200)!r}.", hint="Ask for it in other words, or search for it."
            )
        return next(archive for archive in self.archives if archive.name == best)


async def zim_query(call: Call, given: QueryArguments) -> Payload | Markdown | Picture:
    """Answer a query by the reading that the archives support best."""
    text = queries.text_of(given.query)
    backend = call.backend
    if given.zim_file_path:
        archives = [await backend.find(given.zim_file_path)]
    else:
        sound = [archive for archive in (await backend.scan()).archives if not archive.problem]
        text, archives = _named_in(text, sound)
    question = Question(backend, given, archives)
    if given.synthesize:
        return await _briefing(question, text)
    known = await question.each(answers.evidence, names=(names := intents.titles_in(text)))
    evidence = {name: max((row[number] for row in known.values()), default=0.0) for number, name in enumerate(names)}
    for reading in intents.choose(text, evidence):
        try:
            answer = await _HANDLERS[reading.intent](question, reading.slots)
            return Markdown(answer) if isinstance(answer, str) else answer
        except (errors.EntryNotFound, errors.SectionNotFound):
            if reading.title is None or (evidence.get(reading.title, 0.0) > 0 and reading.intent != "part"):
                raise
    return Markdown(await _answer(question, {"query": text}))


def _named_in(text: str, archives: Sequence[ArchiveFile]) -> tuple[str, list[ArchiveFile]]:
    """Return a query without the archive that it names, and that archive; or the query and all of them."""
    found = _IN_ARCHIVE.search(text)
    if found:
        wanted = found[1].lower()
        named = [archive for archive in archives if archive.name.lower().startswith(wanted)]
        explicit = ".zim" in found.group().lower() or "archive" in found.group().lower()
        if named and (explicit or len(wanted) >= len("wiki")):
            return text[: found.start()], named
    return text, list(archives)


async def _found(question: Question, query: str) -> list[Payload]:
    """Return what every archive has for a question."""
    seconds = question.backend.scan_seconds
    found = await question.each(answers.ask, query=query, seconds=seconds)
    closed = [archive for archive in question.archives if archive.name not in found]
    if closed:
        rest = Question(question.backend, question.given, closed)
        found |= await rest.each(answers.ask_without_index, query=query, seconds=seconds)
    return list(found.values())


async def _answer(question: Question, slots: dict[str, str]) -> str:
    query = slots["query"]
    found = await _found(question, query)
    budget, cost = question.budget(_DEFAULT_BUDGET)
    note = _corrections(found)
    pieces = answers.choose(found, budget - cost(note), cost)
    if not pieces:
        return await _nothing(question, query)
    return answers.markdown(pieces) + note


def _corrections(found: Sequence[Payload]) -> str:
    """Say in a line which words were put right."""
    corrected = {wrong: right for answer in found for wrong, right in answer["corrected"].items()}
    said = ", ".join(f"{wrong} → {right}" for wrong, right in corrected.items())
    return f"\n\n(Read as: {clean(said, 200)})" if said else ""


async def _nothing(question: Question, query: str) -> str:
    """Say what was tried, and offer the nearest titles."""
    request = {"query": query, "mode": "title", "limit": 5}
    near = await question.each(titles.find, request=request, offset=0, cursor=None)
    rows = [row["title"] for answer in near.values() for row in answer["results"]][:5]
    names = ", ".join(archive.shown for archive in question.archives[:5]) or "no archive"
    hint = f" The nearest titles: {', '.join(rows)}." if rows else " Try other words."
    return f"Nothing was found for {clean(query, 200)!r} in {names}.{hint}"


async def _briefing(question: Question, query: str) -> Payload:
    found = await _found(question, query)
    pieces = answers.choose(found, *question.budget(_BRIEFING_BUDGET))
    return answers.briefing(query, pieces, [answer["archive"] for answer in found])


async def _archives(question: Question, _: dict[str, str]) -> str:
    listing = await question.backend.scan()
    rows = [
        f"- {archive.shown}{f' (unusable: {archive.problem})' if archive.problem else ''}"
        for archive in listing.archives
    ]
    return "\n".join([f"{len(rows)} archives:", *rows]) if rows else "There are no archives."


async def _health(question: Question, _: dict[str, str]) -> str:
    report = (await health.server_report(question.backend))["health"]
    notes = [*report.get("warnings", []), *report.get("recommendations", [])]
    return "\n".join([f"The server is {report['status']}.", *(f"- {note}" for note in notes)])


async def _metadata(question: Question, slots: dict[str, str]) -> str:
    archive = await question.archive(slots.get("archive"))
    told = await question.backend.ask(metadata.describe, archive)
    wanted = ("title", "description", "language", "creator", "publisher", "date", "flavour")
    rows = [f"- {name}: {told['metadata'][name]}" for name in wanted if told["metadata"].get(name)]
    counts = [f"- {name}: {count}" for name, count in told.get("counts", {}).items()]
    return "\n".join([f"{archive.shown}:", *rows, *counts])


async def _main_page(question: Question, slots: dict[str, str]) -> str:
    archive = await question.archive(slots.get("archive"))
    path = await question.backend.engine.call(articles.main_path, archive)
    if path is None:
        raise errors.EntryNotFound(f"{archive.name!r} has no main page.", hint="Browse namespace C to see what it has.")
    return await _article_in(question, archive, path)


async def _random(question: Question, _: dict[str, str]) -> str:
    archive = random.choice(question.archives) if question.archives else await question.archive()  # noqa: S311
    return await _article_in(question, archive, await question.backend.engine.call(articles.random_path, archive))


async def _picture(question: Question, slots: dict[str, str]) -> Picture | str:
    archive = await question.holder(slots["path"])
    payload = await read(question.backend, archive, slots["path"], articles.binary)
    if payload["mime_type"].startswith("image/"):
        return Picture(payload)
    return f"{payload['path']}: {payload['mime_type']}, {payload['size']} bytes. zim_get with binary=true fetches it."


async def _walk(question: Question, slots: dict[str, str]) -> str:
    return await _browsed(question, slots, browse.walk, cursor=None)


async def _browse(question: Question, slots: dict[str, str]) -> str:
    return await _browsed(question, slots, browse.page, offset=question.given.offset)


async def _browsed(question: Question, slots: dict[str, str], function: Callable[..., Any], **page: Any) -> str:
    limit = int(slots.get("number", question.limit))
    found = await question.backend.run(
        function, await question.archive(), namespace=slots["namespace"], limit=min(500, max(1, limit)), **page
    )
    rows = [f"- {row['title']} ({row['path']})" for row in found["entries"]]
    more = "" if found["done"] else f"\n[offset={question.given.offset + len(rows)} continues]"
    return f"{found['total']} entries in namespace {found['namespace']}:\n" + "\n".join(rows) + more


async def _search(question: Question, slots: dict[str, str]) -> str:
    if "archive" in slots:
        question = Question(question.backend, question.given, [await question.archive(slots["archive"])])
    settings = question.backend.settings
    request = {"query": slots["query"], "mode": "fulltext", "limit": question.given.offset + question.limit}
    page = {"request": request, "offset": 0, "cursor": None, "snippet": settings.content.snippet_length}
    found = list((await question.each(search.fulltext, **page, seconds=question.backend.scan_seconds)).values())
    rows = finding.merge(found, "fulltext")[question.given.offset : question.given.offset + question.limit]
    if not rows:
        return await _nothing(question, slots["query"])
    total = sum(answer["total"] for answer in found)
    start = question.given.offset
    shown = [
        f"{number}. **{row['title']}**{' › ' + row['section'] if row.get('section') else ''} "
        f"({row['archive']}: {row['path']})\n   {row['snippet']}"
        for number, row in enumerate(rows, start + 1)
    ]
    more = f"\n\n[offset={start + len(rows)} continues]" if total > start + len(rows) else ""
    return f"{total} results for {clean(slots['query'], 200)!r}:\n\n" + "\n".join(shown) + more


async def _titled(question: Question, slots: dict[str, str]) -> str:
    request = {"query": slots["title"], "mode": "title", "limit": question.limit}
    found = await question.each(titles.find, request=request, offset=question.given.offset, cursor=None)
    rows = [
        f"- {row['title']} ({row['match']}) — {row['archive']}: {row['path']}"
        for row in finding.merge(list(found.values()), "title")
    ]
    return "\n".join(rows[: question.limit]) if rows else await _nothing(question, slots["title"])


async def _suggestions(question: Question, slots: dict[str, str]) -> str:
    request = {"query": slots["prefix"], "mode": "suggest", "limit": min(50, question.limit)}
    found = await question.each(titles.suggest, request=request, offset=question.given.offset, cursor=None)
    rows = [
        f"- {row['title']} — {row['archive']}: {row['path']}" for row in finding.merge(list(found.values()), "suggest")
    ]
    return "\n".join(rows[: question.limit]) if rows else f"No title begins with {clean(slots['prefix'], 100)!r}."


async def _section(question: Question, slots: dict[str, str]) -> str:
    archive = await question.holder(slots["title"])
    length = question.given.max_content_length or _ARTICLE_CHARACTERS
    name = slots.get("section") or slots["heading"]
    page = {"name": name, "length": length, "compact": True, "budget": question.given.compact_budget}
    found = await read(question.backend, archive, slots["title"], sections.section, **page)
    return _about(archive, found, found["content"], found["section"]["title"])


async def _outline(question: Question, slots: dict[str, str]) -> str:
    archive = await question.holder(slots["title"])
    found = await read(question.backend, archive, slots["title"], articles.structure)
    rows = [f"{'  ' * max(0, row['level'] - 2)}- {row['title']}" for row in found["headings"]]
    return _about(archive, found, "\n".join(rows) or "It has no headings.")


async def _summary(question: Question, slots: dict[str, str]) -> str:
    archive = await question.holder(slots["title"])
    found = await read(question.backend, archive, slots["title"], articles.summary)
    meanings = [f"- {meaning}" for meaning in found.get("meanings") or []]
    return _about(archive, found, "\n".join([found["summary"], *meanings]))


async def _related(question: Question, slots: dict[str, str]) -> str:
    archive = await question.holder(slots["title"])
    page = {"limit": question.limit, "offset": question.given.offset, "cursor": None}
    found = await read(question.backend, archive, slots["title"], links.related, **page)
    return _about(archive, found, "\n".join(f"- {row['title']} ({row['path']})" for row in found["related"]))


async def _links(question: Question, slots: dict[str, str]) -> str:
    archive = await question.holder(slots["title"])
    page = {"limit": question.limit, "offset": question.given.offset, "cursor": None}
    found = await read(question.backend, archive, slots["title"], links.outbound, **page)
    rows = [f"- {row['text']} → {row.get('path') or row.get('url')}" for row in found["outbound_links"]]
    more = "" if found["done"] else f"\n[offset={question.given.offset + len(rows)} continues]"
    return _about(archive, found, "\n".join(rows) + more)


async def _batch(question: Question, slots: dict[str, str]) -> str:
    wanted = [name.strip() for name in re.split(r",|;|\band\b", slots["titles"]) if name.strip()][:_BATCH]
    texts = []
    for name in wanted:
        try:
            texts.append(await _summary(question, {"title": name}))
        except errors.OpenZimMcpError as error:
            texts.append(error.message)
    return "\n\n".join(texts)


async def _article(question: Question, slots: dict[str, str]) -> str:
    return await _article_in(question, await question.holder(slots["title"]), slots["title"])


async def _article_in(question: Question, archive: ArchiveFile, path: str) -> str:
    given = question.given
    page = {
        "requested": path,
        "offset": given.content_offset,
        "length": given.max_content_length or _ARTICLE_CHARACTERS,
        "budget": given.compact_budget,
        "compact": True,
    }
    return str((await read(question.backend, archive, path, articles.article, **page))["markdown"])


def _about(archive: ArchiveFile, found: Payload, text: str, section: str = "") -> str:
    address = answers.uri(archive.name, found["path"])
    return f"{text}\n\n{answers.source(found['title'], section, archive.shown, address)}"


_HANDLERS: dict[str, Callable[[Question, dict[str, str]], Awaitable[str | Picture]]] = {
    "archives": _archives,
    "health": _health,
    "metadata": _metadata,
    "main_page": _main_page,
    "random": _random,
    "picture": _picture,
    "walk": _walk,
    "browse": _browse,
    "search_all": _search,
    "search": _search,
    "titled": _titled,
    "suggestions": _suggestions,
    "section": _section,
    "part": _section,
    "outline": _outline,
    "summary": _summary,
    "related": _related,
    "links": _links,
    "batch": _batch,
    "article": _article,
    "question": _answer,
}
