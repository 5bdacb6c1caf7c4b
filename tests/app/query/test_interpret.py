from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.app.query import intents, nearest, patterns, questions
from openzim_mcp.app.query import interpret as interpret_module
from openzim_mcp.app.query.interpret import (
    Interpretation,
    find_alternatives,
    interpret,
    rank_interpretations,
    split_list,
    titles_to_score,
)
from openzim_mcp.text import title_key

QUERIES = Path(__file__).parent.parent.parent / "data" / "queries.jsonl"

EXAMPLES = [(intent.name, example) for intent in intents.INTENTS for example in intent.examples]


def interpret_as(intent: str, query: str) -> Interpretation:
    return next(interpretation for interpretation in interpret(query) if interpretation.intent == intent)


def best_interpretation(query: str, title_scores: dict[str, float]) -> Interpretation:
    return rank_interpretations(interpret(query), title_scores)[0]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_example_has_the_intent_of_its_row(name: str, example: str) -> None:
    key = interpret_as(name, example).score_key

    assert best_interpretation(example, {key: 1.0} if key else {}).intent == name


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_canonical_request_has_the_same_interpretation(name: str, example: str) -> None:
    interpretation = interpret_as(name, example)
    title_scores = {interpretation.score_key: 1.0} if interpretation.score_key else {}

    best, *others = rank_interpretations(interpret(interpretation.canonical_request), title_scores)

    assert best.intent == ("section" if name == "part" else name)
    assert best.title == interpretation.title
    assert not [other for other in others if other.score(title_scores) > best.score(title_scores)]


@pytest.mark.parametrize(
    ("query", "title_scores", "intent"),
    [
        ("Structure of the Earth", {"Structure of the Earth": 1.0, "Earth": 1.0}, "question"),
        ("structure of Biology", {"Biology": 1.0}, "outline"),
        ("what is the structure of DNA", {"DNA": 1.0}, "question"),
        ("A Brief History of Time", {"A Brief History of Time": 1.0, "Time": 1.0}, "question"),
        ("history of Zürich", {"Zürich": 1.0}, "part"),
        ("history of Nowhere", {}, "question"),
        ("Please show me the article on Dog, thanks", {"Dog": 1.0}, "article"),
        ("could you list the archives", {}, "archives"),
        ("who wrote the article on dogs", {}, "question"),
        ("how dogs", {"dogs": 1.0}, "question"),
        ("Links in the Chain", {"Links in the Chain": 1.0}, "question"),
        ("tea vs coffee", {}, "compare"),
        ("Kramer vs. Kramer", {"Kramer vs. Kramer": 1.0}, "question"),
        ("Difference Between Heaven and Earth", {"Difference Between Heaven and Earth": 1.0}, "question"),
        ("who won in Roe versus Wade", {}, "question"),
        ("Continue", {"Continue": 1.0}, "question"),
        ("muestrame el articulo Perú", {"Perú": 1.0}, "article"),
        ("re\u0301sume\u0301 de Paris", {"Paris": 1.0}, "summary"),
        ("browse namespace c", {}, "browse"),
        ("", {}, "question"),
    ],
)
def test_best_interpretation_depends_on_known_titles(query: str, title_scores: dict[str, float], intent: str) -> None:
    assert best_interpretation(query, title_scores).intent == intent


@pytest.mark.parametrize(
    ("query", "slots"),
    [
        ("browse namespace C with limit 10", {"namespace": "C", "number": "10"}),
        ("search for biology in wikipedia.zim", {"query": "biology", "archive": "wikipedia"}),
        ("section 'Evolution' of Biology", {"section": "Evolution", "title": "Biology"}),
        ('section "Places of interest" of Berlin', {"section": "Places of interest", "title": "Berlin"}),
        ("get articles Dog, Cat and Horse", {"titles": "Dog, Cat and Horse"}),
        ("what is the difference between a frog and a toad?", {"titles": "a frog and a toad"}),
        ("how does a frog differ from a toad", {"titles": "a frog differ from a toad"}),
        ("茶和咖啡的区别", {"titles": "茶和咖啡"}),
    ],
)
def test_slots_hold_the_values(query: str, slots: dict[str, str]) -> None:
    assert interpret(query)[0].slots == slots


@pytest.mark.parametrize(
    ("query", "known_titles", "title"),
    [
        ("summary of the Moon", ["Moon"], "Moon"),
        ("summary of The Wall", ["The Wall", "Wall"], "The Wall"),
        ("summary of the article on The Wall", ["The Wall", "Wall"], "The Wall"),
        ("summary of the structure of scientific revolutions", ["the structure of scientific revolutions"], None),
        ("summary of Los Angeles", ["Los Angeles", "Angeles"], "Los Angeles"),
        ("show me the full article about the Roman Empire", ["Roman Empire"], "Roman Empire"),
        ("summary of the Lion article", ["Lion"], "Lion"),
        ("get article Article 19", ["Article 19", "19"], "Article 19"),
    ],
)
def test_words_around_a_title_are_removed_unless_it_has_them(
    query: str, known_titles: list[str], title: str | None
) -> None:
    interpretation = best_interpretation(query, dict.fromkeys(known_titles, 1.0))

    assert interpretation.title == (title or known_titles[0])


@pytest.mark.parametrize(
    ("query", "title_scores", "alternatives"),
    [
        ("Structure of the Earth", {"Structure of the Earth": 1.0, "Earth": 1.0}, ["outline of the article Earth"]),
        ("Continue", {"Continue": 1.0}, ["next page"]),
        ("Outline of physics", {"Outline of physics": 0.9, "physics": 1.0}, ["get article Outline of physics"]),
        ("summary of Zurich", {"Zurich": 0.9}, []),
        ("sumary of Dog", {"Dog": 1.0}, []),
        ("summary of Dog", {"Dog": 1.0}, []),
        ("summary of the Beatles", {"Beatles": 1.0, "the Beatles": 1.0}, []),
        ("A Brief History of Time", {"A Brief History of Time": 1.0, "Time": 1.0}, []),
        ("history of Zürich", {"Zürich": 1.0}, []),
        ("history of Nowhere", {}, []),
        ("why is the sky blue?", {}, []),
        ("serach for cheese", {}, []),
    ],
)
def test_guess_has_alternatives(query: str, title_scores: dict[str, float], alternatives: list[str]) -> None:
    ranked = rank_interpretations(interpret(query), title_scores)

    assert [other.canonical_request for other in find_alternatives(ranked, title_scores)] == alternatives


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("tea and coffee", ["tea", "coffee"]),
        ("A, B, and C", ["A", "B", "C"]),
        ("A, B y C", ["A", "B", "C"]),
        ("Lion; Tiger; Leopard", ["Lion", "Tiger", "Leopard"]),
        ("Tee und Kaffee", ["Tee", "Kaffee"]),
        ("l’eau et le feu", ["eau", "feu"]),
        ("Tea vs. Coffee", ["Tea", "Coffee"]),
        ("a virus differ from a bacterium", ["virus", "bacterium"]),
        ("вирус от бактерии", ["вирус", "бактерии"]),
        ("الشاي والقهوة", ["الشاي", "القهوة"]),
        ("茶与咖啡", ["茶", "咖啡"]),
        ("中华人民共和国和美国", ["中华人民共和国", "美国"]),
        ("紅茶と緑茶", ["紅茶", "緑茶"]),
        ("커피와 차", ["커피", "차"]),
        ("AT&T and Simon & Garfunkel", ["AT&T", "Simon", "Garfunkel"]),
        ("vitamin A and vitamin E", ["vitamin A", "vitamin E"]),
        ("Gone with the Wind, Ulysses", ["Gone with the Wind", "Ulysses"]),
        ("Python with Ruby", ["Python", "Ruby"]),
        ('"Romeo and Juliet" and «Война и мир»', ["Romeo and Juliet", "Война и мир"]),
        ("las vegas or The Hague", ["las vegas", "The Hague"]),
        ("a, b, c, d, e, f", ["a", "b", "c", "d", "e"]),
        ("Dog", ["Dog"]),
        ("", []),
    ],
)
def test_list_is_split_into_its_items(text: str, items: list[str]) -> None:
    assert split_list(text) == items


def load_labelled_queries() -> list[dict[str, Any]]:
    return [json.loads(line) for line in QUERIES.read_text(encoding="utf-8").splitlines()]


def interpret_row(row: dict[str, Any]) -> Interpretation:
    """Return the best interpretation of a labelled query in an archive that has the titles of its row."""
    known_keys = {title_key(title) for title in row["known"]}
    interpretations = interpret(row["query"])
    titles = titles_to_score(row["query"], interpretations)
    return rank_interpretations(interpretations, {title: float(title_key(title) in known_keys) for title in titles})[0]


def has_labelled_slots(row: dict[str, Any], interpretation: Interpretation) -> bool:
    slots = interpretation.slots
    return all(title_key(slots.get(name, "")) == title_key(value) for name, value in row["slots"].items())


def test_labelled_queries_have_their_intents_and_slots() -> None:
    rows = load_labelled_queries()

    pairs = [(row, interpret_row(row)) for row in rows]

    correct = [(row, interpretation) for row, interpretation in pairs if interpretation.intent == row["intent"]]
    correct_counts = Counter(row["language"] for row, _ in correct)
    counts = Counter(row["language"] for row in rows)
    shares = {language: f"{correct_counts[language]}/{count}" for language, count in counts.items()}
    print(f"{len(correct)} of {len(rows)} labelled queries have their intent: {shares}")  # noqa: T201
    assert len(rows) >= 900
    assert len(correct) / len(rows) >= 0.97
    assert sum(has_labelled_slots(row, interpretation) for row, interpretation in correct) / len(correct) >= 0.97


def test_known_titles_are_not_taken_for_requests() -> None:
    rows = [
        row
        for row in load_labelled_queries()
        if title_key(row["query"]) in {title_key(title) for title in row["known"]}
    ]

    assert len(rows) >= 120
    assert [row["query"] for row in rows if interpret_row(row).intent != row["intent"]] == []


def test_vocabulary_has_no_unused_names() -> None:
    modules = (intents, interpret_module, nearest, patterns, questions)
    code = "".join(Path(module.__file__).read_text(encoding="utf-8") for module in modules)
    lines = (Path(intents.__file__).parent / "vocabulary.txt").read_text(encoding="utf-8").splitlines()[1:]

    names = [line.split(": ")[0] for line in lines]

    assert [name for name in names if f"<{name}>" not in code and f'["{name}"]' not in code] == []


@pytest.mark.parametrize(
    "words",
    [
        "of ",
        "the ",
        "and ",
        "A, ",
        "(",
        "get me the article on ",
        "a vs ",
        "section of ",
        "'s ",
        "的",
        "差",
        "và ",
        "و",
    ],
)
def test_long_repetitive_query_is_interpreted_quickly(words: str) -> None:
    query = (words * 1000)[:1000]
    rank_interpretations(interpret(words), {})  # compiles the patterns
    start = time.process_time()

    assert rank_interpretations(interpret(query), {})
    assert split_list(query)
    assert time.process_time() - start < 0.25
