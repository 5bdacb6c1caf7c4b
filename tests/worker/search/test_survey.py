from __future__ import annotations

from openzim_mcp.calls.search import EstimateAnswer, ScoreTitles
from openzim_mcp.worker.search.survey import estimate_answer, score_titles
from openzim_mcp.worker.zim import Archive


def test_titles_are_scored_by_match(isles: Archive) -> None:
    titles = ["Ravenport", "the port", "zurich", "Ravenprot", "Nowhere"]

    assert score_titles(isles, ScoreTitles(titles, fuzzy=[])) == [1.0, 1.0, 0.9, 0.0, 0.0]
    assert score_titles(isles, ScoreTitles(titles, fuzzy=titles)) == [1.0, 1.0, 0.9, 0.6, 0.0]
    assert score_titles(isles, ScoreTitles(titles, fuzzy=titles, use_index=False)) == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_estimate_grows_with_the_known_words(isles: Archive) -> None:
    full, half, none = (
        estimate_answer(isles, EstimateAnswer(query))
        for query in ("who founded Ravenport?", "Ravenport quetzalcoatl", "quetzalcoatl")
    )

    assert full.score is not None
    assert half.score is not None
    assert full.score > half.score > 0 == none.score
    assert half.words == ["ravenport"]
