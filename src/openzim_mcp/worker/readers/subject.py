"""What a page is about, from its bytes: where on Earth, which item of Wikidata, which pages are its translations.

All pages of an archive are read for that in the background, so most are decided by a search for a few bytes, and only
those that may tell a place are parsed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.worker.readers.html.coordinates import find_coordinates, parse_pair
from openzim_mcp.worker.readers.html.embeds import find_refresh
from openzim_mcp.worker.readers.html.tree import parse_tree
from openzim_mcp.worker.readers.stubs import read_place_route

if TYPE_CHECKING:
    from openzim_mcp.worker.document import Coordinates

_POSITION = re.compile(rb'<meta\s+name="geo\.position"\s+content="([^"<>]{1,60})"')
_MAY_BE_PLACE = re.compile(rb"geo\.position|ICBM|icbm|data-lat|[\s\"'=]geo[\"'\s>]|=\s*[\"']?geo:")
"""Every page in which `find_coordinates` finds some has one of these."""
_ROUTE_MARK = b"lat="


def extract_coordinates(raw: bytes) -> Coordinates | None:
    """Return the coordinates that the document of a page has, without reading its text."""
    if _ROUTE_MARK in raw:
        target = find_refresh(raw) or ""
        place = read_place_route(target.partition("#")[2])
        if place is not None:
            return place
    mark = _MAY_BE_PLACE.search(raw)
    if mark is None:
        return None
    position = _POSITION.search(raw)
    is_shown = position is not None and raw.rfind(b"<!--", 0, position.start()) <= raw.rfind(
        b"-->", 0, position.start()
    )
    place = parse_pair(position[1].decode(errors="replace")) if position and is_shown else None
    if place is not None:
        return place
    tree = parse_tree(raw)
    return find_coordinates(tree, raw) if tree is not None else None
