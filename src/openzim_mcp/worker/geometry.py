"""Distances and directions on Earth, taken as a sphere, and the boxes of degrees around a place."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from openzim_mcp.worker.document import Coordinates

EARTH_RADIUS_M = 6_371_008.8
_DIRECTIONS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
_POLE, _DATE_LINE = 90.0, 180.0
_MARGIN = 1e-6
"""Degrees that a box is larger than its circle, so that rounding cuts nothing off."""


class Box(NamedTuple):
    """A range of latitudes and of longitudes, in degrees; `west` is not greater than `east`."""

    south: float
    north: float
    west: float
    east: float


def distance_m(first: Coordinates, second: Coordinates) -> float:
    """Return how many metres two places are apart (haversine)."""
    north, south = math.radians(first.latitude), math.radians(second.latitude)
    half_height = math.sin((south - north) / 2)
    half_width = math.sin(math.radians(second.longitude - first.longitude) / 2)
    chord = half_height**2 + math.cos(north) * math.cos(south) * half_width**2
    return 2 * EARTH_RADIUS_M * math.asin(math.sqrt(min(1.0, chord)))


def find_direction(start: Coordinates, end: Coordinates) -> str:
    """Return in which direction the shortest way to a place starts, as N or NE."""
    south, north = math.radians(start.latitude), math.radians(end.latitude)
    turn = math.radians(end.longitude - start.longitude)
    eastward = math.sin(turn) * math.cos(north)
    northward = math.cos(south) * math.sin(north) - math.sin(south) * math.cos(north) * math.cos(turn)
    return _DIRECTIONS[round(math.degrees(math.atan2(eastward, northward)) / 45) % len(_DIRECTIONS)]


def boxes_around(center: Coordinates, radius_m: float) -> list[Box]:
    """Return the boxes that hold every place within a radius: two where they cross the date line."""
    angle = radius_m / EARTH_RADIUS_M
    height = math.degrees(angle) + _MARGIN
    south, north = center.latitude - height, center.latitude + height
    if south <= -_POLE or north >= _POLE:
        return [Box(max(south, -_POLE), min(north, _POLE), -_DATE_LINE, _DATE_LINE)]
    width = math.degrees(math.asin(min(1.0, math.sin(angle) / math.cos(math.radians(center.latitude))))) + _MARGIN
    west, east = center.longitude - width, center.longitude + width
    if west < -_DATE_LINE:
        return [Box(south, north, west + 2 * _DATE_LINE, _DATE_LINE), Box(south, north, -_DATE_LINE, east)]
    if east > _DATE_LINE:
        return [Box(south, north, west, _DATE_LINE), Box(south, north, -_DATE_LINE, east - 2 * _DATE_LINE)]
    return [Box(south, north, west, east)]
