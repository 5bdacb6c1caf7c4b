from __future__ import annotations

import random
from pathlib import Path

import pytest

from openzim_mcp.worker.document import Coordinates
from openzim_mcp.worker.geometry import distance_m
from openzim_mcp.worker.search import subject_index
from openzim_mcp.worker.search.subject_index import SubjectIndex, Subjects, index_path, using_subjects
from openzim_mcp.worker.zim import Archive


def write_index(places: dict[int, Coordinates], items: dict[int, int] | None = None) -> SubjectIndex:
    subjects = Subjects()
    for entry, place in places.items():
        subjects.add_place(entry, place)
    for entry, item in (items or {}).items():
        subjects.add_item(entry, item)
    subjects.write("identity", "uuid")  # type: ignore[arg-type]
    return SubjectIndex(index_path("identity"))  # type: ignore[arg-type]


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
    index = write_index(places)

    for radius in (5_000, 100_000, 2_000_000):
        near = index.find_near(center, radius)
        expected = sorted((distance_m(center, place), number) for number, place in places.items())

        assert [row.entry for row in near.rows] == [number for distance, number in expected if distance <= radius]
        assert near.radius_m == radius


def test_places_are_exact_to_a_centimetre() -> None:
    place = Coordinates(-17.1234567, 179.7654321)
    index = write_index({7: place})

    (row,) = index.find_near(place, 1).rows

    assert (row.entry, row.place) == (7, place)
    assert row.distance_m < 0.02


def test_too_many_places_are_listed_within_a_smaller_radius(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subject_index, "_MAX_NEAR", 100)
    index = write_index({number: Coordinates(0, number / 1000) for number in range(1000)})

    near = index.find_near(Coordinates(0, 0), 200_000)

    assert near.radius_m < 200_000
    assert [row.entry for row in near.rows] == list(range(len(near.rows)))
    assert 30 < len(near.rows) <= 100


def test_items_are_found_by_their_number() -> None:
    index = write_index({}, {1: 243, 2: 90, 3: 243})

    assert index.entries_of_item(243) == [1, 3]
    assert index.entries_of_item(1) == []


def test_damaged_index_is_removed(towns: Archive) -> None:
    Subjects().write(towns.identity, towns.uuid)
    path = Path(index_path(towns.identity))
    with using_subjects(towns) as index:
        assert index is not None
    fresh = Archive("towns", towns._parts)
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 20_000)
    with using_subjects(fresh) as index:
        if index:
            index.find_near(Coordinates(0, 0), 1000)

    assert not path.exists() or index is None


@pytest.mark.parametrize("uuid", ["another"])
def test_index_of_another_archive_is_ignored(towns: Archive, uuid: str) -> None:
    Subjects().write(towns.identity, uuid)

    with using_subjects(towns) as index:
        assert index is None
