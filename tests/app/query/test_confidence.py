from __future__ import annotations

import pytest

from openzim_mcp.app.query.confidence import estimate_confidence, find_signals, is_answer, unknown_words
from openzim_mcp.app.query.questions import analyze_question
from openzim_mcp.calls.search import PageLack, Passage, PassageFit, Question, Sentence, WordCounts

COUNTS = WordCounts(1000, {"founded": 40, "ravenport": 2})


def make_passage(
    score: float,
    *,
    path: str = "Ravenport",
    share: float = 1.0,
    missing: tuple[str, ...] = (),
    lack: PageLack | None = None,
    typed: float | None = None,
) -> Passage:
    fit = PassageFit(share, share, share if typed is None else typed, share)
    return Passage("a.zim", path, path, "", "", [Sentence("text", share)], score, fit, lack or PageLack(list(missing)))


def test_no_passage_is_no_answer() -> None:
    assert estimate_confidence(analyze_question("who founded ravenport"), [], COUNTS) == 0.0


def test_confidence_falls_with_what_is_missing() -> None:
    question = analyze_question("who founded ravenport")

    full = estimate_confidence(question, [make_passage(2.0)], COUNTS)
    partial = estimate_confidence(question, [make_passage(1.0, share=0.3, missing=("ravenport",))], COUNTS)

    assert 0.0 < partial < full < 1.0


def test_margin_is_to_another_article() -> None:
    question = analyze_question("who founded ravenport")
    passages = [make_passage(2.0), make_passage(1.9), make_passage(1.4, path="Alderwick")]

    assert find_signals(question, passages, COUNTS).margin == pytest.approx(0.6)


def test_heaviest_missing_word_counts() -> None:
    question = analyze_question("who founded ravenport")

    assert find_signals(question, [make_passage(1.0, missing=("ravenport",))], COUNTS).missing == 1.0
    assert 0 < find_signals(question, [make_passage(1.0, missing=("founded",))], COUNTS).missing < 1


@pytest.mark.parametrize("lack", [PageLack(relation=True), PageLack(absence=1.0)])
def test_article_that_lacks_what_is_asked_is_less_likely_the_answer(lack: PageLack) -> None:
    question = analyze_question("who founded ravenport")

    silent = estimate_confidence(question, [make_passage(1.0, lack=lack)], COUNTS)

    assert silent < estimate_confidence(question, [make_passage(1.0)], COUNTS)


def test_article_without_such_a_fact_is_less_likely_the_answer() -> None:
    question = analyze_question("who founded ravenport")
    with_fact = [make_passage(1.0, typed=0.0), make_passage(0.9, typed=0.8)]
    without = [make_passage(1.0, typed=0.0), make_passage(0.9, path="Alderwick", typed=0.8)]

    assert find_signals(question, with_fact, COUNTS).no_fact == 0.0
    assert find_signals(question, without, COUNTS).no_fact == 1.0


def test_what_an_article_lacks_counts_in_a_library_only() -> None:
    question = analyze_question("who founded ravenport")
    silent = [make_passage(1.0, lack=PageLack(relation=True, absence=1.0))]

    single = estimate_confidence(question, silent, COUNTS, is_library=False)

    assert single == estimate_confidence(question, [make_passage(1.0)], COUNTS, is_library=False)


def test_question_about_today_is_less_likely_answered() -> None:
    passages = [make_passage(1.5)]
    counts = WordCounts(1000, {"weather": 10, "ravenport": 2})

    today = estimate_confidence(analyze_question("what is the weather in ravenport today"), passages, counts)
    always = estimate_confidence(analyze_question("what is the climate of ravenport"), passages, counts)

    assert today < always


def test_unknown_words_are_those_of_no_archive() -> None:
    question = Question("how deep is the zorblax harbour", type_words=["how", "deep"])

    assert unknown_words(question, WordCounts(10, {"deep": 0, "zorblax": 0, "harbour": 3})) == ["zorblax"]


@pytest.mark.parametrize(
    ("confidence", "level", "archives", "expected"),
    [
        (0.52, "normal", 13, True),
        (0.4, "normal", 13, False),
        (0.4, "normal", 1, True),
        (0.4, "lenient", 13, True),
        (0.5, "strict", 13, False),
        (0.5, "strict", 1, True),
    ],
)
def test_threshold_depends_on_setting_and_archives(
    confidence: float, level: str, archives: int, *, expected: bool
) -> None:
    assert is_answer(confidence, level, archives) is expected


def test_word_that_was_corrected_is_not_missing() -> None:
    question = analyze_question("how tall is a girafe")
    counts = WordCounts(1000, {"girafe": 0})
    passages = [make_passage(1.0)]

    missing = find_signals(question, passages, counts)
    corrected = find_signals(question, passages, counts, {"girafe": "giraffe"})

    assert (missing.unknown, corrected.unknown) == (1.0, 0.0)
