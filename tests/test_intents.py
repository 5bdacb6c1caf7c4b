from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.services import intents, titles

QUERIES = Path(__file__).parent / "data" / "queries.jsonl"

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


def route(row: dict[str, Any]) -> str:
    known = {titles.normal(name) for name in row["known"]}
    names = intents.titles_in(row["query"])
    return intents.choose(row["query"], {name: float(titles.normal(name) in known) for name in names})[0].intent


def test_most_labelled_queries_are_read_right() -> None:
    rows = [json.loads(line) for line in QUERIES.read_text(encoding="utf-8").splitlines()]

    right = sum(route(row) == row["intent"] for row in rows)

    print(f"{right} of {len(rows)} labelled queries are read right")  # noqa: T201
    assert len(rows) >= 400
    assert right / len(rows) >= 0.8


def test_titles_with_words_of_requests_in_them_stay_titles() -> None:
    rows = [json.loads(line) for line in QUERIES.read_text(encoding="utf-8").splitlines()]
    named = [row for row in rows if titles.normal(row["query"]) in {titles.normal(name) for name in row["known"]}]

    assert len(named) >= 60
    assert [row["query"] for row in named if route(row) != row["intent"]] == []


def test_a_long_odd_query_is_read_quickly() -> None:
    for query in ("of " * 300, "the the the " * 80, "(" * 900, "get me the article on " * 40):
        assert intents.choose(query, {})[-1]
