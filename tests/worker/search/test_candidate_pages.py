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
    monkeypatch.setattr(candidate_pages, "_LIMITS", ((math.inf, ReadingLimits(8, 4, spread)),))
    query = parse_query(isles, "harbour amber")
    full_score = FULL_MATCH_SCORE * query.total_weight
    scores = {"Ravenport": full_score, "Ada_Quill": 0.2 * full_score}

    pages = load_pages(isles, query, scores, (), lambda _path, _type: True)

    assert {page.path: pytest.approx(page.prior) for page in pages} == {"Ravenport": 1.0, "Ada_Quill": expected}
