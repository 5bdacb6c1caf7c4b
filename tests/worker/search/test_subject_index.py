from __future__ import annotations

import random
import sqlite3

import pytest

from openzim_mcp.worker.document import Coordinates
from openzim_mcp.worker.geometry import distance_m
from openzim_mcp.worker.search import subject_index
from openzim_mcp.worker.search.subject_index import add_items, add_places, entries_of_item, find_near


def write_places(places: dict[int, Coordinates]) -> sqlite3.Connection:
    database = sqlite3.connect(":memory:")
    database.executescript(subject_index.SCHEMA)
    add_places(database, places.items())
    return database


@pytest.mark.parametrize(
    "center", [Coordinates(0, 180), Coordinates(-16.8, -179.99), Coordinates(89.99, 10), Coordinates(-90, 0)]
)
def test_nearest_places_equal_a_slow_reference(center: Coordinates) -> None:
    numbers = random.Random(2)
    places = {
        number: Coordinates(
            max(-90.0, min(90.0, center.latitude + numbers.gauss(0, 1))),
            (center.longitude + numbers.gauss(0, 1) * numbers.choice([1, 30]) + 540) % 360 - 180,
        )
        for number in range(3000)
    }
    database = write_places(places)

    for radius in (5_000, 100_000, 2_000_000):
        near = find_near(database, center, radius)
        expected = sorted((distance_m(center, place), number) for number, place in places.items())

        assert [row.entry for row in near.rows] == [number for distance, number in expected if distance <= radius]
        assert near.radius_m == radius


def test_places_are_exact_to_a_centimetre() -> None:
    place = Coordinates(-17.1234567, 179.7654321)
    database = write_places({7: place})

    (row,) = find_near(database, place, 1).rows

    assert (row.entry, row.place) == (7, place)
    assert row.distance_m < 0.02


def test_too_many_places_are_listed_within_a_smaller_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject_index, "_MAX_NEAR", 100)
    database = write_places({number: Coordinates(0, number / 1000) for number in range(1000)})

    near = find_near(database, Coordinates(0, 0), 200_000)

    assert near.radius_m < 200_000
    assert [row.entry for row in near.rows] == list(range(len(near.rows)))
    assert 30 < len(near.rows) <= 100


def test_items_are_found_by_their_number() -> None:
    database = write_places({})
    add_items(database, [(243, 1), (90, 2), (243, 3)])

    assert entries_of_item(database, 243) == [1, 3]
    assert entries_of_item(database, 1) == []
