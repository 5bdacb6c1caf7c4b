from __future__ import annotations

from openzim_mcp.worker.search.candidates import Candidates, find_candidates
from openzim_mcp.worker.search.query import parse_query
from openzim_mcp.worker.zim import Archive


def find(archive: Archive, query: str) -> Candidates:
    return find_candidates(archive, parse_query(archive, query))


def test_articles_with_all_words_are_listed_apart(isles: Archive) -> None:
    candidates = find(isles, "shipwright founded harbour")

    assert candidates.full_matches == ["Ravenport"]
    assert candidates.scored[0][0] == "Ravenport"
    assert "Ada_Quill" in dict(candidates.scored)
    assert not candidates.may_have_more


def test_articles_with_some_words_are_candidates(isles: Archive) -> None:
    candidates = find(isles, "banks amber")

    assert candidates.full_matches == []
    assert {path for path, _ in candidates.scored} >= {"Zürich", "Ravenport"}


def test_title_inside_the_query_is_a_candidate(isles: Archive) -> None:
    assert find(isles, "what did Ada Quill sell").scored[0][0] == "Ada_Quill"


def test_number_of_searches_is_bounded(isles: Archive) -> None:
    searches = []
    search_paths = isles.search_paths

    def counted(words: str, limit: int) -> list[str]:
        searches.append(words)
        return search_paths(words, limit)

    isles.search_paths = counted  # type: ignore[method-assign]
    find(isles, "banks amber herring metal planet god stars language letter rope coast")

    assert len(searches) <= 1 + 8 + 6 + 4
