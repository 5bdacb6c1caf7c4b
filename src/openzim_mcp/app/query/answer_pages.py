"""Pages of an answer: `offset` counts the passages that were shown before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.app.query import excerpts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.query.excerpts import Cost, Excerpt
    from openzim_mcp.calls.search import Passage

_MAX_SCORE_GAP = 0.5
"""Passages that are further behind the best one have hardly anything to do with the question, on no page."""


def select_page(
    passages: Sequence[Passage], offset: int, budget: float, cost: Cost
) -> tuple[list[Excerpt], int | None]:
    """Return what to show after the first `offset` passages, and the offset of the next page, if there is one.

    The pages before it are selected again: what a page shows is not the start of the list, and no session is needed.
    """
    left = [row for row in passages if row.score >= passages[0].score - _MAX_SCORE_GAP]
    shown = 0
    while left and shown < offset:
        page = excerpts.select_excerpts(left, budget, cost)[: offset - shown]
        left = _without(left, page)
        shown += max(1, len(page))
    page = excerpts.select_excerpts(left, budget, cost)
    stop = offset + len(page)
    return page, stop if page and len(page) < len(left) else None


def _without(passages: Sequence[Passage], page: Sequence[Excerpt]) -> list[Passage]:
    shown = {id(excerpt.passage) for excerpt in page}
    return [passage for passage in passages if id(passage) not in shown]
