"""Estimates of what archives know of a question: of the likeliest, then of those that could be read beside them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from openzim_mcp.app.query.archive_fit import MIN_SHARE, highest_score, score_estimates
from openzim_mcp.app.query.confidence import unknown_words
from openzim_mcp.app.query.language_fit import tells_language
from openzim_mcp.calls.search import EstimateAnswer
from openzim_mcp.pool.outcomes import Outcomes

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.routing import Route
    from openzim_mcp.calls.search import Estimate, Question

_FIRST_ARCHIVES = 6


async def estimate_archives(app: App, question: Question, route: Route) -> Outcomes[Estimate]:
    """Estimate the archives that could be read; the words of the others are too few, whatever their articles share."""
    if unknown_words(question, route.counts):  # they may be corrected, in any archive
        return await app.workers.call_each(route.archives, EstimateAnswer(question, route.counts))
    call = EstimateAnswer(question)
    if tells_language(question.language):  # those in this language are compared by themselves
        return await app.workers.call_each(route.archives, call)
    bounds = {name: highest_score(question, known, route.counts) for name, known in route.known.items()}
    bounded = [archive for archive in route.archives if bounds.get(archive.name, math.inf) < math.inf]
    first = sorted(bounded, key=lambda archive: -bounds[archive.name])[:_FIRST_ARCHIVES]
    outcomes = await app.workers.call_each(first, call)
    best = max(score_estimates(question, outcomes.results, route.counts).values(), default=0.0)
    others = [
        archive
        for archive in route.archives
        if archive not in first and bounds.get(archive.name, math.inf) >= MIN_SHARE * best
    ]
    rest = await app.workers.call_each(others, call)
    return Outcomes(outcomes.results | rest.results, outcomes.errors | rest.errors)
