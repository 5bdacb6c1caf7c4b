"""Parts of an article: a section, a definition, or what stands at an anchor, by whatever name a reader gives it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.calls.reading import SectionName
from openzim_mcp.text import closest, normalize, safe_line, title_key

if TYPE_CHECKING:
    from openzim_mcp.worker.document import Block, Document

Stem = Callable[[str], str]

LEAD = SectionName("lead", "(lead)")
LEAD_NAMES = frozenset({"", "lead"})
_MAX_TITLE_CHARS = 80
# As in "2.1. Prerequisites", "Chapter 3", "§ 7 Fees" and "第3章".
_PRINTED_NUMBER = re.compile(
    r"\W*(?:(?:chapter|section|part|book|appendix|step|kapitel|abschnitt|teil|chapitre|partie|cap[ií]tulo|secci[oó]n|"
    r"parte|capitolo|sezione|глава|часть|раздел|第)[ .]*)?(?P<number>\d+(?:\.\d+)*)(?![\w.]*\d)\W*",
    re.IGNORECASE,
)
_PAGE_NAME = re.compile(
    r"(?:p|pp|pg|page|seite|página|pagina|стр|第)\.?[ =_-]*(\d{1,6})(?!\d)(?:\s*\(.*\))?", re.IGNORECASE
)
_TIME_NAME = re.compile(r"(?:t=)?(?:(\d{1,3}):)?(\d{1,2}):(\d{2})(?:[.,]\d+)?")
_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d+(?:\.\d+)*")


class Part(NamedTuple):
    """A part of an article and the names of its neighbours."""

    name: SectionName
    level: int
    blocks: list[Block]
    previous: SectionName | None
    next: SectionName | None
    parent: SectionName | None
    children: list[SectionName]


def find_parts(document: Document, name: str, stem: Stem) -> list[Part]:
    """Return the parts that a name may mean: one if it is clear, several if all fit it alike, none if nothing does."""
    if name in LEAD_NAMES:
        return [_section_part(document, 0)]
    if place := _place_part(document, name):
        return [place]
    for find_sections in (_by_id, _by_title, _by_folded_name, _by_number):
        if numbers := find_sections(document, name):
            return [_section_part(document, number) for number in numbers]
    if name in document.anchors:
        return [_anchor_part(document, name)]
    if numbers := _by_words(document, name, stem):
        return [_section_part(document, number) for number in numbers]
    return [_anchor_part(document, anchor) for anchor in _anchors_by_words(document, name)]


def find_fragment(document: Document, fragment: str) -> Part | None:
    """Return the part that the fragment of a URL names: the id of a heading, another anchor, or a heading's text."""
    if place := _place_part(document, fragment):
        return place
    for find_sections in (_by_id, None, _by_title, _by_folded_name):
        if find_sections is None:
            if fragment in document.anchors:
                return _anchor_part(document, fragment)
        elif numbers := find_sections(document, fragment):
            return _section_part(document, numbers[0])
    return None


def page_number(name: str) -> int | None:
    """Return the number of the page that a name such as `p. 12` or `page=12` means."""
    match = _PAGE_NAME.fullmatch(name.strip())
    return int(match[1]) if match and int(match[1]) else None


def _place_part(document: Document, name: str) -> Part | None:
    """Return the blocks of a page or from a time on, in a document that has such places."""
    places = list(dict.fromkeys(block.locator for block in document.blocks if block.locator))
    place = _find_place(places, name) if places else None
    if place is None:
        return None
    at = places.index(place)
    numbers = [number for number, block in enumerate(document.blocks) if block.locator == place]
    section = document.blocks[numbers[0]].section
    return Part(
        SectionName(place, place),
        document.sections[section].level + 1,
        [document.blocks[number] for number in numbers],
        _place_name(places, at - 1),
        _place_name(places, at + 1),
        _section_name(document, section) if section else None,
        [],
    )


def _place_name(places: list[str], at: int) -> SectionName | None:
    return SectionName(places[at], places[at]) if 0 <= at < len(places) else None


def _find_place(places: list[str], name: str) -> str | None:
    """Return the place that a name means: the page with that number, or the last time that is not after it."""
    number = page_number(name)
    if number is not None:
        return next((place for place in places if page_number(place) == number), None)
    seconds = _seconds(name)
    if seconds is None:
        return None
    return next((place for place in reversed(places) if (_seconds(place) or 0) <= seconds), None)


def _seconds(name: str) -> int | None:
    match = _TIME_NAME.fullmatch(name.strip())
    return int(match[1] or 0) * 3600 + int(match[2]) * 60 + int(match[3]) if match else None


def _by_id(document: Document, name: str) -> list[int]:
    return [number for number, section in enumerate(document.sections) if number and section.id == name]


def _by_title(document: Document, name: str) -> list[int]:
    return [number for number, section in enumerate(document.sections) if number and section.title == name]


def _by_folded_name(document: Document, name: str) -> list[int]:
    """Return the sections whose title, else whose id, is the name but for case and underscores."""
    folded = _fold(name)
    by_title = [number for number, section in enumerate(document.sections) if number and _fold(section.title) == folded]
    return by_title or [n for n, section in enumerate(document.sections) if n and _fold(section.id) == folded]


def _fold(name: str) -> str:
    return name.casefold().replace("_", " ").strip()


def _by_number(document: Document, name: str) -> list[int]:
    """Return the sections with a number printed in their headings, else the one at that number of the outline."""
    wanted = name.rstrip(".")
    if not _NUMBER.fullmatch(wanted):
        return []
    return [
        number
        for number, section in enumerate(document.sections)
        if number and _printed_number(section.title) == wanted
    ] or _by_outline_number(document, wanted)


def _printed_number(title: str) -> str:
    match = _PRINTED_NUMBER.match(title)
    return match["number"] if match else ""


def _by_outline_number(document: Document, name: str) -> list[int]:
    number = 0
    for part in name.split("."):
        below = document.children(number)
        if not 1 <= int(part[:9]) <= len(below):
            return []
        number = below[int(part) - 1]
    return [number]


def _by_words(document: Document, name: str, stem: Stem) -> list[int]:
    """Return the sections whose titles are the words of a name, start with them, have them in a row, or have them all.

    The first of these that any title fits decides. Words are compared by their stems.
    """
    words = [stem(word) for word in title_key(name.replace("_", " ")).split()]
    if not words:
        return []
    # A number that stands before titles is no word of theirs: "3" fits 3.1 as little as 3.2.
    with_number = not _NUMBER.fullmatch(name)
    titles = {
        number: _stems(section.title, stem, with_number=with_number)
        for number, section in enumerate(document.sections)
        if number
    }
    for fits in (_equals, _starts_with, _contains_row, _contains_all):
        numbers = [number for number, title in titles.items() if any(fits(form, words) for form in title)]
        if numbers:
            return numbers
    return []


def _stems(title: str, stem: Stem, *, with_number: bool) -> list[list[str]]:
    """Return the stems of a title without the number before it, and with it."""
    number = _PRINTED_NUMBER.match(title)
    forms = [title[number.end() :] if number else title, *([title] if number and with_number else ())]
    return [[stem(word) for word in title_key(form).split()] for form in forms]


def _anchors_by_words(document: Document, name: str) -> list[str]:
    """Return the anchors that contain the words of a name in a row: `journal mode` is in `pragma_journal_mode`."""
    words = [] if _NUMBER.fullmatch(name) else _words_of_anchor(name)
    anchors = [anchor for anchor in document.anchors if words and _contains_row(_words_of_anchor(anchor), words)]
    whole = [anchor for anchor in anchors if len(_words_of_anchor(anchor)) == len(words)]
    return whole or anchors


def _words_of_anchor(anchor: str) -> list[str]:
    return _WORD.findall(normalize(anchor))


def _equals(title: list[str], words: list[str]) -> bool:
    return title == words


def _starts_with(title: list[str], words: list[str]) -> bool:
    return title[: len(words)] == words


def _contains_row(title: list[str], words: list[str]) -> bool:
    return any(title[start : start + len(words)] == words for start in range(len(title) - len(words) + 1))


def _contains_all(title: list[str], words: list[str]) -> bool:
    return set(words) <= set(title)


def _section_name(document: Document, number: int) -> SectionName:
    section = document.sections[number]
    return SectionName(section.id, section.title) if number else LEAD


def _section_part(document: Document, number: int) -> Part:
    section = document.sections[number]
    if not number:
        return Part(LEAD, 0, list(document.lead), None, None, None, [])
    siblings = document.children(section.parent or 0)
    position = siblings.index(number)
    return Part(
        _section_name(document, number),
        section.level,
        list(document.blocks[section.start : section.end]),
        _section_name(document, siblings[position - 1]) if position else None,
        _section_name(document, siblings[position + 1]) if position + 1 < len(siblings) else None,
        _section_name(document, section.parent) if section.parent else None,
        [_section_name(document, child) for child in document.children(number)],
    )


def _anchor_part(document: Document, anchor: str) -> Part:
    """Return what stands at an anchor, up to the next heading or the next anchor of the same kind."""
    start, tag = document.anchors[anchor]
    block = document.blocks[start]
    section = document.sections[block.section]
    if block.kind == "heading" and block.section:
        return _section_part(document, block.section)
    names = _anchored_blocks(document, tag)
    numbers = list(names)
    position = numbers.index(start)
    following = numbers[position + 1 : position + 2]
    return Part(
        SectionName(anchor, names[start].title),
        section.level + 1,
        list(document.blocks[start : min([section.stop, *following])]),
        names[numbers[position - 1]] if position else None,
        names[following[0]] if following else None,
        _section_name(document, block.section),
        [],
    )


def _anchored_blocks(document: Document, tag: str) -> dict[int, SectionName]:
    """Return the blocks that have an anchor of one kind, by number: the anchor, and the first line as a title."""
    anchors = {
        number: [anchor.name for anchor in block.anchors if anchor.tag == tag]
        for number, block in enumerate(document.blocks)
        if block.anchors
    }
    return {
        number: SectionName(names[0], _first_line(document.blocks[number]))
        for number, names in anchors.items()
        if names
    }


def _first_line(block: Block) -> str:
    return safe_line(block.text.lstrip("#>-| ").partition("\n")[0].replace("*", "").strip("`"), _MAX_TITLE_CHARS)


def nearest_sections(document: Document, name: str, count: int) -> list[SectionName]:
    """Return the sections whose titles are most like a name, the most similar first."""
    numbers = {normalize(section.title): number for number, section in enumerate(document.sections) if number}
    return [_section_name(document, numbers[key]) for key in closest(normalize(name), numbers, limit=count, cutoff=0.0)]
