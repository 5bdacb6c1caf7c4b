from __future__ import annotations

import pytest

from openzim_mcp.worker.search.preview import find_windows
from openzim_mcp.worker.search.query import Term

RED, FISH, COLD = Term("red", "red", 1, 1.0), Term("fishes", "fish", 1, 2.0), Term("cold", "cold", 1, 4.0)


def best_window(content: bytes, terms: list[Term]) -> float:
    return max((window.weight for window in find_windows(content.lower(), terms, 1)), default=0.0)


FAR = b"." * 701
NEAR = b"." * 600


@pytest.mark.parametrize(
    ("content", "weight"),
    [
        (b"a red fish", 3.0),
        (b"A RED Fishing boat", 3.0),
        (b"red" + NEAR + b"fish", 3.0),
        (b"red" + FAR + b"fish", 2.0),
        (b"red red red", 1.0),
        (b"red red" + FAR + b"red fish" + FAR + b"cold", 4.0),
        (b"cold" + NEAR + b"fish" + NEAR + b"red", 6.0),
        (b"no word of it", 0.0),
        (b"", 0.0),
        (b"\xff\xfe\x00 red", 1.0),
    ],
)
def test_heaviest_window_counts_each_word_once(content: bytes, weight: float) -> None:
    assert best_window(content, [RED, FISH, COLD]) == weight


def test_only_the_first_occurrences_are_compared() -> None:
    page = (b"red " + FAR) * 300 + b"red fish"

    assert best_window(page, [RED, FISH]) == 2.0


def test_words_of_other_scripts_are_found() -> None:
    zurich = Term("zürich", "zürich", 1, 1.0)

    assert best_window("über zürich".encode(), [zurich]) == 1.0


def test_no_terms_weigh_nothing() -> None:
    assert best_window(b"red fish", []) == 0.0


def test_windows_do_not_overlap_and_the_heaviest_is_first() -> None:
    page = b"red" + FAR + b"red fish" + FAR + b"cold red fish"

    assert [window.weight for window in find_windows(page, [RED, FISH, COLD], 2)] == [7.0, 3.0]
