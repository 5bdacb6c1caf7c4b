"""Which archives to read for a question: by the words that they have, and by their kind.

A dictionary answers what a word means, a question-and-answer site how to do something, documentation questions about
code, a book what it says itself.
"""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from openzim_mcp.calls.search import WordCounts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openzim_mcp.calls.archive import ArchiveKind
    from openzim_mcp.calls.search import Estimate, KnownWords, Question

MIN_SHARE = 0.5
"""An archive is read if its estimate is at least this share of the best one."""
_MAX_ARCHIVES = 5
_MAX_WITHOUT_ESTIMATE = 8
MAX_COVERAGE = 1.5
"""The coverage of a word that stands in the title of a candidate."""
FIT_SCALE = 4.0
"""How strongly the fit of a kind counts in an estimate, where nothing else of the archive is known yet."""

# What is added to the scores of passages, by kind of question and of archive; "other" is a question of no such kind.
# Set by hand; `benchmarks/people.py --only ablation` shows what they add.
FITS: dict[tuple[str, ArchiveKind], float] = {
    ("word", "dictionary"): 0.12,
    ("word", "documentation"): -0.04,
    ("word", "book"): -0.04,
    ("name", "book"): -0.05,
    ("name", "documentation"): -0.03,
    ("code", "documentation"): 0.17,
    ("code", "wikipedia"): -0.07,
    ("code", "dictionary"): -0.1,
    ("code", "qa"): -0.04,
    ("code", "book"): -0.1,
    ("howto", "qa"): 0.05,
    ("howto", "documentation"): 0.04,
    ("howto", "wikipedia"): 0.04,
    ("howto", "dictionary"): -0.12,
    ("howto", "book"): -0.08,
    ("quote", "book"): 0.05,
    ("quote", "dictionary"): -0.1,
    ("other", "dictionary"): -0.08,
    ("other", "book"): -0.05,
    ("other", "documentation"): -0.03,
}

_NAMES_AND_DATES = {"person", "date", "place", "age", "money"}
"""Who made a language and when is not a question about code."""


def kind_fit(question: Question, kind: ArchiveKind) -> float:
    """Return what is added to the scores of an archive of some kind; a question may be of several kinds."""
    kinds = [row for row in question.kinds if row != "code" or question.answer_type not in _NAMES_AND_DATES]
    fits = [FITS.get((question_kind, kind), 0.0) for question_kind in kinds or ("other",)]
    return max(fits) if max(fits) > 0 else min(fits)


def count_words(estimates: Mapping[str, Estimate | KnownWords]) -> WordCounts:
    """Return how many articles of all archives contain each word.

    A form of a word that only some archives count is left out if these do not have it: where the language has stems,
    it is counted with another form.
    """
    frequencies: Counter[str] = Counter()
    listings: Counter[str] = Counter()
    for estimate in estimates.values():
        frequencies.update(estimate.counts.frequencies)
        listings.update(estimate.counts.frequencies.keys())
    most = max(listings.values(), default=0)
    frequencies = Counter({word: n for word, n in frequencies.items() if n or listings[word] == most})
    return WordCounts(sum(estimate.counts.articles for estimate in estimates.values()), frequencies)


def select_archives(question: Question, estimates: Mapping[str, Estimate], counts: WordCounts) -> set[str]:
    """Return the names of the archives to read: the best by estimate, those without an index, and books for quotes."""
    scores = score_estimates(question, estimates, counts)
    best = sorted(scores, key=lambda name: -scores[name])[:_MAX_ARCHIVES]
    threshold = MIN_SHARE * scores[best[0]] if best else 0.0
    always = [
        name
        for name, estimate in estimates.items()
        if estimate.coverage is None or (question.quotes and estimate.kind == "book")
    ]
    return {*always[:_MAX_WITHOUT_ESTIMATE]} | {name for name in best if scores[name] >= threshold}


def score_estimates(question: Question, estimates: Mapping[str, Estimate], counts: WordCounts) -> dict[str, float]:
    """Return the scores of the archives whose best candidates are known."""
    return {
        name: _estimate_score(estimate, counts) * math.exp(FIT_SCALE * kind_fit(question, estimate.kind))
        for name, estimate in estimates.items()
        if estimate.coverage is not None
    }


def highest_score(question: Question, known: KnownWords, counts: WordCounts) -> float:
    """Return a bound for the score of an archive, by the words that it has: all of them in one title."""
    if not known.is_complete or (question.quotes and known.kind == "book"):
        return math.inf
    weights = word_weights(counts)
    frequencies = known.counts.frequencies
    share = sum(weight for word, weight in weights.items() if frequencies.get(word)) / (sum(weights.values()) or 1.0)
    return MAX_COVERAGE * share * math.exp(FIT_SCALE * kind_fit(question, known.kind))


def _estimate_score(estimate: Estimate, counts: WordCounts) -> float:
    """Return how much of the question, by weight, the best candidate of an archive covers."""
    weights = word_weights(counts)
    total = sum(weights.values()) or 1.0
    return max(
        (
            sum(weights.get(word, 0.0) * share for word, share in coverage.items()) / total
            for coverage in estimate.coverage or []
        ),
        default=0.0,
    )


def word_weights(counts: WordCounts) -> dict[str, float]:
    """Return the weight of each word: the fewer articles contain it, the heavier (as in BM25)."""
    return {
        word: math.log(1 + max(0.5, counts.articles - frequency + 0.5) / (frequency + 0.5))
        for word, frequency in counts.frequencies.items()
    }
