from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import tokens
from openzim_mcp.worker.search import answer as answers
from openzim_mcp.worker.search.answer import by_characters, by_estimate
from openzim_mcp.worker.zim import Archive


def ask(archive: Archive, query: str) -> dict[str, Any]:
    return answers.ask(archive, query, 5.0)


def test_a_question_is_answered_by_the_passage_that_holds_the_answer(isles: Archive) -> None:
    best = ask(isles, "Who founded Ravenport?")["passages"][0]

    assert best["text"] == "The town was founded in 1743 by the shipwright Ada Quill, who came from Alderwick."
    assert (best["title"], best["section_title"], best["archive"]) == ("Ravenport", "History", "isles.zim")
    assert best["uri"] == "zim://isles/entry/Ravenport"


@pytest.mark.parametrize("query", ["Ravenport", "what is Ravenport?"])
def test_a_question_about_an_article_is_answered_by_its_first_lines(isles: Archive, query: str) -> None:
    assert ask(isles, query)["passages"][0]["text"].startswith("Ravenport is a harbour town")


def test_an_answer_is_read_with_its_source(isles: Archive) -> None:
    pieces = answers.choose([ask(isles, "Who founded Ravenport?")], 600, by_characters)

    shown = answers.markdown(pieces[:1])

    assert shown == (
        "The town was founded in 1743 by the shipwright Ada Quill, who came from Alderwick.\n"
        "Source: Ravenport › History — isles.zim — zim://isles/entry/Ravenport"
    )


def test_passages_of_one_article_have_one_source(isles: Archive) -> None:
    pieces = answers.choose(
        [ask(isles, "herring and rope sold by the harbour town founded by Ada")], 600, by_characters
    )

    shown = answers.markdown(pieces)

    assert shown.count("zim://isles/entry/Ravenport") == 1


@pytest.mark.parametrize("budget", [100, 200, 500])
def test_an_answer_stays_in_its_budget(isles: Archive, budget: int) -> None:
    found = ask(isles, "harbour town founded herring")
    found["passages"] = [row | {"text": f"{row['text']} " * 20} for row in found["passages"]]

    shown = answers.markdown(answers.choose([found], budget, by_estimate))

    assert 0 < tokens.estimate(shown) <= budget


def test_the_same_passage_of_two_archives_is_given_once(isles: Archive) -> None:
    found = ask(isles, "Who founded Ravenport?")
    twin = found | {"passages": [row | {"uri": row["uri"].replace("isles", "other")} for row in found["passages"]]}

    texts = [piece.text for piece in answers.choose([found, twin], 600, by_characters)]

    assert len(texts) == len(set(texts))


def test_a_briefing_cites_its_sources_by_number(isles: Archive) -> None:
    found = ask(isles, "Who founded Ravenport?")
    pieces = answers.choose([found], 1200, by_characters)

    briefing = answers.briefing("Who founded Ravenport?", pieces, ["isles.zim"])

    assert briefing["citations"][0] == {
        "id": 1,
        "archive": "isles.zim",
        "path": "Ravenport",
        "title": "Ravenport",
        "uri": "zim://isles/entry/Ravenport",
    }
    assert "who came from Alderwick. [1]" in briefing["answer_markdown"]
    assert briefing["total_chars"] == len(briefing["answer_markdown"])
    assert {"archive", "path", "title", "section_id", "section_title", "text", "score"} == briefing["passages"][
        0
    ].keys()
    assert briefing["archives_searched"] == ["isles.zim"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the population of Brazil?", "186,757,608"),
        ("what is the currency of brazil", "Real (R$)"),
        ("how tall is darren lockyer", "178 cm"),
        ("how heavy would I be on Jupiter?", "| Jupiter | 2.640 |"),
    ],
)
def test_a_key_fact_or_a_row_of_a_table_answers(zims: Path, question: str, answer: str) -> None:
    archive = Archive("wiki", [str(zims / "built/wiki_real_pub.zim")])

    assert answer in answers.markdown(answers.choose([ask(archive, question)], 600, by_characters))
