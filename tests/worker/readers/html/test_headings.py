from __future__ import annotations

import pytest

from openzim_mcp.worker.readers.html.headings import is_reference_heading


@pytest.mark.parametrize(
    "title",
    [
        "References",
        "See also",
        "EXTERNAL LINKS",
        "Notes and references",
        "Einzelnachweise",
        "Véase también",
        "Références",
        "Ligações externas",
        "Collegamenti esterni",
        "Zie ook",
        "Примечания",
        "Przypisy",
        "Kaynakça",
        "المراجع",
        "外部链接",
        "参考文献",
        "सन्दर्भ",
        "각주",
        "Pranala luar",
        "Tham khảo",
    ],
)
def test_reference_headings_are_known_in_all_languages(title: str) -> None:
    assert is_reference_heading(title)


@pytest.mark.parametrize("title", ["", "References in popular culture", "History", "Language reference", "Sourcesness"])
def test_only_whole_headings_match(title: str) -> None:
    assert not is_reference_heading(title)
