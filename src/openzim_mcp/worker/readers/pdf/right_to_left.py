"""Words of Arabic and Hebrew in the order in which they are read: PDFium returns some in the order of their places."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

# Letters and marks that are read from right to left; digits between them are not.
_WORD = re.compile("[\u0590-\u065f\u066e-\u06ef\u06fa-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]{2,}")


def restore_order(text: str, x_of: Callable[[int], float]) -> str:
    """Return a text in which letters that follow each other to the right are turned round; `x_of` tells the places."""
    if text.isascii():
        return text
    return _WORD.sub(lambda word: _restore_word(word[0], [x_of(at) for at in range(*word.span())]), text)


def _restore_word(word: str, places: Sequence[float]) -> str:
    """Return a word with each run of letters that goes to the right turned round.

    A mark stays with the letter before it unless it stands to the left of it; the letters of a ligature are all in one
    place.
    """
    letters: list[tuple[str, float]] = []
    for character, place in zip(word, places, strict=True):
        if letters and unicodedata.combining(character) and place >= letters[-1][1]:
            letters[-1] = (letters[-1][0] + character, letters[-1][1])
        else:
            letters.append((character, place))
    runs: list[list[tuple[str, float]]] = []
    for letter in letters:
        if runs and letter[1] >= runs[-1][-1][1] and not unicodedata.combining(runs[-1][-1][0][0]):
            runs[-1].append(letter)
        else:
            runs.append([letter])
    ordered = (reversed(run) if run[-1][1] > run[0][1] else run for run in runs)
    return "".join(text for run in ordered for text, _ in run)
