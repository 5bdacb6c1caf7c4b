from __future__ import annotations

import pytest

from openzim_mcp.worker.search.language import script_of


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("Who wrote it?", ""),
        ("Ça coûte cher à Zürich", ""),
        ("長城", "han"),
        ("長城はどこ", "kana"),
        ("debian怎么新建用户", "han"),
        ("세종대왕", "hangul"),
        ("Война и мир", "cyrillic"),
        ("القاهرة", "arabic"),
        ("ताज महल", "devanagari"),
        ("แตงโม", "thai"),
        ("φάλαινα", "greek"),
        ("ספר", "hebrew"),
        ("The Greek letter π is used for the ratio of a circle", ""),
        ("", ""),
        ("123 — 456", ""),
    ],
)
def test_script_is_that_of_most_letters(text: str, script: str) -> None:
    assert script_of(text) == script
