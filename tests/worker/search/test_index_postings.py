from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.worker.search import index_postings
from openzim_mcp.worker.search.index_blocks import NotReadable
from openzim_mcp.worker.search.index_postings import PostingIndex
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def posting_index(archive: Archive) -> PostingIndex:
    index = archive.posting_index
    assert index is not None
    return index


def articles_of(index: PostingIndex, term: str) -> dict[int, int]:
    return {
        article: count
        for postings in index.postings(term)
        for article, count in zip(postings.articles, postings.counts, strict=True)
    }


@pytest.mark.parametrize(("word", "stem"), [("word", "word"), ("water", "water"), ("making", "make"), ("the", "the")])
def test_articles_of_a_word_are_those_that_libzim_finds(zims: Path, word: str, stem: str) -> None:
    archive = Archive("words", [str(zims / "built/dictionary_pub.zim")])
    index = posting_index(archive)

    found = articles_of(index, stem)

    assert len(found) == index.count(stem) == archive.frequency(word) > 100
    assert {index.path(article) for article in found} == set(archive.search_paths(word, 50_000))


def test_articles_know_how_often_they_have_a_word_and_their_lengths(tmp_path: Path) -> None:
    pages = {f"Page_{number}": f"<p>{'kelp ' * number} {'filler ' * 20}</p>" for number in range(1, 300)}
    index = posting_index(Archive("kelp", [str(write_zim(tmp_path / "kelp.zim", pages))]))

    counts = {index.path(article): count for article, count in articles_of(index, "kelp").items()}
    lengths = {index.path(article): length for article, length in index.lengths(sorted(articles_of(index, "kelp")))}

    assert counts == {f"Page_{number}": number for number in range(1, 300)}
    assert lengths["Page_250"] - lengths["Page_50"] == pytest.approx(200, abs=10)  # titles count by length
    assert index.average_length == pytest.approx(sum(lengths.values()) / len(lengths))


def test_word_that_no_article_has_is_not_there(zims: Path) -> None:
    index = posting_index(Archive("words", [str(zims / "built/dictionary_pub.zim")]))

    assert (index.count("flurbishwick"), articles_of(index, "flurbishwick")) == (0, {})


def test_archive_without_an_index_has_no_lists(zims: Path) -> None:
    assert Archive("plain", [str(zims / "built/noindex.zim")]).posting_index is None


def test_damaged_lists_end_with_an_error_or_other_articles(zims: Path) -> None:
    content = Archive("coffee", [str(zims / "built/se_coffee.zim")]).read_fulltext_index(1 << 30)
    for start in range(40, len(content), len(content) // 60):
        damaged = content[:start] + b"\xff" * 64 + content[start + 64 :]
        try:
            index = PostingIndex(lambda at, size, damaged=damaged: damaged[at : at + size])  # type: ignore[misc]
            articles = articles_of(index, "coffe")
            list(index.lengths(sorted(articles)[:50]))
            index.path(next(iter(articles), 1))
        except NotReadable:
            continue


def test_lengths_of_short_articles_are_kept(tmp_path: Path) -> None:
    pages = {f"Page_{number}": f"<p>{'kelp ' * number}</p>" for number in range(1, 60)}
    index = posting_index(Archive("kelp", [str(write_zim(tmp_path / "kelp.zim", pages))]))
    articles = sorted(articles_of(index, "kelp"))

    first, again = dict(index.lengths(articles)), dict(index.lengths(articles))

    assert first == again
    assert sum(first.values()) / len(first) == pytest.approx(index.average_length)


def test_lengths_that_were_read_first_are_dropped(zims: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    archive = Archive("words", [str(zims / "built/dictionary_pub.zim")])
    kept = posting_index(archive)
    expected = dict(kept.lengths(range(1, 21_000, 50)))
    monkeypatch.setattr(index_postings, "_KEPT_LENGTHS", 3000)

    index = posting_index(Archive("words", [str(zims / "built/dictionary_pub.zim")]))

    assert (kept.keeps_lengths, index.keeps_lengths) == (True, False)
    assert dict(index.lengths(expected)) == expected
    assert dict(index.lengths(reversed(expected))) == expected
    assert index._known_lengths._size <= 3000


def test_list_that_is_cut_has_a_count_for_each_article() -> None:
    postings = index_postings._next_postings(b"\0\5", bytes([0, 3, 2, 0, 4, 1]))

    assert (list(postings.articles), list(postings.counts)) == ([5, 6], [2, 4])
