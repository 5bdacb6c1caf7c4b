"""Calls about places on Earth: where the subject of an entry is, and what is near."""

from __future__ import annotations

from openzim_mcp.calls import Call, Struct
from openzim_mcp.calls.reading import EntryCall, EntryResult


class PlaceOfEntry(EntryResult, frozen=True):
    """Where the subject of an entry is: latitude and longitude in degrees, or None if it does not tell."""

    coordinates: tuple[float, float] | None = None


class FindPlace(EntryCall[PlaceOfEntry], frozen=True):
    """Find where the subject of an entry is; no index is needed for that."""

    function = "search.places:find_place"


class PlaceHit(Struct, frozen=True):
    """An article about a place, how far it is, and in which direction; none where it is the same place."""

    path: str
    title: str
    distance_m: int
    direction: str | None = None


class PlaceHits(Struct, frozen=True):
    """The nearest articles that are known so far, how many there are, and how many pages were read for that."""

    results: list[PlaceHit]
    total: int
    done: int = 0
    of: int = 0
    total_is_estimate: bool = False
    is_partial: bool = False
    """Whether something may be found later; such a result is not kept."""


class FindNear(Call[PlaceHits], frozen=True):
    """Find the articles about places within a radius, the nearest first; with a query, those that have its words.

    `left_out` is the name of an archive and the path of an entry in it.
    """

    function = "search.places:find_near"
    uses_index = True
    cached = True
    latitude: float
    longitude: float
    radius_m: float
    limit: int
    query: str | None = None
    left_out: tuple[str, str] | None = None
    use_index: bool = True


class ReadSnippets(Call[dict[str, str]], frozen=True):
    """Read the passages of some entries that match a query best, by path."""

    function = "search.places:read_snippets"
    uses_index = True
    paths: list[str]
    query: str
    max_chars: int
