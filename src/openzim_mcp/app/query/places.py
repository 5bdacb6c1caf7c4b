"""Requests of `zim_query` about places: what is near an article or coordinates, and what of it has some words."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from openzim_mcp import errors, uris
from openzim_mcp.app.near import (
    DEFAULT_RADIUS_M,
    METRES_BY_UNIT,
    find_center,
    find_near,
    format_distance,
    incomplete_note,
    merge_places,
    sum_progress,
)
from openzim_mcp.app.query.answers import not_searched
from openzim_mcp.app.query.excerpts import Source
from openzim_mcp.app.query.patterns import load_vocabulary, simplify
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from openzim_mcp.app.near import Center, NearHit
    from openzim_mcp.app.query.reply import QueryContext, Reply

_UNITS = {"kilometres": "km", "metres": "m", "miles": "mi"}
"""The names in the vocabulary of the units of a distance."""
_DISTANCE = re.compile(r"(\d+)(?:[.,](\d+))?[\s-]*(\S.*)")


async def list_near(context: QueryContext, slots: dict[str, str]) -> Reply:
    """List what is near a place; with words, what of it has them."""
    query, start = slots.get("query"), context.request.offset
    archive = context.archives[0] if len(context.archives) == 1 else None
    center = await find_center(context.app, slots["title"], archive, parse_distance(slots.get("distance")))
    stop = start + context.limit
    outcomes = await find_near(context.app, context.archives, center, query, stop)
    hits = merge_places(outcomes.results)[start:stop]
    total = sum(row.total for row in outcomes.results.values())
    where = f"within {format_distance(center.radius_m)} of {center.title or slots['title']}"
    what = f" with {safe_line(query, 100)!r}" if query else ""
    scanning = f"({incomplete_note(context.app)})" if sum_progress(outcomes.results) else ""
    failed = not_searched([f"{name}.zim" for name in outcomes.errors]).strip()
    foot = "\n".join(filter(None, (scanning, failed)))
    if not hits and not start:
        text = f"No place{what} is known {where}."
        return replace(context.text_reply("\n\n".join(filter(None, (text, foot)))), is_empty=True)
    return context.list_reply(
        f"{total} {'place' if total == 1 else 'places'}{what} {where}:",
        [_row(hit, is_single=archive is not None) for hit in hits],
        foot=foot,
        source=_source(center),
        is_complete=total <= stop,
    )


async def find_near_words(context: QueryContext, slots: dict[str, str]) -> Reply:
    """List what is near a place and has some words; raise `PlaceNotFound` if there is nothing, as texts may tell."""
    reply = await list_near(context, slots)
    if reply.is_empty:
        raise errors.PlaceNotFound(reply.text, hint="Ask for a larger distance, or in other words.")
    return reply


def parse_distance(text: str | None) -> float:
    """Return a distance in metres; the default one if there is none."""
    match = _DISTANCE.fullmatch(text) if text else None
    if match is None:
        return DEFAULT_RADIUS_M
    unit, vocabulary = simplify(match[3]), load_vocabulary()
    unit = next((short for name, short in _UNITS.items() if unit in vocabulary[name]), unit)
    return float(f"{match[1]}.{match[2] or 0}") * METRES_BY_UNIT[unit] or DEFAULT_RADIUS_M


def _row(hit: NearHit, *, is_single: bool) -> str:
    place = f"{format_distance(hit.distance_m)} {hit.direction or ''}".strip()
    archive = "" if is_single else f"{hit.archive}: "
    return f"- **{hit.title}** — {place} ({archive}{uris.path_in_text(hit.path)})"


def _source(center: Center) -> Source | None:
    """Return the article that told the coordinates."""
    if not (center.archive and center.path and center.title):
        return None
    uri = uris.entry_uri(center.archive.removesuffix(".zim"), center.path)
    return Source(center.archive, center.path, center.title, uri)
