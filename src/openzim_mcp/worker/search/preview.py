"""How near to each other the words of a query stand on a page, from its raw bytes: a page need not be parsed for it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import find_words, normalize

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.worker.search.query import Term

_WINDOW_BYTES = 700
_RUN_WORDS = 4
"""A quote is compared in runs of so many words, as a book may break or spell it otherwise."""
_MARKUP = re.compile(rb"<[^>]*>")
_MAX_OCCURRENCES = 300
"""Of each word; of a longer page only the first part is compared."""


class Window(NamedTuple):
    """A part of a page: where the first and the last of its words start, and the weight of all of them."""

    start: int
    stop: int
    weight: float


def find_windows(lowered: bytes, terms: Sequence[Term], count: int) -> list[Window]:
    """Return the heaviest windows of a page, given in lower case, that do not overlap; the heaviest first."""
    occurrences = sorted(
        (position, number)
        for number, term in enumerate(terms)
        for position in _find_positions(lowered, term.search_prefix.encode())
    )
    best: list[Window] = []
    for lightness, start, stop in sorted(_slide(occurrences, [term.weight for term in terms])):
        if all(abs(start - other.start) > _WINDOW_BYTES for other in best):
            best.append(Window(start, stop, -lightness))
            if len(best) == count:
                break
    return best


def _slide(occurrences: Sequence[tuple[int, int]], weights: Sequence[float]) -> Iterator[tuple[float, int, int]]:
    """Yield the window that ends with each occurrence of a word, given by its number: the negative weight first."""
    inside = [0] * len(weights)
    weight = 0.0
    first = 0
    for position, number in occurrences:
        weight += 0.0 if inside[number] else weights[number]
        inside[number] += 1
        while position - occurrences[first][0] > _WINDOW_BYTES:
            passed = occurrences[first][1]
            inside[passed] -= 1
            weight -= 0.0 if inside[passed] else weights[passed]
            first += 1
        yield -weight, occurrences[first][0], position


def quoted_share(content: bytes, quotes: Sequence[str]) -> float:
    """Return the share of the best quote that stands on a page as it is quoted, in runs of four words."""
    text = normalize(_MARKUP.sub(b" ", content).decode(errors="replace"))
    flat = f" {' '.join(find_words(text))} "
    return max((run_share(find_words(normalize(quote)), flat) for quote in quotes), default=0.0)


def run_share(words: list[str], flat: str) -> float:
    """Return the share of the runs of some words that stand in a text of words, each between two spaces."""
    size = min(_RUN_WORDS, len(words))
    runs = [f" {' '.join(words[start : start + size])} " for start in range(len(words) - size + 1)]
    return sum(run in flat for run in runs) / (len(runs) or 1)


def _find_positions(text: bytes, prefix: bytes) -> list[int]:
    positions: list[int] = []
    at = text.find(prefix) if prefix else -1
    while at >= 0 and len(positions) < _MAX_OCCURRENCES:
        positions.append(at)
        at = text.find(prefix, at + 1)
    return positions
