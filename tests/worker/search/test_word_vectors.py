from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.worker.search import word_vectors
from openzim_mcp.worker.search.word_vectors import WordVectors, load_word_vectors

LINES = ["car", "vehicl vehicle", "zebra"]
SIGNS = bytes([0b11110000, 0b11110001, 0b00001111])
LENGTHS = bytes([255, 51, 0])


@pytest.fixture(scope="module")
def table() -> WordVectors:
    vectors = load_word_vectors()
    assert vectors is not None
    return vectors


def cosine(vectors: WordVectors, first: str, second: str) -> float:
    """The cosine of the vectors of two words that the table has."""
    one, other = (vector.signs for word in (first, second) if (vector := vectors.find(word)))
    return vectors.cosines[(one ^ other).bit_count()]


def test_words_are_found_in_every_form() -> None:
    vectors = WordVectors(LINES, SIGNS + LENGTHS)

    assert vectors.find("vehicles") == vectors.find("vehicle") == (0b11110001, 0.2)
    assert vectors.find("zebras") == (0b00001111, 0.0)
    assert vectors.find("spaceship") is None
    assert vectors.find("car" * 1000) is None


def test_cosine_counts_equal_signs() -> None:
    vectors = WordVectors(LINES, SIGNS + LENGTHS)

    assert cosine(vectors, "car", "car") == 1.0
    assert cosine(vectors, "car", "zebra") == -1.0
    assert cosine(vectors, "car", "vehicle") == pytest.approx(0.92, abs=0.01)


@pytest.mark.parametrize("data", [b"", SIGNS, SIGNS + LENGTHS + b"\0"], ids=["empty", "no lengths", "too long"])
def test_signs_that_do_not_belong_to_the_words_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="does not belong"):
        WordVectors(LINES, data)


@pytest.mark.parametrize(("words", "signs"), [(None, None), ("", b""), ("car\n", b"\0"), ("car\n\xff", b"\0\0\0\0")])
def test_missing_or_broken_table_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str | None, signs: bytes | None
) -> None:
    if words is not None and signs is not None:
        (tmp_path / word_vectors.WORDS_FILE).write_text(words, "latin-1")
        (tmp_path / word_vectors.SIGNS_FILE).write_bytes(signs)
    monkeypatch.setattr(word_vectors, "TABLE_FOLDER", str(tmp_path))

    assert load_word_vectors.__wrapped__() is None


@pytest.mark.parametrize(
    ("word", "near", "far"),
    [
        ("car", "vehicle", "potato"),
        ("doctor", "physician", "bridge"),
        ("ocean", "sea", "grammar"),
        ("price", "cost", "giraffe"),
        ("husband", "spouse", "window"),
        ("film", "movie", "oxygen"),
    ],
)
def test_words_of_the_same_meaning_are_near(table: WordVectors, word: str, near: str, far: str) -> None:
    assert cosine(table, word, near) > 0.45
    assert cosine(table, word, far) < 0.3


def test_words_that_say_little_are_short(table: WordVectors) -> None:
    lengths = [vector.length for word in ("the", "photosynthesis") if (vector := table.find(word))]

    assert lengths[0] < lengths[1] / 3
