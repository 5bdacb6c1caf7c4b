from __future__ import annotations

from openzim_mcp.worker.search import candidates
from openzim_mcp.worker.search import query as queries
from openzim_mcp.worker.zim import Archive


def found(archive: Archive, query: str) -> candidates.Candidates:
    return candidates.find(archive, queries.read(archive, query))


def test_articles_with_all_words_are_told_from_those_with_some(isles: Archive) -> None:
    pool = found(isles, "shipwright founded harbour")

    assert pool.strict == ["Ravenport"]
    assert pool.scored[0][0] == "Ravenport"
    assert "Ada_Quill" in dict(pool.scored)
    assert not pool.may_be_more


def test_words_that_no_article_has_together_find_articles_with_some(isles: Archive) -> None:
    pool = found(isles, "banks amber")

    assert pool.strict == []
    assert {path for path, _ in pool.scored} >= {"Zürich", "Ravenport"}


def test_a_title_inside_the_query_is_a_candidate(isles: Archive) -> None:
    assert found(isles, "what did Ada Quill sell").scored[0][0] == "Ada_Quill"


def test_common_words_do_not_take_the_searches_beyond_their_bound(isles: Archive) -> None:
    calls = []
    containing = isles.containing

    def counted(words: str, limit: int) -> list[str]:
        calls.append(words)
        return containing(words, limit)

    isles.containing = counted  # type: ignore[method-assign]
    found(isles, "banks amber herring metal planet god stars language letter rope coast")

    assert len(calls) <= 1 + 8 + 6 + 4
