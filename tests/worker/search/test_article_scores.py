from __future__ import annotations

import errno
from pathlib import Path

import pytest

from openzim_mcp.calls.search import SearchText
from openzim_mcp.worker.search import archive_size, article_scores
from openzim_mcp.worker.search.article_scores import score_postings
from openzim_mcp.worker.search.candidates import find_candidates
from openzim_mcp.worker.search.fulltext import search_text
from openzim_mcp.worker.search.index_postings import PostingIndex
from openzim_mcp.worker.search.query import parse_query
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

_OTHERS = {f"Harbour_{number}": f"<p>A harbour with a lighthouse, {number}.</p>" for number in range(60)}
_PAGES = _OTHERS | {
    "Long_list": f"<p>harbour lighthouse keeper {'and other words ' * 900}</p>",
    "Keepers": "<p>The keeper of the lighthouse: a keeper was paid. Each keeper had a lighthouse.</p>",
}


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return Archive("coast", [str(write_zim(tmp_path / "coast.zim", _PAGES))])


def best_paths(archive: Archive, text: str) -> list[str]:
    assert archive.posting_index is not None
    scored = score_postings(archive.posting_index, parse_query(archive, text).indexed_terms)
    assert scored is not None
    return [article.path for article in scored.best]


def test_article_that_has_words_often_is_before_one_that_has_all_of_them(archive: Archive) -> None:
    assert best_paths(archive, "harbour lighthouse keeper")[:2] == ["Keepers", "Long_list"]


def test_article_about_a_word_is_before_one_that_has_it_as_often(tmp_path: Path) -> None:
    passing = f"<p>{'the keeper of a lighthouse went by ' * 4}{'while others spoke of storms ' * 60}</p>"
    pages = {"Storms": passing, "Towers": f"<p>{'the keeper of a lighthouse went by ' * 4}</p>"}
    archive = Archive("coast", [str(write_zim(tmp_path / "coast.zim", _OTHERS | pages))])

    assert archive.posting_index is not None
    scored = score_postings(archive.posting_index, parse_query(archive, "lighthouse keeper").terms)
    assert scored is not None
    towers, storms, *_ = scored.best
    assert (towers.path, storms.path) == ("Towers", "Storms")
    assert towers.topic > 2 * storms.topic > 0


def test_article_that_has_only_frequent_words_is_left_out_among_many(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(article_scores, "_MAX_ARTICLES", 1)

    assert best_paths(archive, "harbour lighthouse keeper") == ["Keepers", "Long_list"]


def test_lists_that_are_too_long_are_not_read(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(article_scores, "_MAX_POSTINGS", 10)

    assert best_paths(archive, "harbour lighthouse keeper") == ["Keepers", "Long_list"]


def test_words_in_groups_of_characters_are_searched_by_libzim(tmp_path: Path) -> None:
    archive = Archive("zh", [str(write_zim(tmp_path / "zh.zim", {"灯塔": "<p>灯塔 港口</p>"}))])
    assert archive.posting_index is not None

    assert score_postings(archive.posting_index, parse_query(archive, "灯塔").indexed_terms) is None


def test_file_that_cannot_be_read_is_left_to_libzim(archive: Archive) -> None:
    content = archive.read_fulltext_index(1 << 30)
    is_lost = False

    def read(at: int, size: int) -> bytes:
        if is_lost:
            raise OSError(errno.EIO, "input/output error")
        return content[at : at + size]

    index = PostingIndex(read)
    is_lost = True

    assert score_postings(index, parse_query(archive, "harbour keeper").indexed_terms) is None


def test_lists_of_the_same_words_are_read_once(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    assert archive.posting_index is not None
    terms = parse_query(archive, "harbour keeper").indexed_terms
    first = score_postings(archive.posting_index, terms, 5)
    monkeypatch.setattr(PostingIndex, "postings", None)

    again = score_postings(archive.posting_index, list(reversed(terms)))

    assert first is not None
    assert again == first


def test_large_archive_is_asked_by_its_lists(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_size, "MANY_ARTICLES", 1)

    found = find_candidates(archive, parse_query(archive, "harbour lighthouse keeper"), 0)

    assert found.scored[0][0] == "Keepers"
    assert found.full_matches == []
    assert found.rank_scores["Keepers"].keys() == {"keeper", "lighthouse"}


def test_articles_with_all_words_are_those_of_libzim(archive: Archive) -> None:
    assert archive.posting_index is not None
    listed = score_postings(archive.posting_index, parse_query(archive, "lighthouse harbour").indexed_terms, 100)

    assert listed is not None
    assert set(listed.matches) == set(archive.search_paths("lighthouse harbour", 100))
    assert listed.match_count == len(listed.matches) == 61


def test_articles_with_all_words_are_not_known_if_a_list_is_too_long(
    archive: Archive, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive_size, "MANY_ARTICLES", 1)
    monkeypatch.setattr(article_scores, "_MAX_POSTINGS", 10)

    found = find_candidates(archive, parse_query(archive, "harbour lighthouse keeper"), 5)

    assert (found.full_matches, found.match_count) == (["Long_list"], 1)


def test_articles_with_all_words_are_listed_without_a_search(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_size, "MANY_ARTICLES", 1)
    monkeypatch.setattr(Archive, "search_paths", None)

    found = find_candidates(archive, parse_query(archive, "lighthouse harbour"), 5)

    assert (len(found.full_matches), found.match_count) == (5, 61)


def test_pages_of_a_large_archive_continue_each_other(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive_size, "MANY_ARTICLES", 1)
    whole = search_text(archive, SearchText("lighthouse harbour", 0, 100, 50, 5.0))
    steps = [search_text(archive, SearchText("lighthouse harbour", offset, 7, 50, 5.0)) for offset in range(0, 63, 7)]

    assert [hit.path for step in steps for hit in step.results] == [hit.path for hit in whole.results]
    assert len({hit.path for hit in whole.results}) == 61
    assert {step.total for step in steps[:-1]} == {61}
