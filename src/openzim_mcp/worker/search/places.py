"""What is near a place: by the index of subjects, and with words by the full-text index or by reading."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from openzim_mcp import errors, page_index
from openzim_mcp.calls.places import PlaceHit, PlaceHits, PlaceOfEntry
from openzim_mcp.page_index import PageIndexState
from openzim_mcp.text import normalize
from openzim_mcp.worker.document import Coordinates
from openzim_mcp.worker.geometry import find_direction
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.readers.subject import extract_coordinates
from openzim_mcp.worker.reading import article, resolve
from openzim_mcp.worker.reading.document_titles import title_of
from openzim_mcp.worker.search import subject_index
from openzim_mcp.worker.search.candidate_pages import load_page
from openzim_mcp.worker.search.fulltext import cannot_find_words
from openzim_mcp.worker.search.query import NO_COUNTS, parse_query
from openzim_mcp.worker.search.ranking import rank_passages
from openzim_mcp.worker.search.snippets import make_snippet
from openzim_mcp.worker.search.subject_index import NearPlaces

if TYPE_CHECKING:
    from openzim_mcp.calls.places import FindNear, FindPlace, ReadSnippets
    from openzim_mcp.worker.search.query import ParsedQuery
    from openzim_mcp.worker.search.subject_index import NearPlace
    from openzim_mcp.worker.zim import Archive

_MAX_MATCHES = 20_000
"""How many articles with the words are compared with those that are near: 70 ms in a large archive."""
_MAX_READ_PAGES = 60
"""How many near pages are read for the words, where an index does not tell all pages that have them."""
_SAME_PLACE_M = 1.0


def find_place(archive: Archive, call: FindPlace) -> PlaceOfEntry:
    """Return where the subject of an entry is."""
    item = resolve.require_entry(archive, call.path)
    place = extract_coordinates(archive.read_content(item.path)) if is_page(item.mime_type) else None
    return PlaceOfEntry(item.path, item.title, archive.file_name, (place.latitude, place.longitude) if place else None)


def find_near(archive: Archive, call: FindNear) -> PlaceHits:
    """Return the articles about places within a radius, the nearest first."""
    center = Coordinates(call.latitude, call.longitude)
    state = page_index.read_state(archive.identity)
    state = state or PageIndexState(is_complete=False, done=0, of=archive.counts["articles"])
    near = _places_so_far(archive, center, call.radius_m)
    words = _WordMatcher(archive, call.query, use_index=call.use_index) if call.query and near.rows else None
    rows: list[tuple[NearPlace, str]] = []
    for row in near.rows:
        with contextlib.suppress(errors.ArchiveUnusable):
            path = archive.path_by_id(row.entry)
            if (archive.name, path) != call.left_out and (words is None or words.match(path)):
                rows.append((row, path))
    hits = [_hit(archive, center, row, path) for row, path in rows[: call.limit]]
    is_estimate = near.radius_m < call.radius_m or (words is not None and words.is_cut)
    is_partial = timer.is_cut or not state.is_complete
    return PlaceHits(hits, len(rows), state.done, state.of, total_is_estimate=is_estimate, is_partial=is_partial)


def _places_so_far(archive: Archive, center: Coordinates, radius_m: float) -> NearPlaces:
    """Return the places near another that the index of the pages has; none if it cannot be read."""
    with contextlib.suppress(sqlite3.Error, TypeError), page_index.opened(archive.identity) as database:
        if database is not None:
            return subject_index.find_near(database, center, radius_m)
    return NearPlaces([], radius_m)


def _hit(archive: Archive, center: Coordinates, row: NearPlace, path: str) -> PlaceHit:
    direction = find_direction(center, row.place) if row.distance_m >= _SAME_PLACE_M else None
    return PlaceHit(path, title_of(archive, path), round(row.distance_m), direction)


class _WordMatcher:
    """Tells which pages have all words of a query."""

    def __init__(self, archive: Archive, query: str, *, use_index: bool) -> None:
        self._archive = archive
        can_search = use_index and archive.has_fulltext_index and not cannot_find_words(archive, query)
        self._query = parse_query(archive, query, NO_COUNTS if can_search else None)
        words = " ".join(term.word for term in self._query.terms)
        found = archive.search_paths(words, _MAX_MATCHES) if can_search and words else []
        self._paths = frozenset(found)
        self._pages_left = 0 if can_search and len(found) < _MAX_MATCHES else _MAX_READ_PAGES
        self._reads_pages = self._pages_left > 0
        self.is_cut = False
        """Whether there were pages that nothing tells of whether they have the words."""

    def match(self, path: str) -> bool:
        """Return whether a page has all words, as far as that can be told."""
        if path in self._paths or self._has_stems(self._archive.name_of(path)):
            return True
        if not self._reads_pages:
            return False
        if not self._pages_left or timer.is_late():
            self.is_cut = True
            return False
        self._pages_left -= 1
        return self._has_stems(self._read(path))

    def _has_stems(self, text: str) -> bool:
        return self._query.weights.keys() <= set(self._query.language.stems(normalize(text)))

    def _read(self, path: str) -> str:
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            return article.load_page(self._archive, path)[1].body
        return ""


def read_snippets(archive: Archive, call: ReadSnippets) -> dict[str, str]:
    """Return the passage of each entry that matches a query best; entries without one are left out."""
    query = parse_query(archive, call.query)
    snippets = {path: _snippet(archive, path, query, call.max_chars) for path in call.paths if not timer.is_late()}
    return {path: snippet for path, snippet in snippets.items() if snippet}


def _snippet(archive: Archive, path: str, query: ParsedQuery, max_chars: int) -> str:
    with contextlib.suppress(errors.OpenZimMcpArchiveError):
        item = archive.find_entry(path)
        if item is not None:
            for best in rank_passages([load_page(archive, item, query, 0.0)], query)[:1]:
                return make_snippet(best.passage.text, query, max_chars)
    return ""
