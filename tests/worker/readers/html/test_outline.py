from __future__ import annotations

import time

from openzim_mcp.worker.document import Block
from openzim_mcp.worker.readers.html.outline import Outline


def build_outline(*headings: tuple[str, int]) -> Outline:
    outline = Outline()
    for number, (title, level) in enumerate(headings):
        outline.open_section(title, level, "", number + 1)
    return outline


def test_headings_of_one_name_get_different_ids() -> None:
    outline = build_outline(("A", 2), ("A_2", 2), ("A", 2), ("A", 2), ("A_2", 2))

    assert [section.id for section in outline.build_sections(6)][1:] == ["A", "A_2", "A_3", "A_4", "A_2_2"]


def test_section_ends_at_the_next_heading_of_its_level() -> None:
    outline = build_outline(("A", 2), ("B", 4), ("C", 3), ("D", 2), ("E", 1))

    assert [(section.title, section.parent, section.end) for section in outline.build_sections(9)] == [
        ("", None, 9),
        ("A", 0, 4),
        ("B", 1, 3),
        ("C", 1, 4),
        ("D", 0, 5),
        ("E", 0, 9),
    ]


def test_fifty_thousand_headings_are_outlined_quickly() -> None:
    started = time.monotonic()

    outline = build_outline(*[("Same", 2 + number % 2) for number in range(50_000)])
    blocks = [Block("heading", "x", 0)] * 50_001

    assert len({section.id for section in outline.finish(blocks)[1]}) == 50_001
    assert time.monotonic() - started < 10
