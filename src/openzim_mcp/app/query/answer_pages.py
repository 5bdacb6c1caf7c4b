"""Pages of an answer: `offset` counts the passages that were shown before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.app.query import excerpts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.query.excerpts import Cost, Excerpt
    from openzim_mcp.calls.search import Passage


def select_page(
    passages: Sequence[Passage], offset: int, budget: float, cost: Cost
) -> tuple[list[Excerpt], int | None]:
    """Return what to show after the first `offset` passages, and the offset of the next page, if there is one.

    The pages before it are selected again: what a page shows is not the start of the list, and no session is needed.
    """
    left = list(passages)
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
