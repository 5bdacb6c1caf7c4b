"""How many tokens a text costs a model, estimated without a tokenizer.

Fitted to o200k on text in many scripts: 7 % mean error, where characters / 4 is 13.5 % off and a third of the truth on
Chinese.
"""

from __future__ import annotations

import re

from openzim_mcp.text import best_cut

_LETTERS = re.compile(r"[A-Za-z]+")
_BLANKS = re.compile(r"\s+")
SAFETY_FACTOR = 1.1
"""What a budget is enforced with, so that the estimate may err."""


def estimate(text: str) -> float:
    """Return the estimated number of tokens."""
    size = len(text)
    letters = sum(map(len, _LETTERS.findall(text)))
    blanks = sum(map(len, _BLANKS.findall(text)))
    if text.isascii():
        return 0.215 * letters + 0.13 * blanks + 0.67 * (size - letters - blanks)
    two = sum("\x7f" < c < "\u0800" for c in text)
    four = sum(c > "\uffff" for c in text)
    three = sum(c >= "\u0800" for c in text) - four
    rest = max(0, size - letters - blanks - two - three - four)
    return 0.215 * letters + 0.13 * blanks + 0.67 * rest + 0.42 * two + 0.95 * three + 1.9 * four


def fits(text: str, budget: float) -> bool:
    """Return whether a text stays inside a budget of tokens."""
    return estimate(text) * SAFETY_FACTOR <= budget


def truncate(text: str, budget: float) -> str:
    """Return the longest start of `text` that fits, ended at a line, a sentence or a word."""
    if fits(text, budget):
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[:middle], budget) else (low, middle - 1)
    return text[: best_cut(text, low // 2 + 1, low)].rstrip()
