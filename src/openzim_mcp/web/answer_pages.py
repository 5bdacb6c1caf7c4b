"""The pages of the ask box: the start page, the answer to a question, and the list of articles that match."""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from markupsafe import Markup, escape

from openzim_mcp import addresses, tokens
from openzim_mcp.app.arguments import parse_request
from openzim_mcp.app.health import list_states
from openzim_mcp.app.query.ask import answer_query
from openzim_mcp.app.query.reply import QueryRequest, Reply
from openzim_mcp.app.search import MergedPage, SearchRequest, search, with_archive
from openzim_mcp.web.citations import text_fragment, word_matcher
from openzim_mcp.web.markdown import Renderer
from openzim_mcp.web.page import render_page

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from starlette.requests import Request
    from starlette.responses import Response

    from openzim_mcp.app.caller import Caller
    from openzim_mcp.app.health import ArchiveState
    from openzim_mcp.app.query.excerpts import CitedPassage, Source
    from openzim_mcp.app.search import SearchPage
    from openzim_mcp.web.page import Site

_MAX_QUESTION_CHARS = 2000
_HITS_PER_PAGE = 10
_URI = re.compile(r"zim://[^\s)>\]]+")
_SOURCE_LINE = re.compile(r"^Source: (?P<place>.+) — (?P<archive>\S+) — (?P<uri>zim://\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class SourceCard:
    """The passages of an answer from one article, and where they can be read."""

    title: str
    section: str
    archive: str
    date: str
    address: str
    passages: list[Markup]


@dataclass(frozen=True)
class HitRow:
    """An article that matches a query."""

    title: str
    address: str
    archive: str
    snippet: Markup


async def show_home(site: Site, request: Request, _caller: Caller) -> Response:
    """Show the ask box and the archives."""
    states = await list_states(site.app)
    usable = [state for state in states if state.status != "unusable"]
    return render_page(
        site,
        request.scope,
        "home.html",
        states=sorted(usable, key=lambda state: -(state.articles or 0)),
        articles=sum(state.articles or 0 for state in usable),
        problems=len(states) - len(usable),
        archive_choices=archive_choices(usable),
    )


def archive_choices(states: Sequence[ArchiveState]) -> list[tuple[str, str]]:
    """Return the names and titles of archives for the select element, if there is a choice."""
    usable = [state for state in states if state.status != "unusable"]
    rows = [(state.name.removesuffix(".zim"), state.title or state.name) for state in usable]
    return sorted(rows, key=lambda row: row[1].casefold()) if len(rows) > 1 else []


async def show_answer(site: Site, request: Request, caller: Caller) -> Response:
    """Answer a question; `view=model` shows what a model gets."""
    question = request.query_params.get("q", "").strip()[:_MAX_QUESTION_CHARS]
    archive = request.query_params.get("archive") or None
    if not question:
        return await show_home(site, request, caller)
    arguments = {"query": question} | ({"zim_file_path": archive} if archive else {})
    reply = await answer_query(site.app, parse_request(QueryRequest, arguments), caller)
    assert isinstance(reply, Reply)
    states = await list_states(site.app)
    not_found = reply.text.partition("\n")[0] if reply.answered is False and reply.is_empty else ""
    is_model_view = request.query_params.get("view") == "model"
    renderer = Renderer(is_matched=word_matcher(question))
    return render_page(
        site,
        request.scope,
        "answer.html",
        question=question,
        selected_archive=archive or "",
        archive_choices=archive_choices(states),
        is_model_view=is_model_view,
        reply=reply,
        tokens=round(tokens.estimate(reply.markdown)),
        not_found=not_found,
        cards=[] if is_model_view else _source_cards(reply, states, renderer),
        body=Markup("") if is_model_view or reply.passages or not_found else render_reply(reply.text, renderer),
        answer_address=addresses.ask_address(question, archive),
        model_address=f"{addresses.ask_address(question, archive)}&view=model",
        search_address=f"{addresses.SEARCH}?{_query_string(question, archive)}",
    )


def _source_cards(reply: Reply, states: Sequence[ArchiveState], renderer: Renderer) -> list[SourceCard]:
    """Return the passages of an answer by article."""
    by_name = {state.name: state for state in states}
    groups: dict[str, list[CitedPassage]] = {}
    for passage in reply.passages:
        groups.setdefault(passage.uri, []).append(passage)
    return [_source_card(rows, by_name, renderer) for rows in groups.values()]


def _source_card(rows: Sequence[CitedPassage], states: Mapping[str, ArchiveState], renderer: Renderer) -> SourceCard:
    first = rows[0]
    state = states.get(first.archive)
    sections = dict.fromkeys(row.section for row in rows if row.section)
    return SourceCard(
        title=first.title,
        section="; ".join(sections),
        archive=(state.title if state else None) or first.archive.removesuffix(".zim"),
        date=(state.date if state else None) or "",
        address=passage_address(first, [row.text for row in rows], renderer.is_matched),
        passages=[renderer.blocks(row.text) for row in rows],
    )


def passage_address(source: Source, passages: Sequence[str], is_matched: Callable[[str], bool] | None) -> str:
    """Return the address of an article that scrolls to a passage and marks it (a text fragment)."""
    name = source.archive.removesuffix(".zim")
    fragment = text_fragment(passages, is_matched)
    address = addresses.reader_address(name, source.path, source.section_id or "")
    return address + (fragment if "#" in address else fragment and f"#{fragment}")


def render_reply(text: str, renderer: Renderer) -> Markup:
    """Return a reply that is not an answer from passages: its Markdown, with sources that open in the reader."""
    html: list[Markup] = []
    position = 0
    for line in _SOURCE_LINE.finditer(text):
        html.append(renderer.blocks(text[position : line.start()]))
        shown = Markup('<p class="source"><a href="{}">{}</a> <span class="muted">{}</span></p>')
        html.append(shown.format(addresses.uri_address(line["uri"]), line["place"], line["archive"]))
        position = line.end()
    html.append(_link_uris(renderer.blocks(text[position:])))
    return Markup("\n").join(html)


def _link_uris(html: Markup) -> Markup:
    def link(match: re.Match[str]) -> str:
        address = addresses.uri_address(unescape(match[0]))
        return f'<a href="{escape(address)}">{match[0]}</a>'

    return Markup(_URI.sub(link, str(html)))  # noqa: S704  of escaped text


async def show_search(site: Site, request: Request, caller: Caller) -> Response:
    """List the articles that match a query."""
    query = request.query_params.get("q", "").strip()[:_MAX_QUESTION_CHARS]
    archive = request.query_params.get("archive") or None
    if not query:
        return await show_home(site, request, caller)
    parsed = parse_request(SearchRequest, _search_arguments(request, query, archive))
    await site.app.charge(caller, *parsed.cost())
    page = await search(site.app, parsed, caller)
    states = await list_states(site.app)
    next_address = ""
    if page.next_cursor:
        next_address = f"{addresses.SEARCH}?{_query_string(query, archive, cursor=page.next_cursor)}"
    return render_page(
        site,
        request.scope,
        "search.html",
        question=query,
        selected_archive=archive or "",
        archive_choices=archive_choices(states),
        rows=_hit_rows(page, states),
        next_address=next_address,
    )


def _search_arguments(request: Request, query: str, archive: str | None) -> dict[str, object]:
    where: dict[str, object] = {"zim_file_path": archive} if archive else {"cross_file": True}
    cursor = request.query_params.get("cursor")
    return where | {"query": query, "limit": _HITS_PER_PAGE} | ({"cursor": cursor} if cursor else {})


def _query_string(query: str, archive: str | None, **others: str) -> str:
    return urlencode({"q": query} | ({"archive": archive} if archive else {}) | others)


def _hit_rows(page: SearchPage | MergedPage, states: Sequence[ArchiveState]) -> list[HitRow]:
    titles = {state.name: state.title or state.name for state in states}
    renderer = Renderer()
    merged = (
        page.results
        if isinstance(page, MergedPage)
        else [with_archive(page.archive, hit) for hit in page.results or []]
    )
    return [
        HitRow(
            hit.title,
            addresses.reader_address(hit.archive.removesuffix(".zim"), hit.path),
            titles.get(hit.archive, hit.archive),
            renderer.inline((hit.snippet or "").replace("\n", " ")),
        )
        for hit in merged
    ]
