from __future__ import annotations

import pytest

from openzim_mcp.worker import render
from openzim_mcp.worker.document import Block
from openzim_mcp.worker.readers.html.reader import read_html

BLOCKS = [
    Block("paragraph", text, 0) for text in ("First paragraph here.", "Second one. It has two.", "x" * 300, "Last.")
]


@pytest.mark.parametrize("length", [1, 7, 30, 60, 100, 1000])
def test_slices_joined_are_the_whole_text(length: int) -> None:
    text, offset = "", 0
    while True:
        piece = render.slice_at_block(BLOCKS, offset, length)
        text += piece.text
        assert len(piece.text) <= length
        if piece.done:
            break
        offset = piece.stop

    assert text == render.join_blocks(BLOCKS)


def test_slice_ends_at_a_block_in_its_second_half() -> None:
    assert render.slice_at_block(BLOCKS, 0, 40).text == "First paragraph here.\n\n"


def test_slice_ends_at_a_sentence_inside_a_block() -> None:
    assert render.slice_at_block(BLOCKS, 23, 15).text == "Second one. "


def collapse(body: str) -> list[str]:
    document = read_html(f"<p>Lead.</p><h2 id='S'>S</h2>{body}".encode(), "x")
    return [block.text for block in render.collapse_large_blocks(document, document.blocks)][2:]


def test_large_table_is_collapsed_to_a_note() -> None:
    rows = "<tr><td>a</td><td>b</td></tr>" * 40
    table = f"<table class='w'><caption>Numbers</caption><tr><th>A</th><th>B</th></tr>{rows}</table>"

    assert collapse(table) == [
        '[Table, Numbers: 40 rows; zim_get_section with section_id="S" and compact=false shows it]'
    ]


def test_small_table_is_not_collapsed() -> None:
    assert collapse("<table class='w'><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>") == [
        "| A | B |\n| --- | --- |\n| 1 | 2 |"
    ]


def test_long_list_shows_its_first_items() -> None:
    (text,) = collapse("<ul>" + "".join(f"<li>item {n}</li>" for n in range(60)) + "</ul>")

    assert text.split("\n")[:2] == ["- item 0", "- item 1"]
    assert text.split("\n")[10:] == [
        '[50 more lines; zim_get_section with section_id="S" and compact=false shows them]'
    ]
