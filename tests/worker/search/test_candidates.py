from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.search import WordCounts
from openzim_mcp.worker.search import archive_size, candidates
from openzim_mcp.worker.search.candidates import Candidates, find_candidates
from openzim_mcp.worker.search.query import parse_query
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def find(archive: Archive, query: str) -> Candidates:
    return find_candidates(archive, parse_query(archive, query))


def test_articles_with_all_words_are_listed_apart(isles: Archive) -> None:
    found = find(isles, "shipwright founded harbour")

    assert found.full_matches == ["Ravenport"]
    assert found.scored[0][0] == "Ravenport"
    assert "Ada_Quill" in dict(found.scored)


def test_articles_with_some_words_are_candidates(isles: Archive) -> None:
    found = find(isles, "banks amber")

    assert found.full_matches == []
    assert {path for path, _ in found.scored} >= {"Zürich", "Ravenport"}


@pytest.mark.parametrize("many_articles", [0, 40_000])
def test_kept_searches_are_scored_by_the_weights_of_the_query(
    isles_zim: Path, monkeypatch: pytest.MonkeyPatch, many_articles: int
) -> None:
    monkeypatch.setattr(archive_size, "MANY_ARTICLES", many_articles)
    counts = WordCounts(1000, {"banks": 1, "amber": 900})
    first, second = (Archive("isles", [str(isles_zim)]) for _ in range(2))

    find(first, "banks amber")
    after_another = find_candidates(first, parse_query(first, "banks amber", counts))

    assert after_another.scored == find_candidates(second, parse_query(second, "banks amber", counts)).scored


def test_title_inside_the_query_is_a_candidate(isles: Archive) -> None:
    assert find(isles, "what did Ada Quill sell").scored[0][0] == "Ada_Quill"


def test_important_one_of_two_equal_titles_comes_first(tmp_path: Path) -> None:
    pages = {f"Mercury_({name})": "<p>Mercury.</p>" for name in ("album", "planet", "ship")}
    redirects = {f"Name {number}": "Mercury_(planet)" for number in range(10)}
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages, redirects=redirects))])

    assert find(archive, "how old is mercury").scored[0][0] == "Mercury_(planet)"


def test_bracket_that_the_query_points_to_comes_first(isles: Archive) -> None:
    assert find(isles, "what kind of god was mercury").scored[0][0] == "Mercury_(god)"


def test_number_of_searches_is_bounded(isles: Archive) -> None:
    searches = []
    search_paths = isles.search_paths

    def counted(words: str, limit: int) -> list[str]:
        searches.append(words)
        return search_paths(words, limit)

    isles.search_paths = counted  # type: ignore[method-assign]
    find(isles, "banks amber herring metal planet god stars language letter rope coast")

    assert len(searches) <= 1 + 8 + 6 + 4


@pytest.mark.parametrize(("enough", "is_found"), [(2, False), (60, True)])
def test_single_words_of_a_large_archive_are_searched_only_without_enough_candidates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enough: int, *, is_found: bool
) -> None:
    monkeypatch.setattr(archive_size, "MANY_ARTICLES", 1)
    monkeypatch.setattr(candidates, "_ENOUGH_CANDIDATES", enough)
    both = {f"Both_{number}": "<p>Amber comes in banks.</p>" for number in range(3)}
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", {**both, "Single": "<p>Amber glows.</p>"}))])
    archive.posting_index = None  # as of a format that cannot be read

    assert ("Single" in dict(find(archive, "banks amber").scored)) == is_found
