from __future__ import annotations

import pytest

from openzim_mcp.languages import has_unsegmented_language, three_letter_code, two_letter_code


@pytest.mark.parametrize(
    ("code", "three_letters", "two_letters"),
    [
        ("en", "eng", "en"),
        ("ENG", "eng", "en"),
        (" pt-BR ", "por", "pt"),
        ("zh_TW", "zho", "zh"),
        ("ger", "deu", "de"),
        ("nob", "nob", "nb"),
        ("nb", "nob", "nb"),
        ("cmn", "zho", "zh"),
        ("ady", "ady", "ady"),
        ("", "", ""),
    ],
)
def test_language_codes_are_converted_both_ways(code: str, three_letters: str, two_letters: str) -> None:
    assert three_letter_code(code) == three_letters
    assert two_letter_code(code) == two_letters


@pytest.mark.parametrize("codes", ["tha", "eng,lao", "my", "shn"])
def test_unsegmented_languages_are_known(codes: str) -> None:
    assert has_unsegmented_language(codes)


@pytest.mark.parametrize("codes", ["eng", "zho,jpn", ""])
def test_other_languages_are_segmented(codes: str) -> None:
    assert not has_unsegmented_language(codes)
