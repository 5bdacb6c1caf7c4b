from __future__ import annotations

import itertools
import random

import pytest

from openzim_mcp.worker.document import Coordinates
from openzim_mcp.worker.geometry import boxes_around, distance_m, find_direction

PARIS, LONDON = Coordinates(48.8566, 2.3522), Coordinates(51.5074, -0.1278)


def test_distance_of_known_places() -> None:
    assert distance_m(PARIS, LONDON) == pytest.approx(343_560, abs=500)
    assert distance_m(PARIS, PARIS) == 0
    assert distance_m(Coordinates(0, 179.5), Coordinates(0, -179.5)) == pytest.approx(111_195, abs=5)
    assert distance_m(Coordinates(89.5, 0), Coordinates(89.5, 180)) == pytest.approx(111_195, abs=5)
    assert distance_m(Coordinates(0, 0), Coordinates(0, 180)) == pytest.approx(20_015_115, abs=5)


@pytest.mark.parametrize(
    ("start", "end", "direction"),
    [
        (PARIS, LONDON, "NW"),
        (LONDON, PARIS, "SE"),
        (Coordinates(0, 0), Coordinates(1, 0), "N"),
        (Coordinates(0, 0), Coordinates(-1, 0), "S"),
        (Coordinates(0, 179), Coordinates(0, -179), "E"),
        (Coordinates(0, -179), Coordinates(0, 179), "W"),
        (Coordinates(89, 0), Coordinates(89, 180), "N"),
        (Coordinates(10, 10), Coordinates(11, 11), "NE"),
        (Coordinates(10, 10), Coordinates(9, 9), "SW"),
    ],
)
def test_direction_is_that_of_the_shortest_way(start: Coordinates, end: Coordinates, direction: str) -> None:
    assert find_direction(start, end) == direction


def test_boxes_hold_every_place_within_the_radius() -> None:
    numbers = random.Random(1)
    centers = [
        Coordinates(*pair)
        for pair in itertools.product((-90, -89.99, -60, 0, 45, 89.9, 90), (-180, -179.9, 0, 179.99, 180))
    ]
    for center, radius in itertools.product(centers, (10, 5_000, 300_000, 12_000_000)):
        boxes = boxes_around(center, radius)
        for _ in range(40):
            spread = radius / 111_000
            place = Coordinates(
                max(-90.0, min(90.0, center.latitude + numbers.uniform(-spread, spread))), numbers.uniform(-180, 180)
            )
            if numbers.random() < 0.7:
                longitude = center.longitude + numbers.uniform(-2, 2) * spread
                place = Coordinates(place.latitude, (longitude + 180) % 360 - 180)
            if distance_m(center, place) <= radius:
                assert any(
                    box.south <= place.latitude <= box.north and box.west <= place.longitude <= box.east
                    for box in boxes
                ), (center, radius, place)


def test_boxes_away_from_poles_and_date_line_are_small() -> None:
    (box,) = boxes_around(PARIS, 10_000)

    assert box == pytest.approx((48.7667, 48.9465, 2.2155, 2.4889), abs=0.001)
