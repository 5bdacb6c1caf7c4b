from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from openzim_mcp import errors
from openzim_mcp.worker.search import fulltext as search
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

NOTES = dict.fromkeys(("corrected", "relaxed", "reason", "hint"))


def fulltext(archive: Archive, query: str, limit: int = 10, **rest: Any) -> SimpleNamespace:
    request = {"query": query, "mode": "fulltext", "limit": limit}
    request |= {name: rest[name] for name in ("namespace", "content_type") if name in rest}
    found = search.fulltext(archive, request, rest.get("offset", 0), rest.get("cursor"), 300, 5.0)
    return SimpleNamespace(**NOTES | found)


def paths(found: SimpleNamespace) -> list[str]:
    return [row.path for row in found.results]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Ravenport", "Ravenport"),
        ("RAVENPORT", "Ravenport"),
        ("Who founded the harbour town?", "Ravenport"),
        ("who was the shipwright who founded Ravenport", "Ravenport"),
        ("port of ravens", "Ravenport"),
        ("zurich", "Zürich"),
        ("Zuerich", "Zürich"),
        ("C++", "C++"),
        ("photosinthesis", "Alderwick"),
        ("liquid metal", "Mercury_(element)"),
        ("herring", "Herring"),
        ("https://example.org/wiki/Ada_Quill", "Ada_Quill"),
        ("lanternfish", "Lantern_fish"),
    ],
)
def test_the_right_article_comes_first(isles: Archive, query: str, first: str) -> None:
    assert paths(fulltext(isles, query))[0] == first


def test_a_result_shows_the_passage_that_matches(isles: Archive) -> None:
    found = fulltext(isles, "Who founded Ravenport?")

    assert dataclasses.asdict(found.results[0]) == {
        "path": "Ravenport",
        "title": "Ravenport",
        "section": "History",
        "snippet": "The town was **founded** in 1743 by the shipwright Ada Quill, who came from Alderwick.",
        "score": found.results[0].score,
    }
    assert (found.query, found.mode, found.archive) == ("Who founded Ravenport?", "fulltext", "isles.zim")
    assert (found.offset, found.limit, found.next_cursor, found.done) == (0, 10, None, True)
    assert (found.corrected, found.relaxed, found.reason, found.hint) == (None, None, None, None)


def test_scores_go_down(isles: Archive) -> None:
    scores = [row.score for row in fulltext(isles, "harbour", limit=100).results]

    assert scores == sorted(scores, reverse=True)


def test_a_page_of_links_ranks_below_content(isles: Archive) -> None:
    found = paths(fulltext(isles, "harbour founded herring"))

    assert set(found[:2]) == {"Ravenport", "Herring"}
    assert "tags/harbour" in found[2:]


def test_a_corrected_query_says_so(isles: Archive) -> None:
    assert fulltext(isles, "photosinthesis").corrected == {"photosinthesis": "photosynthesis"}


def test_a_relaxed_query_says_so(isles: Archive) -> None:
    found = fulltext(isles, "banks amber xylophone")

    assert found.relaxed == {"unknown_words": ["xylophone"], "no_article_has_all_of": ["banks", "amber"]}
    assert set(paths(found)[:2]) == {"Zürich", "Ravenport"}


def test_nothing_found_is_an_empty_page_with_a_hint(isles: Archive) -> None:
    found = fulltext(isles, "xylophone")

    assert (found.results, found.total, found.done) == ([], 0, True)
    assert found.hint == "Nothing was found; try fewer or other words, or mode='title'."


@pytest.mark.parametrize("query", ["?", "!!!", "a", "the", "-", '"', "(", "AND OR NOT", "x" * 1000, "harbour " * 100])
def test_odd_queries_have_clean_results(isles: Archive, query: str) -> None:
    found = fulltext(isles, query, limit=100)

    assert found.total == len(found.results)


@pytest.mark.parametrize("query", ["harbour", "Who founded Ravenport?", "mercury trade"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_pages_joined_are_the_whole_list(isles: Archive, query: str, size: int) -> None:
    whole = fulltext(isles, query, limit=100)
    rows: list[search.Result] = []
    cursor = None
    while True:
        page = fulltext(isles, query, limit=size, cursor=cursor)
        rows += page.results
        cursor = page.next_cursor
        if cursor is None:
            break

    assert rows == whole.results
    assert page.done
    assert whole.total == len(rows) == len({row.path for row in rows})
    assert fulltext(isles, query, limit=1, offset=1).results == whole.results[1:2]


def test_long_lists_are_walked_to_their_end(zims: Path) -> None:
    archive = Archive("x", [str(zims / "built/dictionary_pub.zim")])
    rows: list[str] = []
    cursor = None
    while True:
        page = fulltext(archive, "bird", limit=100, cursor=cursor)
        rows += paths(page)
        cursor = page.next_cursor
        if cursor is None:
            break

    assert len(rows) == len(set(rows)) == page.total == 158


def test_a_cursor_of_another_query_or_archive_is_refused(isles: Archive, towns: Archive) -> None:
    cursor = fulltext(isles, "harbour", limit=1).next_cursor

    with pytest.raises(errors.CursorRefused, match="another query"):
        fulltext(isles, "herring", cursor=cursor)
    with pytest.raises(errors.CursorRefused, match="another archive"):
        fulltext(towns, "harbour", cursor=cursor)


@pytest.mark.parametrize(
    ("only", "expected"),
    [
        ({"content_type": "text/html"}, {"Ravenport", "Ada_Quill", "Herring", "tags/harbour"}),
        ({"content_type": "text/*"}, {"Ravenport", "Ada_Quill", "Herring", "tags/harbour"}),
        ({"content_type": "image/png"}, set()),
        ({"namespace": "C"}, {"Ravenport", "Ada_Quill", "Herring", "tags/harbour"}),
        ({"namespace": "A"}, {"Ravenport", "Ada_Quill", "Herring", "tags/harbour"}),
        ({"namespace": "C/tags"}, {"tags/harbour"}),
        ({"namespace": "M"}, set()),
    ],
)
def test_filters_count_what_they_let_through(isles: Archive, only: dict[str, str], expected: set[str]) -> None:
    found = fulltext(isles, "harbour", **only)

    assert set(paths(found)) == expected
    assert found.total == len(expected)


def test_a_namespace_that_is_not_there_is_an_error_that_lists_them(isles: Archive) -> None:
    with pytest.raises(errors.NamespaceNotFound) as refused:
        fulltext(isles, "harbour", namespace="Q")

    assert refused.value.details["available_namespaces"] == ["C", "M", "W", "X"]


def test_filters_work_on_old_archives(zims: Path) -> None:
    archive = Archive("mini", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])

    assert paths(fulltext(archive, "USA", namespace="A"))[0] == "A/United_States"
    assert fulltext(archive, "USA", namespace="I").total == 0


def test_an_archive_without_an_index_is_read_if_it_is_small(tmp_path: Path) -> None:
    pages = {"One": "<p>A lantern in the fog.</p>", "Two": "<p>Fog and rain.</p>", "Lantern_fish": "<p>A fish.</p>"}
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages, index=False))])

    found = fulltext(archive, "lanterns in fog")

    assert paths(found)[0] == "One"
    assert found.results[0].snippet == "A **lantern** in the **fog**."
    assert (found.reason, found.hint) == ("no_xapian_index", "It has no full-text index: all 3 articles were read.")


def test_a_large_archive_without_an_index_is_searched_by_title(zims: Path) -> None:
    archive = Archive("ay", [str(zims / "real/wikipedia_ay_all_nopic_2017-03.zim")])

    found = fulltext(archive, "La Paz")

    assert paths(found)[0] == "A/Chuqi_Yapu.html"
    assert found.reason == "no_xapian_index"
    assert "4121 articles, too many to read" in str(found.hint)


@pytest.mark.parametrize(
    ("archive", "query", "expected"),
    [
        ("real/devdocs_en_sqlite_2025-04", "window functions", "windowfunctions"),
        ("real/devdocs_en_sqlite_2025-04", "foreign key", "foreignkeys"),
        ("built/devdocs_python", "json dumps", "library/json.html"),
        ("built/devdocs_python", "asyncio gather", "library/asyncio-task.html"),
        ("built/wiki_real_pub", "hermitian matrix eigenvalues", "Hermitian_matrix"),
        ("built/wiki_real_pub", "guido van rossum", "Python_(programming_language)"),
        ("built/gutenberg_pub", "mad hatter tea", "Alice's Adventures in Wonderland.11"),
        ("built/dictionary_pub", "geese", "goose"),
        ("real/wikipedia_en_100_mini_2022-10", "the beatles", "A/The_Beatles"),
        ("built/se_coffee", "how should I store whole bean coffee", "questions/1/how-should-i-store-whole-bean-coffee"),
    ],
)
def test_real_archives_are_searched(zims: Path, archive: str, query: str, expected: str) -> None:
    opened = Archive("x", [str(zims / f"{archive}.zim")])

    assert paths(fulltext(opened, query))[0] == expected


@pytest.mark.parametrize(("query", "total"), [("パッケージ", 77), ("ядро", 21), ("الحزم", 46), ("软件包", 76)])
def test_other_scripts_are_searched(zims: Path, query: str, total: int) -> None:
    found = fulltext(Archive("x", [str(zims / "built/nonlatin_pub.zim")]), query)

    assert found.total == total
    assert "**" in found.results[0].snippet


def test_text_without_spaces_that_the_index_cannot_split_is_read(tmp_path: Path) -> None:
    pages = {
        "กรุงเทพ": "<p>กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย</p>",
        "เชียงใหม่": "<p>เชียงใหม่เป็นจังหวัดในภาคเหนือมีดอกไม้และภูเขา</p>",
    }
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages, metadata={"Language": "tha"}))])

    assert paths(fulltext(archive, "เมืองหลวงของประเทศไทยคืออะไร"))[0] == "กรุงเทพ"
