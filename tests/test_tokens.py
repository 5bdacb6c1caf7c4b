from __future__ import annotations

import pytest

from openzim_mcp import tokens

ENGLISH = "The quick brown fox jumps over the lazy dog. " * 20
CHINESE = "这是一个关于语言模型的句子。" * 20


@pytest.mark.parametrize(("text", "low", "high"), [(ENGLISH, 180, 230), (CHINESE, 200, 300), ("", 0, 0)])
def test_estimate_is_close_to_tokenizers(text: str, low: float, high: float) -> None:
    assert low <= tokens.estimate(text) <= high


@pytest.mark.parametrize("text", [ENGLISH, CHINESE, "x" * 5000, "a b " * 3000])
@pytest.mark.parametrize("budget", [10, 50, 100])
def test_truncated_text_fits_and_uses_the_budget(text: str, budget: int) -> None:
    start = tokens.truncate(text, budget)

    assert text.startswith(start)
    assert tokens.fits(start, budget)
    assert tokens.estimate(start) > budget / 3


def test_fitting_text_is_not_truncated() -> None:
    assert tokens.truncate("short", 100) == "short"


def test_truncated_text_ends_at_a_sentence() -> None:
    assert tokens.truncate(ENGLISH, 60).endswith("dog.")
