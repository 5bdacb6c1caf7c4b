"""Structured results cut to a budget of tokens: their JSON stays inside it, and they say that they are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from openzim_mcp import tokens
from openzim_mcp.calls.reading import Structure, Summary, TableOfContents, TextMatches
from openzim_mcp.text import continuation_line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openzim_mcp.calls.reading import Section, TextMatch, TocEntry

View = Summary | TableOfContents | Structure | TextMatches
Row = TypeVar("Row")

_FACTS_SHARE = 0.4
"""How much of a budget the facts and meanings beside a summary may take."""
_FRAME_SHARE = 0.6
"""How much of a budget may be spent on what is not text: the names of sections around the one that is read."""
_MIN_TEXT_TOKENS = 10
_ROUNDS = 8


def json_cost(value: object) -> float:
    """Return what a value costs as JSON, by the careful estimate."""
    return tokens.estimate(msgspec.json.encode(value).decode()) * tokens.SAFETY_FACTOR


def take_rows(rows: Sequence[Row], budget: float) -> list[Row]:
    """Return as many of the first rows of a list as fit."""
    total = 0.0
    for count, row in enumerate(rows):
        total += json_cost(row)
        if total > budget:
            return list(rows[:count])
    return list(rows)


def truncate_json(text: str, budget: float) -> str:
    """Return the longest start of a text that fits as JSON, where line ends and quotes cost more."""
    room = budget
    for _ in range(_ROUNDS):
        start = tokens.truncate(text, room) if room > 0 else ""
        cost = json_cost(start)
        if cost <= budget:
            return start
        room *= 0.95 * budget / cost
    return ""


def fit_section(section: Section, start: int, budget: int | None) -> Section:
    """Return a section that fits, and that ends with where it continues if it is cut."""
    if budget is None or json_cost(section) <= budget - _line_cost(section, start):
        return _with_continuation(section, start, section.content)
    line = continuation_line(section.characters, section.characters)
    whole = msgspec.structs.replace(section, content=line, truncated=True, next_offset=section.characters)
    without_children = msgspec.structs.replace(whole, children=[])
    alone = msgspec.structs.replace(without_children, previous=None, next=None, parent=None)
    frames = (whole, without_children, alone)
    frame = next((frame for frame in frames if json_cost(frame) <= budget * _FRAME_SHARE), alone)
    room = budget - json_cost(frame)
    if room >= _MIN_TEXT_TOKENS:
        return _with_continuation(frame, start, truncate_json(section.content, room))
    # The line says what next_offset says: of a budget this small, it would leave nothing for the text.
    room = max(_MIN_TEXT_TOKENS, budget - json_cost(msgspec.structs.replace(frame, content="")))
    content = truncate_json(section.content, room) or section.content[:_MIN_TEXT_TOKENS]
    return msgspec.structs.replace(frame, content=content, next_offset=start + len(content))


def _line_cost(section: Section, start: int) -> float:
    is_cut = start + len(section.content) < section.characters
    return json_cost(continuation_line(section.characters, section.characters)) if is_cut else 0.0


def _with_continuation(section: Section, start: int, content: str) -> Section:
    stop = start + len(content)
    if stop >= section.characters:
        return msgspec.structs.replace(section, content=content, truncated=False, next_offset=None)
    line = continuation_line(stop, section.characters)
    return msgspec.structs.replace(section, content=f"{content}\n\n{line}", truncated=True, next_offset=stop)


def fit_view(view: View, budget: int) -> View:
    """Return a view of an article that fits; where else there is something about it is left out first."""
    if json_cost(view) > budget and not isinstance(view, TextMatches):
        view = msgspec.structs.replace(view, elsewhere=None)
    return view if json_cost(view) <= budget else _FITTERS[type(view)](view, budget)


def _fit_summary(summary: Summary, budget: float) -> Summary:
    facts = dict(take_rows(list((summary.facts or {}).items()), budget * _FACTS_SHARE))
    meanings = take_rows(summary.meanings or [], budget * _FACTS_SHARE)
    frame = msgspec.structs.replace(summary, summary="", facts=facts or None, meanings=meanings or None, truncated=True)
    text = truncate_json(summary.summary, budget - json_cost(frame))
    return msgspec.structs.replace(frame, summary=text)


def _fit_structure(structure: Structure, budget: float) -> Structure:
    total = structure.total_headings or len(structure.headings)
    start = (structure.next_offset or total) - len(structure.headings)
    frame = msgspec.structs.replace(structure, headings=[], total_headings=total, next_offset=total)
    headings = take_rows(structure.headings, budget - json_cost(frame))
    return msgspec.structs.replace(frame, headings=headings, next_offset=start + len(headings))


def _fit_contents(contents: TableOfContents, budget: float) -> TableOfContents:
    # The lower levels are left out first, so that no offset says where the rest starts.
    total = contents.total_headings or count_headings(contents.toc)
    frame = msgspec.structs.replace(contents, toc=[], total_headings=total, next_offset=None)
    return msgspec.structs.replace(frame, toc=take_headings(contents.toc, budget - json_cost(frame)))


def _fit_matches(found: TextMatches, budget: float) -> TextMatches:
    start = (found.total if found.next_offset is None else found.next_offset) - len(found.matches)
    frame = msgspec.structs.replace(found, matches=[], next_offset=found.total)
    room = budget - json_cost(frame)
    matches = take_rows(found.matches, room) or [_shorten_match(found.matches[0], room)]
    stop = start + len(matches)
    return msgspec.structs.replace(frame, matches=matches, next_offset=stop if stop < found.total else None)


def _shorten_match(match: TextMatch, budget: float) -> TextMatch:
    room = budget - json_cost(msgspec.structs.replace(match, text="")) - _MIN_TEXT_TOKENS
    return msgspec.structs.replace(match, text=f"{truncate_json(match.text, max(_MIN_TEXT_TOKENS, room)).strip()} …")


_FITTERS: dict[type, Callable[..., View]] = {
    Summary: _fit_summary,
    Structure: _fit_structure,
    TableOfContents: _fit_contents,
    TextMatches: _fit_matches,
}


def count_headings(toc: Sequence[TocEntry]) -> int:
    """Return how many headings a table of contents has."""
    return sum(1 + count_headings(entry.children) for entry in toc)


def take_headings(toc: Sequence[TocEntry], budget: float) -> list[TocEntry]:
    """Return the upper levels of a table of contents that fit; if the first does not, its first headings."""
    depth = _depth(toc)
    while depth > 1 and json_cost(_prune(toc, depth)) > budget:
        depth -= 1
    return take_rows(_prune(toc, depth), budget)


def _depth(toc: Sequence[TocEntry]) -> int:
    return max((1 + _depth(entry.children) for entry in toc), default=0)


def _prune(toc: Sequence[TocEntry], depth: int) -> list[TocEntry]:
    return [
        msgspec.structs.replace(entry, children=_prune(entry.children, depth - 1) if depth > 1 else []) for entry in toc
    ]
