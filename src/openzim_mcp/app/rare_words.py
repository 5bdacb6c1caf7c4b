"""Which archives have something for a search: those with an article that has a rare word of the query."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.app.query.archive_fit import count_words, word_weights
from openzim_mcp.app.query.questions import analyze_question
from openzim_mcp.calls.search import EstimateAnswer
from openzim_mcp.text import normalize

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.calls.search import Estimate, SearchHits
    from openzim_mcp.zimfile import ArchiveFile

_RARE_SHARE = 0.75
"""A word is rare if its weight is at least this share of that of the rarest word that the archives have."""
_COVERAGE_SHARE = 0.6
"""An archive without a rare word is kept if its best article covers this share of what the best archive's does."""


async def drop_irrelevant(
    app: App, archives: Sequence[ArchiveFile], query: str, hits: Mapping[str, SearchHits]
) -> dict[str, SearchHits]:
    """Return the results of the archives, by name, whose best articles have a rare word of the query.

    A word is rare over all archives: in a search for "history of jazz", an archive that has only histories is dropped.
    """
    searched = [archive for archive in archives if hits.get(archive.name) and hits[archive.name].results]
    if len(searched) < 2:  # noqa: PLR2004  nothing to compare with
        return {archive.name: hits[archive.name] for archive in searched}
    estimates = (await app.workers.call_each(searched, EstimateAnswer(analyze_question(query)))).results
    weights = _known_weights(estimates)
    rare = find_rare_words(weights)
    coverage = {name: _best_coverage(estimate, weights) for name, estimate in estimates.items()}
    min_coverage = _COVERAGE_SHARE * max(coverage.values(), default=0.0)
    return {
        archive.name: hits[archive.name]
        for archive in searched
        if not rare
        or coverage.get(archive.name, 0.0) > min_coverage
        or _has_rare_word(estimates.get(archive.name), hits[archive.name], rare)
    }


async def find_best_covered(app: App, archives: Sequence[ArchiveFile], query: str, count: int) -> list[ArchiveFile]:
    """Return the archives whose best articles have most of the query, before a page is read; all if they are few."""
    if len(archives) <= count:
        return list(archives)
    estimates = (await app.workers.call_each(archives, EstimateAnswer(analyze_question(query)))).results
    weights = _known_weights(estimates)
    coverage = {name: _best_coverage(estimate, weights) for name, estimate in estimates.items()}
    best = set(sorted(coverage, key=lambda name: -coverage[name])[:count])
    return [archive for archive in archives if archive.name in best]


def _known_weights(estimates: Mapping[str, Estimate]) -> dict[str, float]:
    """Return the weights of the words that the archives have."""
    counts = count_words(estimates)
    return {word: weight for word, weight in word_weights(counts).items() if counts.frequencies[word]}


def find_rare_words(weights: Mapping[str, float]) -> set[str]:
    """Return the words that tell most, by their weights."""
    return {word for word, weight in weights.items() if weight >= _RARE_SHARE * max(weights.values())}


def _best_coverage(estimate: Estimate, weights: Mapping[str, float]) -> float:
    """Return the weight of the words that the best article has."""
    return max(
        (sum(weights.get(word, 0.0) for word, share in row.items() if share > 0) for row in estimate.coverage or []),
        default=0.0,
    )


def _has_rare_word(estimate: Estimate | None, hits: SearchHits, rare: set[str]) -> bool:
    if hits.corrected:  # its words are other ones than those of the query
        return True
    if estimate is None or estimate.coverage is None:  # no index was asked
        best = hits.results[0]
        text = normalize(f"{best.title} {best.snippet}")
        return any(word in text for word in rare)
    return any(share > 0 for coverage in estimate.coverage for word, share in coverage.items() if word in rare)
