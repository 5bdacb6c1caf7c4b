from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.search import Estimate, EstimateAnswer, FindPassages, Passages, ScoreTitles
from openzim_mcp.worker.search.answer import estimate_answer, find_passages, score_titles, split_sentences
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def ask(archive: Archive, query: str) -> Passages:
    return find_passages(archive, FindPassages(query, scan_seconds=5.0))


def test_best_passage_has_the_answer(isles: Archive) -> None:
    best = ask(isles, "Who founded Ravenport?").passages[0]

    assert best.text == "The town was founded in 1743 by the shipwright Ada Quill, who came from Alderwick."
    assert (best.title, best.section_title, best.archive) == ("Ravenport", "History", "isles.zim")
    assert best.path == "Ravenport"


@pytest.mark.parametrize("query", ["Ravenport", "what is Ravenport?"])
def test_question_about_an_article_finds_its_lead(isles: Archive, query: str) -> None:
    assert ask(isles, query).passages[0].text.startswith("Ravenport is a harbour town")


def test_sentence_share_is_its_part_of_the_question(isles: Archive) -> None:
    best = ask(isles, "Alderwick hill").passages[0]

    assert [sentence.text for sentence in best.sentences] == [
        "Alderwick lies on a hill. ",
        "Its people trade with Ravenport.",
    ]
    assert [sentence.share for sentence in best.sentences] == [1.0, 0.0]


def test_sentences_joined_are_the_text() -> None:
    code = "```python\nfirst = call_me()\nsecond = call_you()\n```\n"
    text = f"J. K. Rowling wrote the book in 1997. The function is called so.\n{code}Nothing more is known of it here."

    sentences = split_sentences(text)

    assert "".join(sentences) == text
    assert sentences == [
        "J. K. Rowling wrote the book in 1997. ",
        "The function is called so.\n",
        code,
        "Nothing more is known of it here.",
    ]


def test_titles_are_scored_by_match(isles: Archive) -> None:
    titles = ["Ravenport", "the port", "zurich", "Ravenprot", "Nowhere"]

    assert score_titles(isles, ScoreTitles(titles, fuzzy=[])) == [1.0, 1.0, 0.9, 0.0, 0.0]
    assert score_titles(isles, ScoreTitles(titles, fuzzy=titles)) == [1.0, 1.0, 0.9, 0.6, 0.0]
    assert score_titles(isles, ScoreTitles(titles, fuzzy=titles, use_index=False)) == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_estimate_of_a_thai_archive_is_unknown(tmp_path: Path) -> None:
    pages = {"แตงโม": "<p>แตงโมเป็นพืชเถาในวงศ์แตง</p>"}
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages, metadata={"Language": "tha"}))])

    assert estimate_answer(archive, EstimateAnswer("แตงโมคืออะไร")) == Estimate(None, [])
    assert estimate_answer(archive, EstimateAnswer("watermelon")).score == 0


def test_estimate_grows_with_the_known_words(isles: Archive) -> None:
    full, half, none = (
        estimate_answer(isles, EstimateAnswer(query))
        for query in ("who founded Ravenport?", "Ravenport quetzalcoatl", "quetzalcoatl")
    )

    assert full.score is not None
    assert half.score is not None
    assert full.score > half.score > 0 == none.score
    assert half.words == ["ravenport"]
