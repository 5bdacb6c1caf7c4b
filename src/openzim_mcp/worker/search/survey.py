"""A first look of an archive at a query, before any article is read: which titles it knows, and what it promises."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.calls.search import Estimate
from openzim_mcp.worker.reading import resolve
from openzim_mcp.worker.search import candidates, titles
from openzim_mcp.worker.search import query as queries
from openzim_mcp.worker.search.language import language_of

if TYPE_CHECKING:
    from openzim_mcp.calls.search import EstimateAnswer, ScoreTitles
    from openzim_mcp.worker.zim import Archive

_BY_NAME, _BY_SPELLING, _BY_LIKENESS = 1.0, 0.9, 0.6


def score_titles(archive: Archive, call: ScoreTitles) -> list[float]:
    """Return how well an archive knows each title: 1 exactly, less by another spelling or with a typo, 0 not at all."""
    if not call.use_index:
        return [_BY_NAME if _is_exact(archive, title) else 0.0 for title in call.titles]
    return [_score_title(archive, title, is_fuzzy=title in call.fuzzy) for title in call.titles]


def _score_title(archive: Archive, title: str, *, is_fuzzy: bool) -> float:
    if _is_exact(archive, title):
        return _BY_NAME
    if titles.alike(archive, title):
        return _BY_SPELLING
    return _BY_LIKENESS if is_fuzzy and resolve.closest_title(archive, title).path else 0.0


def _is_exact(archive: Archive, title: str) -> bool:
    return bool(titles.exact(archive, title, language_of(archive.languages, title).stop_words))


def estimate_answer(archive: Archive, call: EstimateAnswer) -> Estimate:
    """Estimate how much of a question the best candidate may have; without an index that cannot be told."""
    if not archive.has_fulltext_index:
        return Estimate(None, [])
    wanted = queries.read(archive, call.query, known=None)
    scored = candidates.find(archive, wanted).scored
    best = max((score for _, score in scored), default=0.0)
    score = min(1.0, best / (candidates.WHOLE * wanted.total))
    return Estimate(score, [term.word for term in wanted.known])
