"""Text from archives and file names, made safe to show."""

from __future__ import annotations

import unicodedata

# Zero-width joiners shape Persian, Indic and emoji text; every other invisible character only hides something.
_JOINERS = "\u200c\u200d"
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn"}
_BLANKS = "\t\n\r\u0085\u2028\u2029"


def clean(text: str, limit: int = 4000) -> str:
    """Return `text` on one line, without control, bidi, tag and other invisible characters, at most `limit` long."""
    kept = "".join(
        " " if c in _BLANKS else c
        for c in text[: 2 * limit]
        if c.isprintable() or c in _BLANKS or c in _JOINERS or unicodedata.category(c) not in _INVISIBLE
    )
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
