"""What is near a place: coordinates or a title, a radius, and the articles of one archive or of all within it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import anyio
import msgspec

from openzim_mcp import cursors, errors
from openzim_mcp.app.arguments import require_text, resume
from openzim_mcp.app.caller import LOCAL, Caller
from openzim_mcp.app.page_scans import IndexProgress
from openzim_mcp.app.reading import read_or_closest
from openzim_mcp.app.references import find_holders, locate_entry
from openzim_mcp.app.search import (
    TOOL,
    MergedPage,
    SearchPage,
    SearchRequest,
    fingerprint_archives,
    search,
)
from openzim_mcp.calls import Struct
from openzim_mcp.calls.places import FindNear, FindPlace, PlaceOfEntry, ReadSnippets
from openzim_mcp.text import safe_line, visible_line
from openzim_mcp.uris import parse_uri

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.calls.places import PlaceHits
    from openzim_mcp.pool.outcomes import Outcomes, ProgressCallback
    from openzim_mcp.zimfile import ArchiveFile

_KILOMETRE = 1000
DEFAULT_RADIUS_M = 10_000.0
_MAX_NEAR = 1000
"""How many of the nearest articles are listed."""
_NOT_COMPLETE = "Not all pages have been read for places: ask again later for more."
_SWITCHED_OFF = "Not all pages have been read for places, as indexes are switched off: `openzim-mcp index` reads them."
_MAX_RADIUS_M = 20_040_000.0
"""Half of the way around the Earth: everywhere."""
_MAX_HOLDERS = 8
"""In how many archives with an article of the title coordinates are looked for."""
METRES_BY_UNIT = {"m": 1.0, "km": 1000.0, "mi": 1609.344}
_RADIUS = re.compile(r"(?:^|[\s,;]+)(\d{1,6}(?:\.\d{1,6})?)\s*(km|m|mi)\s*$", re.IGNORECASE)
_SMALL_NUMBER = r"(\d{1,2}(?:\.\d{1,9})?)"
_ANGLE = (
    rf"([+-]?\d{{1,3}}(?:\.\d{{1,15}})?)\s*°?\s*(?:{_SMALL_NUMBER}\s*['\u2032]\s*)?(?:{_SMALL_NUMBER}\s*[\"\u2033]\s*)?"
)
_COORDINATES = re.compile(rf"(?:geo:)?\s*{_ANGLE}([NS])?\s*[,;\s]\s*{_ANGLE}([EW])?", re.IGNORECASE)
_NEGATIVE_SIDES = ("S", "W")


class Center(Struct, frozen=True):
    """The middle of a circle and its radius; with a title, the article that has these coordinates."""

    latitude: float
    longitude: float
    radius_m: float
    title: str | None = None
    archive: str | None = None
    path: str | None = None


class NearHit(Struct, frozen=True, kw_only=True):
    """An article about a place, how far it is, and in which direction."""

    archive: str
    path: str
    title: str
    distance_m: int
    direction: str | None = None
    snippet: str | None = None


class NearPage(Struct, frozen=True, kw_only=True):
    """A page of the articles near a place, the nearest first; not `complete` while archives are indexed."""

    near: Center
    query: str | None = None
    archive: str | None = None
    results: list[NearHit]
    total: int
    offset: int
    limit: int
    complete: bool
    progress: IndexProgress | None = None
    next_cursor: str | None
    done: bool
    total_is_estimate: bool = False
    archives_failed: int = 0
    hint: str | None = None


def parse_near(text: str) -> tuple[tuple[float, float] | str, float]:
    """Return the coordinates, or else the title, that a text names, and the radius in metres."""
    text = visible_line(text)
    suffix = _RADIUS.search(text)
    place, radius = text[: suffix.start() if suffix else None].strip(" ,;"), DEFAULT_RADIUS_M
    if suffix:
        radius = float(suffix[1]) * METRES_BY_UNIT[suffix[2].lower()]
    if not place or not 0 < radius <= _MAX_RADIUS_M:
        raise errors.OpenZimMcpValidationError(
            f"near: {safe_line(text, 100)!r} is not a place.",
            hint='Give coordinates ("48.85,2.35"), with a radius ("48.85,2.35,5km"; km, m, mi), or a title.',
            arguments=["near"],
        )
    return parse_coordinates(place) or place, radius


def parse_coordinates(text: str) -> tuple[float, float] | None:
    """Return latitude and longitude in degrees; None if a text is something else, or there is no such place."""
    match = _COORDINATES.fullmatch(text)
    if match is None:
        return None
    latitude, longitude = _to_degrees(*match.groups()[:4]), _to_degrees(*match.groups()[4:])
    if abs(latitude) > 90 or abs(longitude) > 180:  # noqa: PLR2004
        raise errors.OpenZimMcpValidationError(
            f"near: there is no place {safe_line(text, 100)!r}.",
            hint="Latitude (-90 to 90) comes first, then longitude (-180 to 180).",
            arguments=["near"],
        )
    return latitude, longitude


def _to_degrees(degrees: str, minutes: str | None, seconds: str | None, side: str | None) -> float:
    size = abs(float(degrees)) + float(minutes or 0) / 60 + float(seconds or 0) / 3600
    return -size if degrees.startswith("-") or (side or "").upper() in _NEGATIVE_SIDES else size


async def find_center(app: App, text: str, archive: ArchiveFile | None = None, radius_m: float | None = None) -> Center:
    """Return the place that a text names; a title is looked for in that archive first, then in all.

    `radius_m` is the radius if the text is only the place.
    """
    place, radius = parse_near(text) if radius_m is None else (parse_coordinates(text) or text, radius_m)
    if isinstance(place, tuple):
        return Center(*place, radius)
    entry = await _find_place_of_title(app, place, archive)
    if entry.coordinates is None:
        raise errors.PlaceNotFound(
            f"The article {safe_line(entry.title, 100)!r} has no coordinates.",
            hint='Name the article of a place, or give coordinates: near="48.85,2.35,5km".',
        )
    return Center(*entry.coordinates, radius, entry.title, entry.archive, entry.path)


async def _find_place_of_title(app: App, title: str, archive: ArchiveFile | None) -> PlaceOfEntry:
    """Return the first entry of a title that has coordinates, else one that has none."""
    uri = parse_uri(title)
    if uri is None or uri.name is None:
        archives = await app.usable_archives()
        holders = await find_holders(app, title, archives)
        if archive is not None:
            holders.sort(key=lambda holder: holder[0].name != archive.name)
        entries = [await app.workers.call(holder, FindPlace(entry.path)) for holder, entry in holders[:_MAX_HOLDERS]]
        if entries:
            return next((entry for entry in entries if entry.coordinates), entries[0])
    holder, path = await locate_entry(app, title, archive.name if archive else None)
    return await read_or_closest(app, holder, FindPlace(path))


async def run_search(app: App, request: SearchRequest, caller: Caller = LOCAL) -> SearchPage | MergedPage | NearPage:
    """Search for words, or for what is near a place."""
    request = resume(TOOL, request)
    return await (search_near if request.near else search)(app, request, caller)


async def search_near(app: App, request: SearchRequest, caller: Caller = LOCAL) -> NearPage:
    """Search for what is near a place, in one archive or, if none is named, in all."""
    query = require_text(request.query) if request.query else None
    named = await app.find_archive(request.zim_file_path) if request.zim_file_path else None
    archives = [named] if named else (await app.scan()).archives
    if named is None:
        await app.charge(caller, "search", len(archives))
    limit = request.limit or app.settings.content.default_search_limit
    in_cursor = request.in_cursor(limit)
    fingerprint = named.uuid if named else fingerprint_archives(archives)
    start = cursors.start_position(TOOL, request.cursor, request.offset, fingerprint, in_cursor)
    stop = min(start + limit, _MAX_NEAR)
    center = await find_center(app, request.near or "", named)
    outcomes = await find_near(app, archives, center, query, stop, caller.progress)
    if named and outcomes.errors:
        raise outcomes.errors[named.name]
    total = sum(hits.total for hits in outcomes.results.values())
    where: dict[str, object] = {"zim_file_path": named.name} if named else {}
    progress, listed = sum_progress(outcomes.results), min(total, _MAX_NEAR)
    # The list changes while pages are read: its pages would not join.
    cursor = None if progress else cursors.next_cursor(TOOL, fingerprint, stop, listed, where | in_cursor)
    return NearPage(
        near=center,
        query=request.query,
        archive=named.file_name if named else None,
        results=await _add_snippets(app, archives, merge_places(outcomes.results)[start:stop], query),
        total=total,
        offset=start,
        limit=limit,
        complete=progress is None,
        progress=progress,
        next_cursor=cursor,
        done=stop >= listed,
        total_is_estimate=any(hits.total_is_estimate for hits in outcomes.results.values()),
        archives_failed=len(outcomes.errors),
        hint=incomplete_note(app) if progress else None,
    )


async def find_near(
    app: App,
    archives: Sequence[ArchiveFile],
    center: Center,
    query: str | None,
    stop: int,
    progress: ProgressCallback | None = None,
) -> Outcomes[PlaceHits]:
    """Find the nearest articles in some archives; an article that gave the coordinates is left out."""
    left_out = (center.archive.removesuffix(".zim"), center.path) if center.archive and center.path else None
    call = FindNear(center.latitude, center.longitude, center.radius_m, stop, query, left_out)
    return await app.workers.call_each(archives, call, progress=progress)


def merge_places(hits: Mapping[str, PlaceHits]) -> list[NearHit]:
    """Return the articles of archives, given by name, in one list, the nearest first."""
    rows = [
        NearHit(archive=f"{name}.zim", **msgspec.structs.asdict(hit))
        for name, archive_hits in hits.items()
        for hit in archive_hits.results
    ]
    return sorted(rows, key=lambda row: (row.distance_m, row.archive, row.path))


def incomplete_note(app: App) -> str:
    """Return what to do while not all places are known."""
    return _NOT_COMPLETE if app.settings.index.enabled else _SWITCHED_OFF


def sum_progress(hits: Mapping[str, PlaceHits]) -> IndexProgress | None:
    """Return how many pages of some archives have been read; None if all were."""
    if not any(row.is_partial for row in hits.values()):
        return None
    return IndexProgress(sum(row.done for row in hits.values()), sum(row.of for row in hits.values()))


async def _add_snippets(
    app: App, archives: Sequence[ArchiveFile], hits: Sequence[NearHit], query: str | None
) -> list[NearHit]:
    """Add to each article the passage that matches a query."""
    snippets: dict[tuple[str, str], str] = {}

    async def read(archive: ArchiveFile, paths: list[str], words: str) -> None:
        try:
            call = ReadSnippets(paths, words, app.settings.content.snippet_length)
            found = await app.workers.call(archive, call)
        except errors.OpenZimMcpArchiveError:
            return
        snippets.update({(archive.file_name, path): text for path, text in found.items()})

    async with anyio.create_task_group() as tasks:
        for archive in archives if query else ():
            paths = [hit.path for hit in hits if hit.archive == archive.file_name]
            if paths and query:
                tasks.start_soon(read, archive, paths, query)
    return [msgspec.structs.replace(hit, snippet=snippets.get((hit.archive, hit.path))) for hit in hits]


def format_distance(metres: float) -> str:
    """Return a distance as people write it: 529 m, 3.4 km, 12 km."""
    if metres < _KILOMETRE:
        return f"{metres:.0f} m"
    kilometres = metres / _KILOMETRE
    return f"{kilometres:.1f}".removesuffix(".0") + " km" if kilometres < 10 else f"{kilometres:.0f} km"  # noqa: PLR2004
