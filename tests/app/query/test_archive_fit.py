from __future__ import annotations

from typing import get_args

import pytest

from openzim_mcp.app.query.archive_fit import FITS, count_words, kind_fit, select_archives
from openzim_mcp.calls.archive import ArchiveKind
from openzim_mcp.calls.search import Estimate, Question, QuestionKind, WordCounts

HIPPO = Question("how heavy is a hippo")
COUNTS = WordCounts(1000, {"heavy": 100, "hippo": 10})
FULL = [{"heavy": 1.0, "hippo": 1.0}]


def make_estimate(kind: ArchiveKind, coverage: list[dict[str, float]] | None) -> Estimate:
    return Estimate(kind, WordCounts(500, {"heavy": 50, "hippo": 5}), coverage)


def test_words_are_counted_over_all_archives() -> None:
    estimates = {
        "a": Estimate("wikipedia", WordCounts(100, {"hippo": 3, "heavy": 1}), []),
        "b": Estimate("qa", WordCounts(50, {"hippo": 2}), None),
    }

    assert count_words(estimates) == WordCounts(150, {"hippo": 5, "heavy": 1})
    assert count_words({}) == WordCounts(0, {})


@pytest.mark.parametrize(
    ("kinds", "archive", "sign"),
    [
        (["word"], "dictionary", 1),
        (["howto"], "qa", 1),
        (["howto"], "dictionary", -1),
        (["code"], "documentation", 1),
        (["quote"], "book", 1),
        ([], "dictionary", -1),
        ([], "wikipedia", 0),
        (["now"], "dictionary", 0),
        (["word", "code"], "documentation", 1),
        (["word", "code"], "dictionary", 1),
        (["howto", "quote"], "dictionary", -1),
    ],
)
def test_kind_of_archive_fits_kind_of_question(kinds: list[QuestionKind], archive: ArchiveKind, sign: int) -> None:
    fit = kind_fit(Question("x", kinds=kinds), archive)

    assert (fit > 0) - (fit < 0) == sign


def test_fits_name_known_kinds() -> None:
    questions, archives = {*get_args(QuestionKind), "other"}, set(get_args(ArchiveKind))

    assert [row for row in FITS if row[0] not in questions or row[1] not in archives] == []


def test_archives_with_little_of_the_question_are_left_out() -> None:
    estimates = {
        "full": make_estimate("wikipedia", FULL),
        "rare": make_estimate("wikipedia", [{"hippo": 1.0}]),
        "common": make_estimate("wikipedia", [{"heavy": 0.5}]),
        "none": make_estimate("wikipedia", []),
    }

    assert select_archives(HIPPO, estimates, COUNTS) == {"full", "rare"}


def test_dictionary_sets_no_bar_for_other_questions() -> None:
    estimates = {
        "dictionary": make_estimate("dictionary", [{"heavy": 1.5, "hippo": 1.5}]),
        "wiki": make_estimate("wikipedia", [{"hippo": 0.8, "heavy": 0.3}]),
    }

    assert "wiki" in select_archives(HIPPO, estimates, COUNTS)


def test_dictionary_comes_first_for_a_word() -> None:
    coverage = [{"hippo": 0.5}]
    estimates = {f"wiki{n}": make_estimate("wikipedia", coverage) for n in range(6)}
    estimates["dictionary"] = make_estimate("dictionary", coverage)

    assert "dictionary" in select_archives(Question("hippo meaning", kinds=["word"]), estimates, COUNTS)
    assert "dictionary" not in select_archives(HIPPO, estimates, COUNTS)


def test_archive_without_an_index_is_always_read() -> None:
    estimates = {"full": make_estimate("wikipedia", FULL), "unknown": Estimate("other", WordCounts(), None)}

    assert select_archives(HIPPO, estimates, COUNTS) == {"full", "unknown"}
    assert select_archives(HIPPO, {"unknown": estimates["unknown"]}, WordCounts()) == {"unknown"}


def test_at_most_five_archives_with_an_index_are_read() -> None:
    estimates = {f"wiki{n}": make_estimate("wikipedia", FULL) for n in range(10)}
    estimates["unknown"] = Estimate("other", WordCounts(), None)

    assert len(select_archives(HIPPO, estimates, COUNTS)) == 5 + 1


def test_no_archives_select_none() -> None:
    assert select_archives(HIPPO, {}, WordCounts()) == set()


def test_form_that_only_some_archives_count_is_not_unknown() -> None:
    stemmed = Estimate("wikipedia", WordCounts(100, {"want": 10, "zorblax": 0}), [])
    unstemmed = Estimate("wikipedia", WordCounts(50, {"want": 0, "wants": 0, "zorblax": 0}), [])

    assert count_words({"a": stemmed, "b": unstemmed}) == WordCounts(150, {"want": 10, "zorblax": 0})
