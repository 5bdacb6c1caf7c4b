"""A table of English word vectors, each as the signs of its components: near words differ in few bits.

The cosine of two vectors is estimated by counting the bits in which their signs differ, which Python does on integers
in a tenth of a microsecond; so the table needs neither a library nor much memory. `scripts/word_vectors.py` makes it.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.worker.search.language import language_by_code

if TYPE_CHECKING:
    from collections.abc import Callable

TABLE_FOLDER = "vectors"
WORDS_FILE, SIGNS_FILE = "en.txt", "en.bin"
_LENGTH_SCALE = 255
_MAX_CACHED_VECTORS = 20_000
_MAX_LIGHT_LENGTH = 0.365
"""Up to this length of its vector, a word such as "say", "serve" or "happen" hardly tells what a text is about."""
_MAX_WORD_CHARS = 32
"""Longer words are not looked up: no English word is as long, and stemming takes time."""


class Vector(NamedTuple):
    """The signs of a vector as bits, and its length from 0 to 1: words that say little are short."""

    signs: int
    length: float


class WordVectors:
    """The vectors of words by their stems; `cosines[n]` is the cosine of two vectors that differ in n signs."""

    def __init__(self, lines: list[str], data: bytes) -> None:
        """Read a table: lines of a stem and its most frequent word; the signs of each, then the length of each."""
        self._lines = lines
        self._numbers = {line.partition(" ")[0]: number for number, line in enumerate(lines)}
        self._size = len(data) // len(lines) - 1
        if len(data) != len(lines) * (self._size + 1) or self._size < 1:
            raise ValueError("the table of signs does not belong to the list of words")
        self._data = data
        bits = 8 * self._size
        self.cosines = [math.sin(math.pi / 2 * (1 - 2 * count / bits)) for count in range(bits + 1)]
        self._stem = language_by_code("en").stem
        self.find: Callable[[str], Vector | None] = lru_cache(_MAX_CACHED_VECTORS)(self._find)

    def _find(self, word: str) -> Vector | None:
        """Return the vector of a normalized word; None if it is not in the table."""
        number = self._numbers.get(self._stem(word)) if len(word) <= _MAX_WORD_CHARS else None
        return None if number is None else Vector(self._signs(number), self._length(number))

    def _signs(self, number: int) -> int:
        return int.from_bytes(self._data[number * self._size : (number + 1) * self._size])

    def _length(self, number: int) -> float:
        return self._data[len(self._lines) * self._size + number] / _LENGTH_SCALE


def says_little(word: str) -> bool:
    """Return whether a normalized English word hardly tells what a text is about."""
    vectors = load_word_vectors()
    vector = vectors.find(word) if vectors else None
    return vector is not None and vector.length <= _MAX_LIGHT_LENGTH


@cache
def load_word_vectors() -> WordVectors | None:
    """Return the table of the package, read once; None if it is missing or cannot be read."""
    folder = resources.files(__package__) / TABLE_FOLDER
    try:
        lines = (folder / WORDS_FILE).read_text("utf-8").splitlines()
        return WordVectors(lines, (folder / SIGNS_FILE).read_bytes())
    except (OSError, ValueError, IndexError, ZeroDivisionError):
        return None
