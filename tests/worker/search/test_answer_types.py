from __future__ import annotations

from typing import get_args

import pytest

from openzim_mcp.calls.search import AnswerType
from openzim_mcp.worker.search.answer_types import holds_answer

# Texts that hold each kind of answer, and texts that do not.
EXAMPLES: dict[AnswerType, tuple[list[str], list[str]]] = {
    "person": (
        ["It was written by Mary Shelley.", "Der Autor ist Ludwig van Beethoven.", "設計者はジョン・スミスです。"],
        ["It was written long ago.", "The town is old.", "He came from Peru."],
    ),
    "place": (
        ["She was born in Bonn.", "It lies near the Thames.", "Lyon, France"],
        ["She was born early.", "It lies near a river.", "It is large."],
    ),
    "date": (
        ["It ended on 7 December 1941.", "Built in the 12th century.", "建立于1949年。"],
        ["It ended long ago.", "It has 12 rooms.", "There are 300 ships."],
    ),
    "number": (
        ["It has 12 rooms.", "There are seven seas.", "Es gibt drei Arten."],
        ["It has rooms.", "There are many seas.", "Often a zone."],
    ),
    "measure": (
        ["It is 381 ft high.", "About 1,200 km long.", "Water boils at 100 °C."],
        ["It is high.", "Built in 1931.", "It has 12 rooms."],
    ),
    "money": (
        ["It cost $49 million.", "The fee is 20 euros.", "Entry is free."],
        ["It cost a lot.", "It has 20 rooms.", "A price was paid."],
    ),
    "age": (
        [
            "He died aged 35.",
            "Who has attained to the Age of thirty five Years.",
            "A 90-year-old man.",
            "They live 20 years.",
        ],
        ["He died young.", "They live in trees.", "It has 12 rooms."],
    ),
    "duration": (
        ["Boil it for 10 minutes.", "It lasted several days.", "Der Krieg dauerte dreißig oder 30 Jahre."],
        ["Boil it well.", "It lasted.", "It is 10 km long."],
    ),
    "reason": (
        ["It is blue because light scatters.", "Named after a king.", "Потому что свет рассеивается."],
        ["It is blue.", "The king ruled.", "Небо синее."],
    ),
    "steps": (
        ["1. Fill the pot.\n2. Boil it.", "You can wash it.", "Call `open()` here."],
        ["The pot was old.", "It is made of steel.", "Nobody knows."],
    ),
    "list": (
        ["helium, neon, argon and xenon", "- helium\n- neon", "氦、氖、氩"],
        ["helium is a gas", "neon and argon", "Red, he said."],
    ),
    "definition": (
        ["A yak is an ox.", "It refers to oxen.", "ヤクとは牛である"],
        ["Yaks in Tibet", "Many oxen", "The old yak"],
    ),
}


def test_every_type_has_examples() -> None:
    assert EXAMPLES.keys() == set(get_args(AnswerType))


@pytest.mark.parametrize("kind", EXAMPLES)
def test_text_holds_the_kind_of_answer(kind: AnswerType) -> None:
    holding, others = EXAMPLES[kind]

    assert [text for text in holding if not holds_answer(kind, text, ())] == []
    assert [text for text in others if holds_answer(kind, text, ())] == []


@pytest.mark.parametrize(
    ("kind", "text", "question_words", "expected"),
    [
        ("person", "Mary Shelley was born.", {"mary", "shelley"}, False),
        ("person", "Mary Shelley married Percy Shelley.", {"mary", "shelley"}, True),
        ("date", "It was 1941.", {"1941"}, False),
        ("date", "From 1941 to 1945.", {"1941"}, True),
        ("number", "Apollo 13 flew.", {"13"}, False),
        ("place", "He lived in Bonn.", {"bonn"}, False),
        ("place", "He moved from Bonn to Vienna.", {"bonn", "from"}, True),
        ("reason", "It is so because of light.", {"because"}, True),
    ],
)
def test_words_of_the_question_do_not_count(
    kind: AnswerType, text: str, question_words: set[str], *, expected: bool
) -> None:
    assert holds_answer(kind, text, question_words) is expected


def test_no_kind_is_held_by_nothing() -> None:
    assert holds_answer(None, "It was written by Mary Shelley in 1818.", ()) is False
