from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.worker.search import spelling
from openzim_mcp.worker.zim import Archive


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("harbor", "harbour"),
        ("hrabour", "harbour"),
        ("harbouur", "harbour"),
        ("habrour", "harbour"),
        ("zuerich", "zurich"),
        ("strasse", "straße"),
        ("alderwycc", "alderwick"),
        ("norrebros", "nørrebros"),
        ("lanternfish", "lantern fish"),
        ("herringrope", None),
        ("xylophone", None),
        ("isl", None),
        ("1743x", None),
    ],
)
def test_a_word_is_put_right_by_words_of_the_archive(isles: Archive, wrong: str, right: str | None) -> None:
    assert spelling.correct(isles, wrong) == right


def test_a_typo_in_another_script_is_put_right(zims: Path) -> None:
    archive = Archive("nonlatin", [str(zims / "built/nonlatin_pub.zim")])

    assert spelling.correct(archive, "устанвка") == "установка"


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [("abc", "abc", 0), ("abc", "acb", 1), ("abc", "abcd", 1), ("abc", "xbz", 2), ("abc", "xyz", 3), ("a", "abcde", 3)],
)
def test_edits_are_counted_up_to_a_limit(one: str, other: str, edits: int) -> None:
    assert spelling.distance(one, other, 2) == edits
