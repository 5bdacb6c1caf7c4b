"""What passages mean, as bits: a passage whose bits are like those of a question may say the same in other words.

The vector of a text is the sum of the vectors of its words (`word_vectors.py`), and so is that of its headings. Of the
vector of a passage two bits per dimension are kept: the sign, and whether the component is one of the larger ones. All
passages of an archive are compared at once: their bits are one large integer, on which Python counts the differing
ones of 25,000 passages in three milliseconds, without a library for numbers.
"""

from __future__ import annotations

import math
from array import array
from functools import lru_cache
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import normalize, tokenize
from openzim_mcp.worker.search.word_vectors import load_word_vectors

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from openzim_mcp.worker.search.word_vectors import WordVectors

BITS = 256
VECTOR_BYTES = BITS // 8
_HEADING_SHARE = 0.5
"""How much the headings above a passage and its title count beside its text."""
_LARGE_SHARE = 0.33
"""The share of the components that count as large, and how many times a small one they are."""
_LARGE_FACTOR = 3
_LANE_BYTES = 4
_LANE_BIAS = 1 << 8
"""Added to each component of a word, so that none is negative where components are lanes of one integer."""
_ALL_LANES = int.from_bytes((b"\1" + bytes(_LANE_BYTES - 1)) * BITS, "little")
"""A one in each lane."""
_LANES_OF_BYTE = [
    b"".join(bytes([byte >> bit & 1]) + bytes(_LANE_BYTES - 1) for bit in reversed(range(8))) for byte in range(256)
]
"""A one in each lane whose bit is set, the highest bit in the first lane."""
_DIGITS = bytes.maketrans(b"\0\1", b"01")
_MAX_CACHED_WORDS = 30_000
_MAX_COMPARED = 200
"""How many passages with the fewest differing signs are compared by all bits."""
_BIT_COUNTS = bytes(byte.bit_count() for byte in range(256))


class TextBits(NamedTuple):
    """The vector of a text: the signs of its components, and which of them are large."""

    signs: int
    large: int


class TextEncoder:
    """Makes the vectors of texts; each word is looked up once."""

    def __init__(self, vectors: WordVectors) -> None:
        self._vectors = vectors
        self._lanes = lru_cache(_MAX_CACHED_WORDS)(self._word_lanes)

    def _word_lanes(self, word: str) -> int:
        """Return the components of a word as lanes of one integer, the first bit in the lowest; 0 if it is unknown."""
        vector = self._vectors.find(word)
        if vector is None:
            return 0
        length = round(vector.length * (_LANE_BIAS - 1))
        positive = int.from_bytes(
            b"".join(map(_LANES_OF_BYTE.__getitem__, vector.signs.to_bytes(VECTOR_BYTES))), "little"
        )
        return (_LANE_BIAS - length) * _ALL_LANES + 2 * length * positive

    def components(self, text: str) -> list[float] | None:
        """Return the vector of a text, of length 1; None if no word of it is known."""
        known = list(filter(None, map(self._lanes, tokenize(normalize(text)))))
        if not known:
            return None
        lanes = array("i", sum(known).to_bytes(BITS * _LANE_BYTES, "little"))
        bias = _LANE_BIAS * len(known)
        squares = sum(map(mul, lanes, lanes)) - 2 * bias * sum(lanes) + BITS * bias * bias
        factor = 1.0 / (math.sqrt(squares) or 1.0)
        return [factor * (lane - bias) for lane in lanes]

    def encode(self, text: list[float] | None, headings: list[float] | None = None) -> TextBits:
        """Return the bits of a text under its headings; a text without known words has those of its headings."""
        values = text or headings
        if not values:
            return TextBits(0, 0)
        if text and headings:
            values = [value + _HEADING_SHARE * above for value, above in zip(text, headings, strict=True)]
        sizes = list(map(abs, values))
        limit = sorted(sizes)[round(BITS * (1 - _LARGE_SHARE))]
        return TextBits(_pack(map((0.0).__lt__, values)), _pack(map(limit.__le__, sizes)))


def _pack(bits: Iterable[bool]) -> int:
    return int(bytes(bits).translate(_DIGITS), 2)


def load_encoder() -> TextEncoder | None:
    """Return an encoder with the table of the package; None if that is missing."""
    vectors = load_word_vectors()
    return TextEncoder(vectors) if vectors else None


class NearPassage(NamedTuple):
    """A passage by its position among all, and how similar it is to a question, at most 1."""

    position: int
    similarity: float


class PassageBits:
    """The vectors of all passages of an archive, in their order, each as so many bytes."""

    def __init__(self, signs: bytes, large: bytes) -> None:
        if len(signs) != len(large) or len(signs) % VECTOR_BYTES:
            raise ValueError("the vectors of passages are incomplete")
        self._signs, self._large = signs, large
        self._all_signs = int.from_bytes(signs, "little")
        self._count = len(signs) // VECTOR_BYTES

    def nearest(self, asked: TextBits, limit: int) -> list[NearPassage]:
        """Return the passages nearest to a question, the nearest first."""
        rows = [NearPassage(position, self._similarity(position, asked)) for position in self._candidates(asked.signs)]
        return sorted(rows, key=lambda row: (-row.similarity, row.position))[:limit]

    def _candidates(self, signs: int) -> Iterator[int]:
        """Yield the positions of the passages with the fewest signs that differ."""
        counts = self._count_differing(signs)
        found = 0
        for count in range(BITS // 2):
            position = counts.find(count)
            while position >= 0 and found < _MAX_COMPARED:
                found += 1
                yield position
                position = counts.find(count, position + 1)

    def _count_differing(self, signs: int) -> bytes:
        """Return for each passage how many of its signs differ, all counted at once."""
        size = len(self._signs)
        repeated = int.from_bytes(signs.to_bytes(VECTOR_BYTES, "big") * self._count, "little")
        counts = (self._all_signs ^ repeated).to_bytes(size, "little").translate(_BIT_COUNTS)
        total = int.from_bytes(counts, "little")
        width = 1
        while width < VECTOR_BYTES:  # add the counts of neighbouring bytes, then of pairs of bytes, and so on
            mask = int.from_bytes((b"\xff" * width + b"\0" * width) * (size // (2 * width)), "little")
            total = (total & mask) + (total >> 8 * width & mask)
            width *= 2
        return total.to_bytes(size, "little")[::VECTOR_BYTES]

    def _similarity(self, position: int, asked: TextBits) -> float:
        place = slice(position * VECTOR_BYTES, (position + 1) * VECTOR_BYTES)
        signs, large = int.from_bytes(self._signs[place]), int.from_bytes(self._large[place])
        differing = asked.signs ^ signs
        more = _LARGE_FACTOR - 1
        product = _agreement(differing, (1 << BITS) - 1) + more * (
            _agreement(differing, asked.large) + _agreement(differing, large)
        )
        product += more * more * _agreement(differing, asked.large & large)
        return product / math.sqrt(_squared_length(asked.large) * _squared_length(large))


def _agreement(differing: int, among: int) -> int:
    """Return how many of some bits are the same, less those that differ."""
    return among.bit_count() - 2 * (differing & among).bit_count()


def _squared_length(large: int) -> int:
    return BITS + (_LARGE_FACTOR**2 - 1) * large.bit_count()


def join_bits(rows: Sequence[TextBits]) -> tuple[bytes, bytes]:
    """Return the vectors of passages as they are stored: the signs of all, and which components are large."""
    signs = b"".join(row.signs.to_bytes(VECTOR_BYTES) for row in rows)
    return signs, b"".join(row.large.to_bytes(VECTOR_BYTES) for row in rows)
