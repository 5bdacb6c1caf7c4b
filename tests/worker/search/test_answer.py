from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.app.query.questions import analyze_question
from openzim_mcp.calls.search import (
    Estimate,
    EstimateAnswer,
    FindPassages,
    Passages,
    Question,
    ScoreTitles,
    WordCounts,
)
from openzim_mcp.worker.search.answer import estimate_answer, find_passages, score_titles, split_sentences
from openzim_mcp.worker.zim import Archive
from support.archives import build_index, write_zim


def ask(archive: Archive, query: str) -> Passages:
    return find_passages(archive, FindPassages(analyze_question(query), scan_seconds=5.0))


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

    assert estimate_answer(archive, EstimateAnswer(Question("แตงโมคืออะไร"))) == Estimate("other", WordCounts())
    assert estimate_answer(archive, EstimateAnswer(Question("watermelon"))).coverage == []


def test_estimate_without_an_index_is_that_of_our_own(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "plain.zim", {"Ravenport": "<p>A harbour town of the Isles.</p>"}, index=False)
    archive = Archive("plain", [str(path)])
    call = EstimateAnswer(Question("harbour of Ravenport"))
    before = estimate_answer(archive, call)
    build_index(path)

    (coverage,) = estimate_answer(archive, call).coverage or [{}]

    assert before.coverage is None
    assert set(coverage) == {"harbour", "ravenport"}
    assert estimate_answer(archive, EstimateAnswer(Question("zebra crossing"))).coverage == [
        {"zebra": 0.0, "crossing": 0.0}
    ]


@pytest.mark.parametrize(
    ("question", "frequencies", "covered"),
    [
        ("Ravenport harbour", {"ravenport": 3, "harbour": 4}, {"ravenport", "harbour"}),
        ("Ravenport quetzalcoatl", {"ravenport": 3, "quetzalcoatl": 0}, {"ravenport"}),
        ("quetzalcoatl", {"quetzalcoatl": 0}, None),
    ],
)
def test_estimate_tells_known_and_covered_words(
    isles: Archive, question: str, frequencies: dict[str, int], covered: set[str] | None
) -> None:
    estimate = estimate_answer(isles, EstimateAnswer(Question(question)))

    assert (estimate.kind, estimate.counts) == ("other", WordCounts(isles.counts["articles"], frequencies))
    assert estimate.coverage is not None
    assert (set(estimate.coverage[0]) if estimate.coverage else None) == covered


def test_word_in_the_title_covers_more(isles: Archive) -> None:
    coverage = estimate_answer(isles, EstimateAnswer(Question("Ravenport harbour"))).coverage

    assert coverage
    assert coverage[0]["ravenport"] > coverage[0]["harbour"] > 0
