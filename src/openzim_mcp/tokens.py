"""How many tokens a text costs a model, estimated without a tokenizer.

Fitted to o200k on text in many scripts: 7 % mean error, where characters / 4 is 13.5 % off and a third of the truth on
Chinese.
"""

from __future__ import annotations

import re

from openzim_mcp.text import best_cut

_ASCII_LETTERS = re.compile(r"[A-Za-z]+")
_WHITESPACE = re.compile(r"\s+")
SAFETY_FACTOR = 1.1
"""Budgets are enforced with this factor, as the estimate may be too low."""


def estimate(text: str) -> float:
    """Return the estimated number of tokens."""
    letters = sum(map(len, _ASCII_LETTERS.findall(text)))
    whitespace = sum(map(len, _WHITESPACE.findall(text)))
    symbols = len(text) - letters - whitespace
    if text.isascii():
        return 0.215 * letters + 0.13 * whitespace + 0.67 * symbols
    # By the length of a character in UTF-8.
    two_bytes = sum("\x7f" < c < "\u0800" for c in text)
    four_bytes = sum(c > "\uffff" for c in text)
    three_bytes = sum(c >= "\u0800" for c in text) - four_bytes
    symbols = max(0, symbols - two_bytes - three_bytes - four_bytes)
    ascii_tokens = 0.215 * letters + 0.13 * whitespace + 0.67 * symbols
    return ascii_tokens + 0.42 * two_bytes + 0.95 * three_bytes + 1.9 * four_bytes


def fits(text: str, budget: float) -> bool:
    """Return whether a text stays within a budget of tokens."""
    return estimate(text) * SAFETY_FACTOR <= budget


def truncate(text: str, budget: float) -> str:
    """Return the longest start of `text` that fits, cut after a line, a sentence or a word."""
    if fits(text, budget):
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(text[:middle], budget) else (low, middle - 1)
    return text[: best_cut(text, low // 2 + 1, low)].rstrip()
