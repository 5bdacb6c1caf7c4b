from __future__ import annotations

import math

import pytest

from openzim_mcp.worker.search import candidate_pages
from openzim_mcp.worker.search.candidate_pages import ReadingLimits, load_pages
from openzim_mcp.worker.search.candidates import FULL_MATCH_SCORE
from openzim_mcp.worker.search.query import parse_query
from openzim_mcp.worker.zim import Archive


@pytest.mark.parametrize(("spread", "expected"), [(1.0, 0.2), (0.4, 0.68), (0.0, 1.0)])
def test_scores_of_candidates_count_as_much_as_the_size_of_the_archive_allows(
    isles: Archive, monkeypatch: pytest.MonkeyPatch, spread: float, expected: float
) -> None:
    monkeypatch.setattr(candidate_pages, "_LIMITS", ((math.inf, ReadingLimits(8, 4, 8, spread)),))
    query = parse_query(isles, "harbour amber")
    full_score = FULL_MATCH_SCORE * query.total_weight
    scores = {"Ravenport": full_score, "Ada_Quill": 0.2 * full_score}

    pages = load_pages(isles, query, scores, (), lambda _path, _type: True)

    assert {page.path: pytest.approx(page.prior) for page in pages} == {"Ravenport": 1.0, "Ada_Quill": expected}


@pytest.mark.parametrize(("best_score", "count"), [(0.95, 3), (1.4, 2)])
def test_fewer_candidates_are_read_where_the_best_is_sure(
    isles: Archive, monkeypatch: pytest.MonkeyPatch, best_score: float, count: int
) -> None:
    monkeypatch.setattr(candidate_pages, "_LIMITS", ((math.inf, ReadingLimits(3, 3, 2)),))
    query = parse_query(isles, "harbour amber")
    full_score = FULL_MATCH_SCORE * query.total_weight
    scores = {"Ravenport": best_score * full_score} | dict.fromkeys(("Ada_Quill", "Zürich", "Mercury_(god)"), 0.1)

    pages = load_pages(isles, query, scores, (), lambda _path, _type: True)

    assert len(pages) == count
