"""What the pages of an archive are about: two tables of the index of its pages (`page_index.py`).

    places      id, south, north, west, east   where on Earth the subject of an entry is   (R*Tree of integers)
    items       item, entry                    which item of Wikidata it is: Q243 is 243

The id of a place is the number of its entry. Degrees are stored in ten millionths, a centimetre: an R*Tree of floats
would be off by a metre.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.worker.document import Coordinates
from openzim_mcp.worker.geometry import boxes_around, distance_m

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

SCHEMA = """
CREATE VIRTUAL TABLE IF NOT EXISTS places USING rtree_i32(id, south, north, west, east);
CREATE TABLE IF NOT EXISTS items (
    item INTEGER NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (item, entry)
) WITHOUT ROWID;
"""
_UNITS_PER_DEGREE = 10_000_000
_MAX_NEAR = 10_000
"""How many places are compared; within a radius that has more, those of a smaller one are listed."""
_MIN_RADIUS_M = 1.0
_IN_BOX = "SELECT id, south, west FROM places WHERE south >= ? AND north <= ? AND west >= ? AND east <= ? LIMIT ?"


class NearPlace(NamedTuple):
    """The number of an entry, where its subject is, and how far that is."""

    distance_m: float
    entry: int
    place: Coordinates


class NearPlaces(NamedTuple):
    """Places by distance; without those further than `radius_m`, which is smaller than asked for if it has too many."""

    rows: list[NearPlace]
    radius_m: float


def add_places(database: sqlite3.Connection, places: Iterable[tuple[int, Coordinates]]) -> None:
    """Add where the subjects of some entries are."""
    rows = ((entry, *_to_units(place.latitude), *_to_units(place.longitude)) for entry, place in places)
    database.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?)", rows)


def _to_units(degrees: float) -> tuple[int, int]:
    """Return the start and the end of a range that is a point."""
    units = round(degrees * _UNITS_PER_DEGREE)
    return units, units


def find_near(database: sqlite3.Connection, center: Coordinates, radius_m: float) -> NearPlaces:
    """Return the places within a radius, the nearest first."""
    rows = _places_in_boxes(database, center, radius_m)
    while len(rows) > _MAX_NEAR and radius_m > _MIN_RADIUS_M:
        radius_m /= 2
        rows = _places_in_boxes(database, center, radius_m)
    measured = (NearPlace(distance_m(center, place), entry, place) for entry, place in rows)
    return NearPlaces(sorted(row for row in measured if row.distance_m <= radius_m), radius_m)


def _places_in_boxes(
    database: sqlite3.Connection, center: Coordinates, radius_m: float
) -> list[tuple[int, Coordinates]]:
    """Return the places in the boxes around a circle; one more than `_MAX_NEAR` at most."""
    rows: list[tuple[int, Coordinates]] = []
    for box in boxes_around(center, radius_m):
        limits = [round(degrees * _UNITS_PER_DEGREE) for degrees in box]
        rows += [
            (entry, Coordinates(latitude / _UNITS_PER_DEGREE, longitude / _UNITS_PER_DEGREE))
            for entry, latitude, longitude in database.execute(_IN_BOX, (*limits, _MAX_NEAR + 1 - len(rows)))
        ]
    return rows


def add_items(database: sqlite3.Connection, items: Iterable[tuple[int, int]]) -> None:
    """Add which items of Wikidata the subjects of some entries are: the number of the item, then of the entry."""
    database.executemany("INSERT OR IGNORE INTO items VALUES (?, ?)", items)


def entries_of_item(database: sqlite3.Connection, item: int) -> list[int]:
    """Return the numbers of the entries about an item of Wikidata."""
    return [entry for (entry,) in database.execute("SELECT entry FROM items WHERE item = ?", (item,))]
