"""The chance that passages answer a question, from what is known of the best of them."""

from __future__ import annotations

import math
from operator import mul
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.app.query.archive_fit import word_weights
from openzim_mcp.app.query.question_words import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from openzim_mcp.calls.search import Passage, Question, WordCounts

_MAX_WORDS = 12
_SHORT_QUESTION_WORDS = 4
"""In a longer question, a word that is missing says less."""
_FULL_SHARE = 0.5
"""From this share of a question on, a title is about it, or a sentence has most of it."""
_COMPARED_PASSAGES = 6
_FACT_TYPES = {"person", "date", "place", "number", "measure", "money", "age", "duration"}


class Signals(NamedTuple):
    """What tells whether a question is answered, each from 0 to 1."""

    missing: float
    """The weight of the heaviest word that the article of the best passage lacks, relative to the heaviest of all."""
    unknown: float
    """Whether the question has words that no archive has."""
    is_now: float
    """Whether it asks about today, or about the asker."""
    is_fact: float
    """Whether it asks for a name, a date, a place or a number."""
    has_fact: float
    """The same, times how much of the question stands in one sentence with such an answer."""
    is_english: float
    """Whether it is in English: words of another language are often missing where the answer is."""
    near_words: float
    """The share of the question in the best passage, words near in meaning included."""
    heading_window: float
    """The share of the question in one sentence of it, its headings or the title."""
    margin: float
    """How far it is ahead of the best passage of another article."""
    words: float
    """How many words the question has."""
    is_word: float
    """Whether it asks about a word."""
    no_relation: float
    """Whether it asks for a fact, and the article of the best passage has no word for the relation."""
    no_fact: float
    """Whether that article is the one asked about, and no passage of it has such a fact near the question's words."""
    absence: float
    """How far the words of that article are in meaning from the heaviest words of the question."""


WEIGHTS = Signals(
    missing=-0.1,
    unknown=-0.6,
    is_now=-2.9,
    is_fact=-1.4,
    has_fact=1.6,
    is_english=-3.5,
    near_words=2.7,
    heading_window=2.0,
    margin=2.0,
    words=4.2,
    is_word=1.5,
    no_relation=-1.5,
    no_fact=-0.5,
    absence=-0.25,
)
BIAS = -0.3
"""Weights and bias of a logistic regression; the last three were added by hand, as more questions are needed to fit
them. `benchmarks/people.py` compares the chance with the truth."""
_THRESHOLDS = {"lenient": 0.25, "normal": 0.52, "strict": 0.65}
_SINGLE_ARCHIVE_FACTOR = 0.7
"""Who has or names one archive asks what it is about: its answers are trusted sooner."""


def is_answer(confidence: float, level: str, archives: int) -> bool:
    """Return whether a chance suffices for an answer, by the setting `answers` and how many archives are asked."""
    return confidence >= _THRESHOLDS[level] * (_SINGLE_ARCHIVE_FACTOR if archives == 1 else 1.0)


def estimate_confidence(
    question: Question,
    passages: Sequence[Passage],
    counts: WordCounts,
    *,
    is_library: bool = True,
    corrected: Collection[str] = (),
) -> float:
    """Return the chance that one of some passages, the best first, answers a question.

    What an article lacks counts in a library of several archives only: who asks one knows what it is about. Words that
    were `corrected` for the best passage are not missing.
    """
    if not passages:
        return 0.0
    signals = find_signals(question, passages, counts, corrected)
    if not is_library:
        signals = signals._replace(no_relation=0.0, no_fact=0.0, absence=0.0)
    total = BIAS + sum(map(mul, signals, WEIGHTS))
    return round(1 / (1 + math.exp(-total)), 3)


def find_signals(
    question: Question, passages: Sequence[Passage], counts: WordCounts, corrected: Collection[str] = ()
) -> Signals:
    """Return the signals of a question and its passages, the best first."""
    best = passages[0]
    weights = word_weights(counts)
    others = (row.score for row in passages if (row.archive, row.path) != (best.archive, best.path))
    shortness = min(1.0, _SHORT_QUESTION_WORDS / (len(weights) or 1))
    missing = max((weights.get(word, 0.0) for word in best.lack.words), default=0.0)
    is_english = question.language in ENGLISH
    is_missing = any(word not in corrected for word in unknown_words(question, counts))
    is_fact = question.answer_type in _FACT_TYPES
    typed = max(row.fit.typed_window for row in passages[:_COMPARED_PASSAGES] if row.path == best.path)
    return Signals(
        missing=shortness * missing / max(weights.values(), default=1.0),
        unknown=shortness if is_missing and is_english else 0.0,
        is_now="now" in question.kinds,
        is_fact=is_fact,
        has_fact=best.fit.typed_window if is_fact else 0.0,
        is_english=is_english,
        near_words=best.fit.near_words,
        heading_window=best.fit.heading_window,
        margin=min(1.0, best.score - next(others, 0.0)),
        words=min(1.0, len(weights) / _MAX_WORDS),
        is_word="word" in question.kinds,
        no_relation=is_fact and best.lack.relation,
        no_fact=min(1.0, best.fit.entity / _FULL_SHARE) * (1 - min(1.0, typed / _FULL_SHARE)) if is_fact else 0.0,
        absence=best.lack.absence if is_english else 0.0,
    )


def unknown_words(question: Question, counts: WordCounts) -> list[str]:
    """Return the words of a question that no archive has, without those that ask, such as "old" in "how old"."""
    rows = counts.frequencies.items()
    return [word for word, frequency in rows if not frequency and word not in question.type_words]
