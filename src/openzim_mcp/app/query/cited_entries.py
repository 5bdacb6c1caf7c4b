"""Queries that cite an entry by its `zim://` URI or a URL of the original site, as results show them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import errors, tokens, uris
from openzim_mcp.app.query.handlers import HANDLERS
from openzim_mcp.app.query.interpret import Interpretation, interpret
from openzim_mcp.app.references import find_archive_of_uri, find_holders, from_reader_url
from openzim_mcp.calls.reading import LocateEntry
from openzim_mcp.text import safe_line, visible_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openzim_mcp.app.query.reply import QueryContext, Reply
    from openzim_mcp.zimfile import ArchiveFile

_CITATION = re.compile(
    r"(?:\[[^\]]*\]\(|<)?(?P<reference>(?:zim|https?)://[^\s<>]+|www\.[^\s<>/]+/[^\s<>]*|[^\s#<>]+#[\w.%~:-]+)>?",
    re.IGNORECASE,
)
_URL_WITHOUT_SCHEME = re.compile(r"(?:[\w-]+\.)+[^\W\d_]{2,}/\S+", re.IGNORECASE)
_END_MARKS = ".,;:!?'\"”»…"
_BRACKETS = {")": "(", "]": "["}
# A word that no pattern has and no typo is corrected to; a letter at its end tells several apart.
_PLACEHOLDER = "Zimentry"
_MAX_CITATIONS = 10
# A line of an answer, copied as it is.
_SOURCE_LINE = re.compile(rf"Source: .*?(?: › (?P<section>.+?))? — .+ — (?P<title>{_PLACEHOLDER}a)")


class _Citation(NamedTuple):
    """What was cited, the archive that has it, and its title; without a title, the archive itself was cited."""

    reference: str
    archive: ArchiveFile
    title: str
    others: tuple[ArchiveFile, ...] = ()


async def follow_citations(context: QueryContext) -> Reply | QueryContext:
    """Reply to a request about a cited entry; a question about one is asked by its title in its archive."""
    text = visible_line(context.request.query)
    if uris.parse_uri(text) == uris.ZimUri():
        return await HANDLERS["archives"](context, {})
    citations: dict[str, _Citation] = {}
    with_placeholders, position = "", 0
    for start, stop, references in await _find_uri_with_blanks(context, text) or _find_references(text):
        citation = await _locate(context, references)
        if citation is None:
            _check_request(f"{text[:start]}{_PLACEHOLDER}a{text[stop:]}", references[-1])
        elif len(citations) < _MAX_CITATIONS:
            placeholder = _PLACEHOLDER + chr(ord("a") + len(citations))
            citations[placeholder] = citation
            with_placeholders += text[position:start] + (placeholder if citation.title else citation.archive.name)
            position = stop
    if not citations:
        return context
    return await _reply_or_ask(context, with_placeholders + text[position:], citations)


def _check_request(text: str, reference: str) -> None:
    """Raise an error if a URL that no archive has is what is asked for; a question may mention any URL."""
    if uris.is_web_url(reference) and _find_request(text, {f"{_PLACEHOLDER}a": None}):
        raise errors.EntryNotFound(
            f"No archive here has the page {safe_line(reference, 100)!r}.",
            hint="Ask for it by its title, or ask a question about it.",
        )


async def _find_uri_with_blanks(context: QueryContext, text: str) -> list[tuple[int, int, list[str]]]:
    """Return a query that is a URI with blanks in its path, which ours do not have but models write."""
    uri = uris.parse_uri(text) if " " in text else None
    if uri is None or uri.path is None or " " in (uri.name or ""):
        return []
    archive = await find_archive_of_uri(context.app, uri)
    entry = await context.app.workers.call(archive, LocateEntry(text))
    return [(0, len(text), [text])] if entry else []


def _find_references(text: str) -> Iterator[tuple[int, int, list[str]]]:
    """Yield where references stand in a text, and what each may be: with or without the punctuation after it."""
    if _URL_WITHOUT_SCHEME.fullmatch(text):
        yield 0, len(text), [text, _strip_end(text)]
        return
    for match in _CITATION.finditer(text):
        reference = match["reference"]
        stripped = _strip_end(reference)
        stop = match.end() if stripped == reference else match.start("reference") + len(stripped)
        yield match.start(), stop, [reference, stripped]


def _strip_end(reference: str) -> str:
    """Return a reference without punctuation after it, and without a bracket that was not opened in it."""
    while reference:
        last = reference[-1]
        is_unopened = last in _BRACKETS and reference.count(last) > reference.count(_BRACKETS[last])
        if last not in _END_MARKS and not is_unopened:
            break
        reference = reference[:-1]
    return reference


async def _locate(context: QueryContext, references: list[str]) -> _Citation | None:
    """Return the entry that the first of some references means; None if no archive has it."""
    references = [await from_reader_url(context.app, row) for row in dict.fromkeys(references) if row]
    uri = uris.parse_uri(references[-1])
    if uri is not None and uri.name is not None:
        archive = await find_archive_of_uri(context.app, uri)
        if uri.path is None:
            return _Citation(references[-1], archive, "")
        for reference in references:
            entry = await context.app.workers.call(archive, LocateEntry(reference))
            if entry:
                return _Citation(reference, archive, entry.title)
        return _Citation(references[-1], archive, uri.path_candidates[0])
    name = context.request.zim_file_path
    archives = [await context.app.find_archive(name)] if name else context.archives
    for reference in references:
        holders = await find_holders(context.app, reference, archives)
        if holders:
            (archive, entry), *others = holders
            return _Citation(reference, archive, entry.title, tuple(archive for archive, _ in others))
    return None


async def _reply_or_ask(context: QueryContext, text: str, citations: dict[str, _Citation]) -> Reply | QueryContext:
    archives = list({row.archive.name: row.archive for row in citations.values()}.values())
    cited = replace(context, archives=archives)
    request = None if context.request.synthesize else _find_request(text, citations)
    if request is not None:
        slots = {name: _restore(value, citations) for name, value in request.slots.items()}
        reply = await HANDLERS[request.intent](cited, slots)
        text = "\n\n".join([reply.text, *_other_archives(citations)])
        is_within = not context.request.max_tokens or tokens.fits(text, context.request.max_tokens)
        return replace(reply, text=text) if is_within else reply
    for placeholder, citation in citations.items():
        text = text.replace(placeholder, citation.title)
    named = {"zim_file_path": archives[0].name} if len(archives) == 1 else {}
    return replace(cited, request=context.request.model_copy(update={"query": text} | named))


def _find_request(text: str, citations: Mapping[str, _Citation | None]) -> Interpretation | None:
    """Return the likeliest request about the cited entries; None if the text is a question."""
    bare = text.strip(_END_MARKS + " )]>")
    if bare in citations:
        return Interpretation("article", {"title": bare}, "title")
    if any(citation and not citation.title and bare == citation.archive.name for citation in citations.values()):
        return Interpretation("metadata")
    line = _SOURCE_LINE.fullmatch(bare)
    if line:
        # Of several sections the first: it has what answers best.
        slots = {name: value.partition("; ")[0] for name, value in line.groupdict().items() if value}
        return Interpretation("section" if "section" in slots else "article", slots, "title")
    requests = [
        row
        for row in interpret(text)
        if row.title in citations or (row.intent == "batch" and any(name in row.slots["titles"] for name in citations))
    ]
    return max(requests, key=lambda row: row.score(dict.fromkeys(citations, 1.0)), default=None)


def _restore(value: str, citations: dict[str, _Citation]) -> str:
    """Put what was cited back into the value of a slot; in a list in quotes, as it may hold commas."""
    if value in citations:
        return citations[value].reference
    for placeholder, citation in citations.items():
        value = value.replace(placeholder, f'"{citation.reference}"')
    return value


def _other_archives(citations: dict[str, _Citation]) -> list[str]:
    names = [archive.file_name for row in citations.values() for archive in row.others]
    return [f"(Also in: {', '.join(names)}.)"] if names else []
