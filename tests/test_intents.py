from __future__ import annotations

import pytest

from openzim_mcp.services import intents

EXAMPLES = [(intent.name, example) for intent in intents.INTENTS for example in intent.examples]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_is_read_as_its_row_says_if_the_archive_knows_the_article(name: str, example: str) -> None:
    mine = next(reading for reading in intents.readings(example) if reading.intent == name)
    known = {mine.title: 1.0} if mine.title else {}

    assert intents.choose(example, known)[0].intent == name


@pytest.mark.parametrize(
    ("query", "known", "intent"),
    [
        ("Structure of the Earth", {"Structure of the Earth": 1.0, "Earth": 1.0}, "question"),
        ("structure of Biology", {"Biology": 1.0}, "outline"),
        ("A Brief History of Time", {"A Brief History of Time": 1.0, "Time": 1.0}, "question"),
        ("history of Zürich", {"Zürich": 1.0}, "part"),
        ("history of Nowhere", {}, "question"),
        ("Please show me the article on Dog, thanks", {"Dog": 1.0}, "article"),
        ("could you list the archives", {}, "archives"),
        ("who wrote the article on dogs", {}, "question"),
        ("Links in the Chain", {"Links in the Chain": 1.0}, "question"),
        ("", {}, "question"),
    ],
)
def test_the_reading_that_the_archive_supports_wins(query: str, known: dict[str, float], intent: str) -> None:
    assert intents.choose(query, known)[0].intent == intent


@pytest.mark.parametrize(
    ("query", "slots"),
    [
        ("browse namespace C with limit 10", {"namespace": "C", "number": "10"}),
        ("search for biology in wikipedia.zim", {"query": "biology", "archive": "wikipedia"}),
        ("section 'Evolution' of Biology", {"section": "Evolution", "title": "Biology"}),
        ("get articles Dog, Cat and Horse", {"titles": "Dog, Cat and Horse"}),
    ],
)
def test_slots_are_filled(query: str, slots: dict[str, str]) -> None:
    assert next(intents.readings(query)).slots == slots


def test_a_long_odd_query_is_read_quickly() -> None:
    for query in ("of " * 300, "the the the " * 80, "(" * 900, "get me the article on " * 40):
        assert intents.choose(query, {})[-1]
