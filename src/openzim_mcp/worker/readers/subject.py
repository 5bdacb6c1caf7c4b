"""What a page is about, from its bytes: where on Earth, which item of Wikidata, which pages are its translations.

All pages of an archive are read for that in the background, so most are decided by a search for a few bytes, and only
those that may tell a place are parsed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.worker.readers.html.coordinates import find_coordinates, parse_pair
from openzim_mcp.worker.readers.html.embeds import find_refresh
from openzim_mcp.worker.readers.html.tree import parse_tree
from openzim_mcp.worker.readers.stubs import read_place_route

if TYPE_CHECKING:
    from openzim_mcp.worker.document import Coordinates

_POSITION = re.compile(rb'<meta\s+name="geo\.position"\s+content="([^"<>]{1,60})"')
_HEAD_BYTES = 65_536
_HEAD_MARKS = (re.compile(rb"ICBM"), re.compile(rb"icbm"))
_GEO = re.compile(rb"geo")
"""An expression finds a rare first letter in half the time that `in` takes."""
_GEO_MARK = re.compile(rb"geo(?<=[\s\"'=]geo)[\"'\s>:]")
_ROUTE_MARK = b"lat="
_ROUTE_BYTES = 16_384
_ITEM_MARK = b"wikidata"
_ITEM = rb"wikidata\.org\\?/(?:wiki|entity)\\?/Q(\d{1,10})\b"
_QUOTED_ITEM = rb'"https?:\\?/\\?/(?:www\.)?' + _ITEM
# The first row that names exactly one item; a row that names several says that the page is about several.
_ITEM_ROWS = (
    re.compile(rb"wikidata\.org\\?/wiki\\?/Special:EntityPage\\?/Q(\d{1,10})\b"),
    re.compile(rb'"mainEntity"\s{0,20}:\s{0,20}(?:\{\s{0,20}"@id"\s{0,20}:\s{0,20})?' + _QUOTED_ITEM),
    re.compile(rb'"sameAs"\s{0,20}:\s{0,20}(?:\[[^\[\]]{0,2000}?)?' + _QUOTED_ITEM),
    # Not those of listings, as Wikivoyage has them: each is a place on the page.
    re.compile(rb"<(?![^<>]{0,2000}\b(?:vcard|listing)\b)[^<>]{0,2000}\sdata-wikidata=[\"']?Q(\d{1,10})\b"),
    # "Edit this at Wikidata" beside a fact, and below the identifiers.
    re.compile(_ITEM + rb"(?:\?[^\"'#<>\s]{0,200})?#"),
    # Not those in the text, which lead to things without an article of their own.
    re.compile(rb"<a\s(?![^<>]{0,2000}\bextiw\b)[^<>]{0,2000}\bhref=[\"']?(?:https?:)?//(?:www\.)?" + _ITEM),
)
_TRANSLATION_MARK = b"hreflang"
_TRANSLATIONS = (
    "link[rel~=alternate][hreflang][href], a[rel~=alternate][hreflang][href], a[hreflang][lang][href], "
    "a.interlanguage-link-target[href], .interlanguage-link a[hreflang][href], nav a[hreflang][href]"
)
_MAX_TRANSLATIONS = 400


class Translation(NamedTuple):
    """The code of a language, and where a page in it is, as on the page."""

    language: str
    href: str


def extract_coordinates(raw: bytes) -> Coordinates | None:
    """Return the coordinates that the document of a page has, without reading its text."""
    head = raw[:_HEAD_BYTES]
    if _ROUTE_MARK in raw[:_ROUTE_BYTES]:
        target = find_refresh(raw) or ""
        place = read_place_route(target.partition("#")[2])
        if place is not None:
            return place
    if not _may_be_place(head, raw):
        return None
    position = _POSITION.search(head)
    is_shown = position is not None and b"<!--" not in head[: position.start()]
    place = parse_pair(position[1].decode(errors="replace")) if position and is_shown else None
    if place is not None:
        return place
    tree = parse_tree(raw)
    return find_coordinates(tree, raw) if tree is not None else None


def _may_be_place(head: bytes, raw: bytes) -> bool:
    """Return whether `find_coordinates` can find some: by fast searches for a few bytes, as most pages have none."""
    if _GEO.search(raw) and (b"geo.position" in head or _GEO_MARK.search(raw)):
        return True
    return b"data-lat" in raw or any(mark.search(head) for mark in _HEAD_MARKS)


def extract_item(raw: bytes) -> int | None:
    """Return the number of the item of Wikidata that a page is about, if it tells exactly one."""
    if _ITEM_MARK not in raw:
        return None
    for row in _ITEM_ROWS:
        items = {int(number) for number in row.findall(raw)}
        if items:
            return items.pop() if len(items) == 1 else None
    return None


def extract_translations(raw: bytes) -> list[Translation]:
    """Return the pages that a page names as itself in other languages, each language once."""
    tree = parse_tree(raw) if _TRANSLATION_MARK in raw else None
    if tree is None:
        return []
    by_language: dict[str, str] = {}
    for node in tree.css(_TRANSLATIONS)[:_MAX_TRANSLATIONS]:
        code = (node.attributes.get("hreflang") or node.attributes.get("lang") or "").strip().lower()
        if code and code != "x-default":
            by_language.setdefault(code, node.attributes.get("href") or "")
    return [Translation(code, href) for code, href in by_language.items() if href]
