from __future__ import annotations

import time

from openzim_mcp.worker.document import Block
from openzim_mcp.worker.readers.html.outline import Outline


def outline(*headings: tuple[str, int]) -> Outline:
    found = Outline()
    for number, (title, level) in enumerate(headings):
        found.open(title, level, "", number + 1)
    return found


def test_headings_of_the_same_name_get_names_of_their_own() -> None:
    found = outline(("A", 2), ("A_2", 2), ("A", 2), ("A", 2), ("A_2", 2))

    assert [section.id for section in found.sections(6)][1:] == ["A", "A_2", "A_3", "A_4", "A_2_2"]


def test_a_section_ends_at_the_next_heading_of_its_level_or_above() -> None:
    found = outline(("A", 2), ("B", 4), ("C", 3), ("D", 2), ("E", 1))

    assert [(section.title, section.parent, section.end) for section in found.sections(9)] == [
        ("", None, 9),
        ("A", 0, 4),
        ("B", 1, 3),
        ("C", 1, 4),
        ("D", 0, 5),
        ("E", 0, 9),
    ]


def test_a_page_of_nothing_but_headings_is_no_bomb() -> None:
    started = time.monotonic()

    found = outline(*[("Same", 2 + number % 2) for number in range(50_000)])
    blocks = [Block("heading", "x", 0)] * 50_001

    assert len({section.id for section in found.finish(blocks)[1]}) == 50_001
    assert time.monotonic() - started < 10
