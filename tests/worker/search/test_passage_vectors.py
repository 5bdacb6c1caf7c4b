from __future__ import annotations

import random

import pytest

from openzim_mcp.worker.search.passage_vectors import BITS, PassageBits, TextBits, TextEncoder, join_bits, load_encoder

TEXTS = (
    "Delete an entire directory tree.",
    "The heart pumps blood through the body.",
    "A young male horse under four years of age.",
    "Roast the beans until they are dark brown.",
)


@pytest.fixture(scope="module")
def encoder() -> TextEncoder:
    encoder = load_encoder()
    assert encoder
    return encoder


def bits_of(encoder: TextEncoder, text: str, headings: str = "") -> TextBits:
    return encoder.encode(encoder.components(text), encoder.components(headings))


def nearest(encoder: TextEncoder, question: str) -> int:
    passages = PassageBits(*join_bits([bits_of(encoder, text) for text in TEXTS]))
    return passages.nearest(bits_of(encoder, question), 1)[0].position


@pytest.mark.parametrize(
    ("question", "position"),
    [("remove a folder with its files", 0), ("organ of circulation", 1), ("name of a boy pony", 2), ("coffee", 3)],
)
def test_nearest_passage_shares_no_word(encoder: TextEncoder, question: str, position: int) -> None:
    assert nearest(encoder, question) == position


def test_order_of_words_makes_no_difference(encoder: TextEncoder) -> None:
    assert bits_of(encoder, "blood and heart") == bits_of(encoder, "heart and blood")


def test_headings_count_less_than_the_text(encoder: TextEncoder) -> None:
    text, headings = "It is removed with its files.", "Horses"
    both = PassageBits(*join_bits([bits_of(encoder, text, headings), bits_of(encoder, headings, text)]))
    assert both.nearest(bits_of(encoder, text), 2)[0].position == 0
    assert both.nearest(bits_of(encoder, headings), 2)[0].position == 1


def test_text_without_known_words_has_the_vector_of_its_headings(encoder: TextEncoder) -> None:
    assert bits_of(encoder, "xqzzy", "Horses") == bits_of(encoder, "Horses")
    assert bits_of(encoder, "xqzzy") == TextBits(0, 0)


def test_all_passages_are_compared_as_one_by_one() -> None:
    generator = random.Random(7)
    rows = [TextBits(generator.getrandbits(BITS), generator.getrandbits(BITS)) for _ in range(1000)]
    asked = rows[400]
    found = PassageBits(*join_bits(rows)).nearest(asked, 200)
    fewest = sorted((asked.signs ^ row.signs).bit_count() for row in rows)[:200]
    assert found[0] == (400, 1.0)
    assert sorted((asked.signs ^ rows[row.position].signs).bit_count() for row in found) == fewest


def test_vectors_may_be_empty_but_not_incomplete(encoder: TextEncoder) -> None:
    asked = bits_of(encoder, "heart")
    assert PassageBits(b"", b"").nearest(asked, 5) == []
    with pytest.raises(ValueError, match="incomplete"):
        PassageBits(b"abc", b"abc")
