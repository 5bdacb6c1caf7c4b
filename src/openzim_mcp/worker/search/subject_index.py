"""What the pages of an archive are about, in an SQLite file in the cache: `archives/IDENTITY/subjects.sqlite`.

    places      id, south, north, west, east   where on Earth the subject of an entry is   (R*Tree of integers)
    items       item, entry                    which item of Wikidata it is: Q243 is 243
    properties  name, value                    version, uuid

The id of a place is the number of its entry. Degrees are stored in ten millionths, a centimetre: the R*Tree of floats
would be off by a metre. The file is written in one step when all pages of the archive were read, by the job that reads
them; a file that is damaged, of another version or of another archive is ignored.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import weakref
from array import array
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import errors, files
from openzim_mcp.worker.document import Coordinates
from openzim_mcp.worker.geometry import boxes_around, distance_m

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.worker.zim import Archive
    from openzim_mcp.zimfile import Identity

VERSION = 1
MAX_ROWS = 4_000_000
"""Places and items that are kept, each: 50 MB of memory while they are collected."""
_FILE_NAME = "subjects.sqlite"
_UNITS_PER_DEGREE = 10_000_000
_MAX_NEAR = 10_000
"""How many places are compared; within a radius that has more, those of a smaller one are listed."""
_MIN_RADIUS_M = 1.0
_SCHEMA = """
CREATE TABLE properties (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID;
CREATE VIRTUAL TABLE places USING rtree_i32(id, south, north, west, east);
CREATE TABLE items (item INTEGER NOT NULL, entry INTEGER NOT NULL, PRIMARY KEY (item, entry)) WITHOUT ROWID;
"""
_IN_BOX = "south >= ? AND north <= ? AND west >= ? AND east <= ?"
_open_indexes: weakref.WeakKeyDictionary[Archive, SubjectIndex] = weakref.WeakKeyDictionary()


class Subjects:
    """Places and items that are collected, a few bytes each."""

    def __init__(self) -> None:
        self._places = array("i")
        self._items = array("I")

    def add_place(self, entry: int, place: Coordinates) -> None:
        """Add where the subject of an entry is."""
        if len(self._places) < 3 * MAX_ROWS:
            units = (round(place.latitude * _UNITS_PER_DEGREE), round(place.longitude * _UNITS_PER_DEGREE))
            self._places.extend((entry, *units))

    def add_item(self, entry: int, item: int) -> None:
        """Add which item of Wikidata the subject of an entry is."""
        if len(self._items) < 2 * MAX_ROWS:
            self._items.extend((item, entry))

    def write(self, identity: Identity, uuid: str) -> None:
        """Write the index of an archive, or raise `OSError` or `sqlite3.Error`."""
        path = index_path(identity)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        part = f"{path}.part"
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        try:
            with contextlib.closing(sqlite3.connect(part, isolation_level=None)) as database:
                self._fill(database, uuid)
            with open(part, "rb+") as file:
                os.fsync(file.fileno())
            os.replace(part, path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(part)

    def _fill(self, database: sqlite3.Connection, uuid: str) -> None:
        # Nobody reads the file before it is complete, and a part of it is worth nothing.
        database.executescript(f"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; {_SCHEMA} BEGIN;")
        places, items = iter(self._places), iter(self._items)
        rows = ((entry, north, north, east, east) for entry, north, east in zip(places, places, places, strict=True))
        database.executemany("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?, ?)", rows)
        database.executemany("INSERT OR IGNORE INTO items VALUES (?, ?)", zip(items, items, strict=True))
        properties = {"version": str(VERSION), "uuid": uuid}
        database.executemany("INSERT INTO properties VALUES (?, ?)", properties.items())
        database.execute("COMMIT")


class NearPlace(NamedTuple):
    """The number of an entry, where its subject is, and how far that is."""

    distance_m: float
    entry: int
    place: Coordinates


class NearPlaces(NamedTuple):
    """Places by distance; without those further than `radius_m`, which is smaller than asked for if it has too many."""

    rows: list[NearPlace]
    radius_m: float


class SubjectIndex:
    """An index that is open for reading; a damaged one raises `sqlite3.Error`."""

    def __init__(self, path: str) -> None:
        self._database = sqlite3.connect(f"{Path(path).absolute().as_uri()}?mode=ro&immutable=1", uri=True)
        weakref.finalize(self, self._database.close)
        self._database.execute("PRAGMA trusted_schema=OFF")
        properties = dict(self._database.execute("SELECT name, value FROM properties"))
        self.version, self.uuid = properties.get("version"), properties.get("uuid")

    def find_near(self, center: Coordinates, radius_m: float) -> NearPlaces:
        """Return the places within a radius, the nearest first."""
        rows = self._places_in(center, radius_m)
        while len(rows) > _MAX_NEAR and radius_m > _MIN_RADIUS_M:
            radius_m /= 2
            rows = self._places_in(center, radius_m)
        measured = (NearPlace(distance_m(center, place), entry, place) for entry, place in rows)
        return NearPlaces(sorted(row for row in measured if row.distance_m <= radius_m), radius_m)

    def _places_in(self, center: Coordinates, radius_m: float) -> list[tuple[int, Coordinates]]:
        """Return the places in the boxes around a circle; one more than `_MAX_NEAR` at most."""
        rows: list[tuple[int, Coordinates]] = []
        for box in boxes_around(center, radius_m):
            limits = [round(degrees * _UNITS_PER_DEGREE) for degrees in box]
            found = self._database.execute(
                f"SELECT id, south, west FROM places WHERE {_IN_BOX} LIMIT ?",  # noqa: S608
                (*limits, _MAX_NEAR + 1 - len(rows)),
            )
            rows += [
                (entry, Coordinates(north / _UNITS_PER_DEGREE, east / _UNITS_PER_DEGREE))
                for entry, north, east in found
            ]
        return rows

    def entries_of_item(self, item: int) -> list[int]:
        """Return the numbers of the entries about an item of Wikidata."""
        return [entry for (entry,) in self._database.execute("SELECT entry FROM items WHERE item = ?", (item,))]


def index_path(identity: Identity) -> str:
    """Return where the index of a file in this state is, or would be."""
    return os.path.join(files.archives_directory(), identity, _FILE_NAME)


@contextlib.contextmanager
def using_subjects(archive: Archive) -> Iterator[SubjectIndex | None]:
    """Give the index of an archive, if there is one; one that turns out to be damaged is removed.

    What is done with a damaged index ends without a result, so that the caller goes on without it.
    """
    index = _open_indexes.get(archive) or _open_valid(archive)
    try:
        yield index
    except (sqlite3.Error, TypeError, ValueError):
        if index is None:
            raise
        _open_indexes.pop(archive, None)
        with contextlib.suppress(OSError):
            os.unlink(index_path(archive.identity))


def _open_valid(archive: Archive) -> SubjectIndex | None:
    path = index_path(archive.identity)
    if not os.path.exists(path):
        return None
    with contextlib.suppress(sqlite3.Error, TypeError, ValueError, errors.ArchiveUnusable):
        index = SubjectIndex(path)
        if (index.version, index.uuid) == (str(VERSION), archive.uuid):
            _open_indexes[archive] = index
            return index
    return None
