from __future__ import annotations

import pytest

from openzim_mcp.text import clean


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain", "plain"),
        ("two\nlines\tand\u2028more", "two lines and more"),
        ("a\x1b[31mred\x07", "a[31mred"),
        ("right\u202eleft", "rightleft"),
        ("tag\U000e0041s", "tags"),
        ("zero\u200bwidth\ufeff", "zerowidth"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("日本語 Zürich 😀", "日本語 Zürich 😀"),
    ],
)
def test_what_cannot_be_seen_is_removed(given: str, shown: str) -> None:
    assert clean(given) == shown


def test_a_long_text_is_cut_and_says_so() -> None:
    assert clean("x" * 100, 10) == "x" * 9 + "…"
