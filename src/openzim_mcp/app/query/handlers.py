"""What each request in plain words does, by the parts that do it, said in a text that fits the budget."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from openzim_mcp import errors, tokens
from openzim_mcp.app import health, search
from openzim_mcp.app.app import Picture
from openzim_mcp.app.query import intents
from openzim_mcp.app.query.reply import BUDGET, Question, Reply
from openzim_mcp.app.reading import read
from openzim_mcp.text import normalize, safe_line
from openzim_mcp.uris import entry_uri
from openzim_mcp.worker.archive import browse, metadata
from openzim_mcp.worker.reading import article, links
from openzim_mcp.worker.reading import section as sections
from openzim_mcp.worker.search import answer as answers
from openzim_mcp.worker.search import survey, titles

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from openzim_mcp.app.app import Payload
    from openzim_mcp.zimfile import ArchiveFile

_BRIEFING_BUDGET = 1200
_OUTLINE = 100
_SNIPPET = 160
_NARROWER = 0.95
_BREADTH = 1.0
"""How far below the best a passage of a briefing may score: it brings several sources."""
_PROMISE = 0.5
"""An archive is read if it promises this share of what the best does."""
_BATCH = 10
_NEAREST = 5
_DESCRIBED = ("title", "description", "language", "creator", "publisher", "date", "flavour")

Slots = dict[str, str]


async def _found(question: Question, query: str) -> tuple[list[Payload], list[str]]:
    """Return what the archives have for a question, and the names of those that could not be asked."""
    asked, known = await _promising(question, query)
    way = {"without_index": answers.ask_without_index, "seconds": question.backend.scan_seconds}
    found = await asked.each(answers.ask, query=query, known=known, **way)
    return list(found.values()), [archive.shown for archive in asked.archives if archive.name not in found]


async def _promising(question: Question, query: str) -> tuple[Question, list[str]]:
    """Return the question to those archives that may answer it, and its words that one of them has as they are."""
    if len(question.archives) == 1:
        return question, []
    surveyed = await question.each(survey.promise, query=query)
    told = {name: row["promise"] for name, row in surveyed.items() if row["promise"] is not None}
    least = _PROMISE * max(told.values(), default=0.0)
    archives = [archive for archive in question.archives if told.get(archive.name, least) >= least]
    known = sorted({word for row in surveyed.values() for word in row["known"]})
    return replace(question, archives=archives), known


async def answer(question: Question, slots: Slots) -> Reply:
    """Answer a question with the passages that hold the answer."""
    found, failed = await _found(question, slots["query"])
    budget, cost = question.budget(BUDGET)
    room = budget - cost(_corrections(found) + _not_searched(failed))
    pieces = answers.choose(found, room, cost)
    if not pieces:
        return await _nothing(question, slots["query"])
    shown = {piece.row["archive"] for piece in pieces}
    note = _corrections([answer for answer in found if answer["archive"] in shown]) + _not_searched(failed)
    return Reply(answers.markdown(pieces) + note)


def _corrections(found: Sequence[Payload]) -> str:
    """Say in a line which words were put right."""
    corrected = {wrong: right for answer in found for wrong, right in answer["corrected"].items()}
    said = ", ".join(f"{wrong} → {right}" for wrong, right in corrected.items())
    return f"\n\n(Read as: {safe_line(said, 200)})" if said else ""


def _not_searched(failed: Sequence[str]) -> str:
    """Say in a line which archives could not be asked."""
    return f"\n\n(Not searched: {', '.join(failed[:_NEAREST])})" if failed else ""


async def _nothing(question: Question, query: str) -> Reply:
    """Say what was tried, and offer the nearest titles."""
    names = ", ".join(archive.shown for archive in question.archives[:_NEAREST]) or "no archive"
    hint = await nearest(question, query) or "Try other words."
    tried = "Tried: the texts with all and with fewer of the words, titles, other spellings."
    return question.said(f"Nothing was found for {safe_line(query, 200)!r} in {names}. {tried} {hint}")


async def nearest(question: Question, text: str) -> str:
    """Name the titles that come next to a text, if there are any."""
    request = {"query": text, "mode": "title", "limit": _NEAREST}
    found = await question.each(titles.find, request=request, offset=0, cursor=None)
    rows = search.merge(list(found.values()), "title")[:_NEAREST]
    return f"The nearest titles: {', '.join(dict.fromkeys(row['title'] for row in rows))}." if rows else ""


async def briefing(question: Question, query: str) -> Payload:
    """Answer from several sources, with numbered citations."""
    found, _ = await _found(question, query)
    asked = [answer["archive"] for answer in found]
    budget, cost = question.budget(_BRIEFING_BUDGET)
    room = budget
    while True:
        said = answers.briefing(query, answers.choose(found, room, cost, _BREADTH), asked)
        size = cost(json.dumps(said, ensure_ascii=False, separators=(",", ":")))
        if size <= budget or not said["passages"]:
            return said
        room *= _NARROWER * budget / size


async def _compared(question: Question, slots: Slots) -> Reply:
    """Give the passage that has all that is compared, if there is one, and passages of each."""
    sides = intents.sides(slots["titles"])
    budget, cost = question.budget(BUDGET)
    pieces: list[answers.Piece] = []
    missing = []
    for wanted in (" ".join(sides), *sides):
        found, _ = await _found(question, wanted)
        names = [wanted] if wanted in sides else sides
        chosen = answers.choose(_with(found, names, pieces), budget / (len(sides) + 1), cost)
        pieces += chosen if wanted in sides else chosen[:1]
        missing += [f"Nothing was found for {safe_line(wanted, 100)!r}."] if wanted in sides and not found else []
    if not pieces:
        return await _nothing(question, " ".join(sides))
    return Reply("\n\n".join([answers.markdown(pieces), *missing]))


def _with(found: Sequence[Payload], names: Sequence[str], given: Sequence[answers.Piece]) -> list[Payload]:
    """Return answers with those passages only that name something, and that were not given yet."""
    seen = {piece.row["text"] for piece in given}

    def fits(row: Payload) -> bool:
        text = normalize(f"{row['title']} {row['text']}")
        return row["text"] not in seen and all(normalize(name) in text for name in names)

    return [answer | {"passages": [row for row in answer["passages"] if fits(row)]} for answer in found]


async def _archives(question: Question, _: Slots) -> Reply:
    listing = await question.backend.scan()
    rows = [
        f"- {archive.shown}{f' (unusable: {archive.problem})' if archive.problem else ''}"
        for archive in listing.archives[question.given.offset :]
    ]
    count = len(listing.archives)
    return question.listed("1 archive:" if count == 1 else f"{count} archives:", rows)


async def _health(question: Question, _: Slots) -> Reply:
    report = (await health.server_report(question.backend))["health"]
    notes = [*report.get("warnings", []), *report.get("recommendations", [])]
    return question.said("\n".join([f"The server is {report['status']}.", *(f"- {note}" for note in notes)]))


async def _metadata(question: Question, slots: Slots) -> Reply:
    if "archive" in slots:
        question = replace(question, archives=[await question.archive(slots["archive"])])
    told = await question.each(metadata.describe)
    if len(told) != 1:
        rows = [f"- {row['archive']}: {_in_short(row)}" for row in told.values()]
        return question.listed(f"{len(rows)} archives:", rows)
    (row,) = told.values()
    named = row["metadata"] | row.get("counts", {})
    rows = [f"- {name}: {named[name]}" for name in (*_DESCRIBED, *row.get("counts", ())) if named.get(name)]
    return question.said("\n".join([f"{row['archive']}:", *rows]))


def _in_short(told: Payload) -> str:
    known = told["metadata"]
    parts = (known.get("title"), known.get("language"), known.get("date"))
    return ", ".join([*map(str, filter(None, parts)), f"{told['counts']['articles']} articles"])


async def _main_page(question: Question, slots: Slots) -> Reply:
    archive = await question.archive(slots.get("archive"))
    path = await question.backend.engine.call(article.main_path, archive)
    if path is None:
        raise errors.EntryNotFound(f"{archive.name!r} has no main page.", hint="Browse namespace C to see what it has.")
    return await _article_in(question, archive, path)


async def _random(question: Question, _: Slots) -> Reply:
    archive = random.choice(question.archives) if question.archives else await question.archive()  # noqa: S311
    return await _summary_in(question, archive, await question.backend.engine.call(article.random_path, archive))


async def _picture(question: Question, slots: Slots) -> Picture | Reply:
    archive = await question.holder(slots["path"])
    found = await read(question.backend, archive, slots["path"], links.picture)
    if found["picture"] is None:
        return question.said("The article has no picture in this archive.", _source(archive, found))
    payload = await read(question.backend, archive, found["picture"], article.binary)
    if payload["mime_type"].startswith("image/"):
        return Picture(payload)
    address = entry_uri(archive.name, payload["path"])
    return Reply(f"{payload['path']}: {payload['mime_type']}, {payload['size']} bytes. Its resource is {address}")


async def _browse(question: Question, slots: Slots) -> Reply:
    limit = min(500, max(1, int(slots.get("number", question.limit))))
    page = {"namespace": slots["namespace"], "limit": limit, "offset": question.given.offset}
    found = await question.backend.run(browse.page, await question.archive(), **page)
    rows = [f"- {row['title']} ({row['path']})" for row in found["entries"]]
    return question.listed(f"{found['total']} entries in namespace {found['namespace']}:", rows, is_all=found["done"])


async def _search(question: Question, slots: Slots) -> Reply:
    if "archive" in slots:
        question = replace(question, archives=[await question.archive(slots["archive"])])
    query, start = slots["query"], question.given.offset
    request = {"query": query, "mode": "fulltext", "limit": start + question.limit}
    snippet = _SNIPPET if question.given.compact else None
    found = await search.everywhere(question.backend, question.archives, request, snippet)
    rows = search.merge(found, "fulltext")[start : start + question.limit]
    if not rows and not start:
        return await _nothing(question, query)
    total = sum(answer.get("total", 0) for answer in found)
    shown = [
        f"{number}. **{row['title']}**{' › ' + row['section'] if row.get('section') else ''} "
        f"({row['path'] if len(found) == 1 else row['archive'] + ': ' + row['path']})\n   {row['snippet']}"
        for number, row in enumerate(rows, start + 1)
    ]
    foot = _not_searched([answer["archive"] for answer in found if "error" in answer]).strip()
    where = f" in {found[0]['archive']}" if len(found) == 1 else ""
    head = f"{total} results for {safe_line(query, 200)!r}{where}:\n"
    return question.listed(head, shown, foot=foot, is_all=total <= start + len(rows))


async def _titled(question: Question, slots: Slots) -> Reply:
    return await _names(question, titles.find, slots["title"], "title")


async def _suggestions(question: Question, slots: Slots) -> Reply:
    return await _names(question, titles.suggest, slots["prefix"], "suggest")


async def _names(question: Question, function: Callable[..., Any], query: str, mode: str) -> Reply:
    """List titles that are, or begin with, some words."""
    start, stop = question.given.offset, question.given.offset + question.limit
    request = {"query": query, "mode": mode, "limit": stop}
    found = list((await question.each(function, request=request, offset=0, cursor=None)).values())
    rows = [
        f"- {row['title']}{' (' + row['match'] + ')' if 'match' in row else ''} — {row['archive']}: {row['path']}"
        for row in search.merge(found, mode)
    ]
    is_all = len(rows) <= stop and all(answer["done"] for answer in found)
    return question.listed("", rows[start:stop], is_all=is_all) if rows else await _nothing(question, query)


async def _section(question: Question, slots: Slots) -> Reply:
    archive = await question.holder(slots["title"])
    start = question.given.content_offset
    page = {"name": slots.get("section") or slots["heading"], "offset": start, "length": question.length}
    found = await read(
        question.backend, archive, slots["title"], sections.section, **page, compact=question.given.compact
    )
    foot = _source(archive, found, found["section"]["title"])
    total = found["characters"]
    text = found["content"]
    if question.tokens:
        text = tokens.truncate(text, question.room(f"{article.going_on(total, total)}\n\n{foot}"))
    stop = start + len(text)
    if stop >= total:
        return Reply(f"{text}\n\n{foot}")
    rest = question.given.model_copy(update={"content_offset": stop})
    return Reply(f"{text}\n\n{article.going_on(stop, total)}\n\n{foot}", rest)


async def _outline(question: Question, slots: Slots) -> Reply:
    archive = await question.holder(slots["title"])
    found = await read(question.backend, archive, slots["title"], article.structure)
    rows = [f"{'  ' * max(0, row['level'] - 2)}- {row['title']}" for row in found["headings"]]
    start, stop = question.given.offset, question.given.offset + (question.given.limit or _OUTLINE)
    head = "" if rows else "It has no headings."
    return question.listed(head, rows[start:stop], foot=_source(archive, found), is_all=stop >= len(rows))


async def _summary(question: Question, slots: Slots) -> Reply:
    return await _summary_in(question, await question.holder(slots["title"]), slots["title"])


async def _summary_in(question: Question, archive: ArchiveFile, path: str) -> Reply:
    found = await read(question.backend, archive, path, article.summary)
    meanings = [f"- {meaning}" for meaning in found.get("meanings") or []]
    return question.said("\n".join([found["summary"], *meanings]), _source(archive, found))


async def _related(question: Question, slots: Slots) -> Reply:
    return await _linked(question, slots, links.related, "related", lambda row: f"- {row['title']} ({row['path']})")


async def _links(question: Question, slots: Slots) -> Reply:
    def shown(row: Payload) -> str:
        return f"- {row['text']} → {row.get('path') or row.get('url')}"

    return await _linked(question, slots, links.outbound, "outbound_links", shown)


async def _linked(
    question: Question, slots: Slots, function: Callable[..., Any], name: str, shown: Callable[[Payload], str]
) -> Reply:
    archive = await question.holder(slots["title"])
    page = {"limit": question.limit, "offset": question.given.offset, "cursor": None}
    found = await read(question.backend, archive, slots["title"], function, **page)
    rows = [shown(row) for row in found[name]]
    head = "" if rows else "There are none."
    return question.listed(head, rows, foot=_source(archive, found), is_all=found["done"])


async def _batch(question: Question, slots: Slots) -> Reply:
    wanted = intents.sides(slots["titles"])[:_BATCH]
    share = int(question.budget(BUDGET * len(wanted))[0] / len(wanted))
    one = replace(question, given=question.given.model_copy(update={"compact_budget": share}))
    texts = []
    for name in wanted:
        try:
            texts.append((await _summary(one, {"title": name})).text)
        except errors.OpenZimMcpError as error:
            texts.append(error.message)
    return question.said("\n\n".join(texts), default=BUDGET * len(wanted))


async def _article(question: Question, slots: Slots) -> Reply:
    return await _article_in(question, await question.holder(slots["title"]), slots["title"])


async def _article_in(question: Question, archive: ArchiveFile, path: str) -> Reply:
    given = question.given
    page = {"requested": path, "offset": given.content_offset, "length": question.length}
    size = {"budget": given.compact_budget, "compact": given.compact}
    found = await read(question.backend, archive, path, article.article, **page, **size)
    stop = found["next_offset"]
    return Reply(found["markdown"], None if stop is None else given.model_copy(update={"content_offset": stop}))


def _source(archive: ArchiveFile, found: Payload, section: str = "") -> str:
    address = entry_uri(archive.name, found["path"])
    return answers.source(found["title"], section, archive.shown, address)


HANDLERS: dict[str, Callable[[Question, Slots], Awaitable[Reply | Picture]]] = {
    "archives": _archives,
    "health": _health,
    "metadata": _metadata,
    "main_page": _main_page,
    "random": _random,
    "picture": _picture,
    "walk": _browse,
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
    "compare": _compared,
    "article": _article,
    "question": answer,
}
