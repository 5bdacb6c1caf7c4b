from __future__ import annotations

import pytest

from openzim_mcp.catalog.languages import code


@pytest.mark.parametrize(
    ("given", "expected"), [("en", "eng"), ("ENG", "eng"), ("pt-BR", "por"), ("zh_TW", "zho"), ("ady", "ady"), ("", "")]
)
def test_languages_are_known_by_two_letters_and_by_three(given: str, expected: str) -> None:
    assert code(given) == expected
