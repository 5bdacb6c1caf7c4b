from __future__ import annotations

import pytest

from openzim_mcp.web.citations import text_fragment, word_matcher
from openzim_mcp.web.markdown import Renderer


def test_matched_words_are_marked_in_their_forms() -> None:
    renderer = Renderer(is_matched=word_matcher("Who created the amp?"))

    html = str(renderer.inline("The creator creates an AMP & a creature"))

    assert html == "The <mark>creator</mark> <mark>creates</mark> an <mark>AMP</mark> &amp; a creature"


def test_text_fragment_starts_with_the_best_piece_of_the_first_passage() -> None:
    fragment = text_fragment(["Nothing. … The depth is 9 m.", "A depth of depths"], word_matcher("what depth"))

    assert fragment == ":~:text=The%20depth%20is%209%20m.&text=Nothing.&text=A%20depth%20of%20depths"


@pytest.mark.parametrize(
    ("text", "fragment"),
    [
        ("Founded in **1743**.", ":~:text=Founded%20in%201743."),
        ("- Born: 1930, a-b", ":~:text=Born,1930%2C%20a%2Db"),
        ("| --- | --- |\n| Sloop | one mast |", ":~:text=Sloop,one%20mast"),
        (
            "one two three four five six seven eight nine ten eleven",
            ":~:text=one%20two%20three%20four%20five,seven%20eight%20nine%20ten%20eleven",
        ),
        ("One piece. … Another\nA third", ":~:text=One%20piece.&text=Another&text=A%20third"),
        ("…", ""),
    ],
)
def test_text_fragment(text: str, fragment: str) -> None:
    assert text_fragment([text]) == fragment
