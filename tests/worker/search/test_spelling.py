from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.worker.search.spelling import correct_word
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
def test_word_is_corrected_by_archive_words(isles: Archive, wrong: str, right: str | None) -> None:
    assert correct_word(isles, wrong) == right


def test_cyrillic_word_is_corrected(zims: Path) -> None:
    archive = Archive("nonlatin", [str(zims / "built/nonlatin_pub.zim")])

    assert correct_word(archive, "устанвка") == "установка"
