"""Where on Earth the subject of a page is: from meta tags, microformats, links to maps."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.worker.document import make_coordinates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from openzim_mcp.worker.document import Coordinates

_MARKS = (b"geo.position", b"ICBM", b"geo", b"data-lat")
"""The bytes of a page hold one of these if it may have coordinates."""
_NUMBER = r"([+-]?\d{1,3}(?:\.\d{1,15})?)"
_PAIR = re.compile(rf"\s*{_NUMBER}\s*[;,]\s*{_NUMBER}")
_GEO_LINK = re.compile(rf"geo:{_NUMBER},{_NUMBER}")
_MAX_LINKED_PLACES = 2
"""A page with links to more places is a list of places."""
_METAS = 'meta[name="geo.position"], meta[name="ICBM"], meta[name="icbm"]'


def find_coordinates(tree: LexborHTMLParser, raw: bytes) -> Coordinates | None:
    """Return the coordinates of the subject of a page, if it tells them."""
    if not any(mark in raw for mark in _MARKS):
        return None
    return next((place for place in _places(tree, raw) if place is not None), None)


def _places(tree: LexborHTMLParser, raw: bytes) -> Iterator[Coordinates | None]:
    if b"geo.position" in raw or b"ICBM" in raw or b"icbm" in raw:
        for meta in tree.css(_METAS):
            yield parse_pair(meta.attributes.get("content") or "")
    if b"geo" in raw:
        titled = tree.css("#coordinates .geo, .infobox .geo, .geo")
        for node in titled[:1]:
            yield _read_microformat(node)
    if b"data-lat" in raw:
        for node in tree.css("#coordinates [data-lat][data-lon], .infobox [data-lat][data-lon]")[:1]:
            yield parse_pair(f"{node.attributes.get('data-lat')},{node.attributes.get('data-lon')}")
    if b"geo:" in raw:
        links = {node.attributes.get("href") or "" for node in tree.css('a[href^="geo:"]')}
        places = [match for href in links if (match := _GEO_LINK.match(href))]
        if 0 < len(places) <= _MAX_LINKED_PLACES:
            yield make_coordinates(float(places[0][1]), float(places[0][2]))


def _read_microformat(node: LexborNode) -> Coordinates | None:
    latitude, longitude = node.css_first(".latitude"), node.css_first(".longitude")
    if latitude is not None and longitude is not None:
        return parse_pair(f"{latitude.text()},{longitude.text()}")
    return parse_pair(node.text())


def parse_pair(text: str) -> Coordinates | None:
    """Return the coordinates in a text such as `46.2;6.15`, if there is such a place."""
    match = _PAIR.match(text)
    return make_coordinates(float(match[1]), float(match[2])) if match else None
