from __future__ import annotations

import pytest

from openzim_mcp.worker import render
from openzim_mcp.worker.document import Block
from openzim_mcp.worker.readers.html.reader import parse

BLOCKS = [
    Block("paragraph", text, 0) for text in ("First paragraph here.", "Second one. It has two.", "x" * 300, "Last.")
]


@pytest.mark.parametrize("length", [1, 7, 30, 60, 100, 1000])
def test_pages_joined_are_the_whole_text(length: int) -> None:
    whole, at = "", 0
    while True:
        piece = render.slice_at_block(BLOCKS, at, length)
        whole += piece.text
        assert len(piece.text) <= length
        if piece.done:
            break
        at = piece.stop

    assert whole == render.join(BLOCKS)


def test_a_page_ends_at_a_block_where_one_ends_in_its_second_half() -> None:
    assert render.slice_at_block(BLOCKS, 0, 40).text == "First paragraph here.\n\n"


def test_a_page_ends_at_a_sentence_or_a_word_where_no_block_ends() -> None:
    assert render.slice_at_block(BLOCKS, 23, 15).text == "Second one. "


def folded(body: str) -> list[str]:
    document = parse(f"<p>Lead.</p><h2 id='S'>S</h2>{body}".encode(), "x")
    return [block.text for block in render.fold(document, document.blocks)][2:]


def test_a_large_table_is_folded_to_a_line_that_says_how_to_get_it() -> None:
    rows = "<tr><td>a</td><td>b</td></tr>" * 40
    table = f"<table class='w'><caption>Numbers</caption><tr><th>A</th><th>B</th></tr>{rows}</table>"

    assert folded(table) == [
        '[Table, Numbers: 40 rows; zim_get_section with section_id="S" and compact=false shows it]'
    ]


def test_a_small_table_stays() -> None:
    assert folded("<table class='w'><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr></table>") == [
        "| A | B |\n| --- | --- |\n| 1 | 2 |"
    ]


def test_a_long_list_shows_its_first_items() -> None:
    (text,) = folded("<ul>" + "".join(f"<li>item {n}</li>" for n in range(60)) + "</ul>")

    assert text.split("\n")[:2] == ["- item 0", "- item 1"]
    assert text.split("\n")[10:] == [
        '[50 more lines; zim_get_section with section_id="S" and compact=false shows them]'
    ]
