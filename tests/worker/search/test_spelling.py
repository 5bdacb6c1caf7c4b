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
