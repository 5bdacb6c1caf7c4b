from __future__ import annotations

import re
from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.search import SearchHit, SearchHits, SearchText
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.search import article_scan, fulltext, passage_index
from openzim_mcp.worker.search.fulltext import search_text
from openzim_mcp.worker.zim import Archive
from support.archives import build_index, write_zim


def search(
    archive: Archive,
    query: str,
    limit: int = 10,
    offset: int = 0,
    namespace: str | None = None,
    content_type: str | None = None,
) -> SearchHits:
    call = SearchText(
        query,
        offset,
        limit,
        snippet_chars=300,
        scan_seconds=5.0,
        namespace=namespace,
        content_type=content_type,
    )
    return search_text(archive, call)


def paths(hits: SearchHits) -> list[str]:
    return [row.path for row in hits.results]


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
def test_right_article_comes_first(isles: Archive, query: str, first: str) -> None:
    assert paths(search(isles, query))[0] == first


def test_result_shows_the_matching_passage(isles: Archive) -> None:
    hits = search(isles, "Who founded Ravenport?")

    assert hits.results[0] == SearchHit(
        path="Ravenport",
        title="Ravenport",
        section="History",
        snippet="The town was **founded** in 1743 by the shipwright Ada Quill, who came from Alderwick.",
        score=hits.results[0].score,
    )
    assert hits.total == hits.listed == len(hits.results)
    assert (hits.corrected, hits.relaxed, hits.reason, hits.hint) == ({}, {}, None, None)
    assert not hits.total_is_estimate


def test_scores_are_descending(isles: Archive) -> None:
    scores = [row.score for row in search(isles, "harbour", limit=100).results]

    assert scores == sorted(scores, reverse=True)


def test_page_of_links_ranks_below_content(isles: Archive) -> None:
    ranked = paths(search(isles, "harbour founded herring"))

    assert set(ranked[:2]) == {"Ravenport", "Herring"}
    assert "tags/harbour" in ranked[2:]


def test_corrections_are_reported(isles: Archive) -> None:
    assert search(isles, "photosinthesis").corrected == {"photosinthesis": "photosynthesis"}


def test_relaxed_words_are_reported(isles: Archive) -> None:
    hits = search(isles, "banks amber xylophone")

    assert hits.relaxed == {"unknown_words": ["xylophone"], "no_article_has_all_of": ["banks", "amber"]}
    assert set(paths(hits)[:2]) == {"Zürich", "Ravenport"}


def test_empty_result_has_a_hint(isles: Archive) -> None:
    hits = search(isles, "xylophone")

    assert (hits.results, hits.total, hits.listed) == ([], 0, 0)
    assert hits.hint == "Nothing was found; try fewer or other words, or mode='title'."


@pytest.mark.parametrize("query", ["?", "!!!", "a", "the", "-", '"', "(", "AND OR NOT", "x" * 1000, "harbour " * 100])
def test_odd_queries_count_their_results(isles: Archive, query: str) -> None:
    hits = search(isles, query, limit=100)

    assert hits.total == len(hits.results)


@pytest.mark.parametrize("query", ["harbour", "Who founded Ravenport?", "mercury trade"])
@pytest.mark.parametrize("limit", [1, 2, 3])
def test_pages_joined_are_the_whole_list(isles: Archive, query: str, limit: int) -> None:
    whole = search(isles, query, limit=100)

    pages = [search(isles, query, limit, offset) for offset in range(0, whole.listed, limit)]
    rows = [row for page in pages for row in page.results]

    assert rows == whole.results
    assert whole.total == whole.listed == len(rows) == len({row.path for row in rows})
    assert {page.total for page in pages} == {page.listed for page in pages} == {whole.total}
    assert search(isles, query, limit=1, offset=1).results == whole.results[1:2]
    assert search(isles, query, limit, offset=whole.listed).results == []


def test_long_list_is_complete(zims: Path) -> None:
    archive = Archive("x", [str(zims / "built/dictionary_pub.zim")])
    total = search(archive, "bird", limit=1).total

    rows = [path for offset in range(0, total, 100) for path in paths(search(archive, "bird", 100, offset))]

    assert len(rows) == len(set(rows)) == total == 158


@pytest.mark.parametrize(
    ("filters", "expected"),
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
def test_filtered_results_are_counted(isles: Archive, filters: dict[str, str], expected: set[str]) -> None:
    hits = search(isles, "harbour", **filters)

    assert set(paths(hits)) == expected
    assert hits.total == len(expected)


def test_missing_namespace_error_lists_the_namespaces(isles: Archive) -> None:
    with pytest.raises(errors.NamespaceNotFound) as caught:
        search(isles, "harbour", namespace="Q")

    assert caught.value.details["available_namespaces"] == ["C", "M", "W", "X"]


def test_filters_work_on_old_archives(zims: Path) -> None:
    archive = Archive("mini", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])

    assert paths(search(archive, "USA", namespace="A"))[0] == "A/United_States"
    assert search(archive, "USA", namespace="I").total == 0


def test_small_archive_without_index_is_scanned(tmp_path: Path) -> None:
    pages = {"One": "<p>A lantern in the fog.</p>", "Two": "<p>Fog and rain.</p>", "Lantern_fish": "<p>A fish.</p>"}
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages, index=False))])

    hits = search(archive, "lanterns in fog")

    assert paths(hits)[0] == "One"
    assert hits.results[0].snippet == "A **lantern** in the **fog**."
    assert (hits.reason, hits.hint) == ("no_xapian_index", "It has no full-text index: all 3 articles were read.")


def test_large_archive_without_index_is_searched_by_title(zims: Path) -> None:
    archive = Archive("ay", [str(zims / "real/wikipedia_ay_all_nopic_2017-03.zim")])

    hits = search(archive, "La Paz")

    assert paths(hits)[0] == "A/Chuqi_Yapu.html"
    assert hits.reason == "no_xapian_index"
    assert "4121 articles, too many to read" in str(hits.hint)


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

    assert paths(search(opened, query))[0] == expected


@pytest.mark.parametrize(("query", "total"), [("パッケージ", 111), ("ядро", 21), ("الحزم", 46), ("软件包", 91)])
def test_other_scripts_are_searched(zims: Path, query: str, total: int) -> None:
    hits = search(Archive("x", [str(zims / "built/nonlatin_pub.zim")]), query)

    assert hits.total == total
    assert "**" in hits.results[0].snippet


def test_thai_text_is_scanned(tmp_path: Path) -> None:
    pages = {
        "กรุงเทพ": "<p>กรุงเทพมหานครเป็นเมืองหลวงและนครที่มีประชากรมากที่สุดของประเทศไทย</p>",
        "เชียงใหม่": "<p>เชียงใหม่เป็นจังหวัดในภาคเหนือมีดอกไม้และภูเขา</p>",
    }
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages, metadata={"Language": "tha"}))])

    assert paths(search(archive, "เมืองหลวงของประเทศไทยคืออะไร"))[0] == "กรุงเทพ"


THAI = {
    "กบนา": "<p>กบนาเป็นสัตว์สะเทินน้ำสะเทินบกที่พบในทุ่งนา วางไข่ในฤดูฝน</p>",
    "แตงโม": "<p>แตงโมเป็นพืชเถาในวงศ์แตง มีถิ่นกำเนิดในทวีปแอฟริกา</p>",
    "ไม้สัก": "<p>ไม้สักเป็นไม้เนื้อแข็งที่ทนปลวกและเชื้อรา</p>",
}


@pytest.mark.parametrize(
    ("query", "first"), [("แตงโมมาจากทวีปอะไร", "แตงโม"), ("ปลวกไม่กินไม้ชนิดใด", "ไม้สัก"), ("สัตว์ใดวางไข่ตอนฝนตก", "กบนา")]
)
@pytest.mark.parametrize("is_indexed", [[], ["x"]])
def test_thai_questions_find_their_article(tmp_path: Path, query: str, first: str, is_indexed: list[str]) -> None:
    path = write_zim(tmp_path / "x.zim", THAI, metadata={"Language": "tha"})
    for _ in is_indexed:
        build_index(path)

    hits = search(Archive("x", [str(path)]), query)

    assert paths(hits)[0] == first
    assert "**" in hits.results[0].snippet
    assert not re.search(r"\*\*[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e]", hits.results[0].snippet)


def test_thai_titles_are_found_in_a_large_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(article_scan, "_MAX_ARTICLES", 1)
    archives = [
        Archive(name, [str(write_zim(tmp_path / f"{name}.zim", THAI, metadata={"Language": "tha"}, index=index))])
        for name, index in (("with", True), ("without", False))
    ]

    assert [paths(search(archive, "บ้านเกิดของแตงโมอยู่ทวีปอะไร"))[0] for archive in archives] == ["แตงโม", "แตงโม"]


@pytest.mark.parametrize(("language", "expected"), [("tha", ["แตงโม"]), ("", ["แตงโม"]), ("eng", [])])
def test_thai_query_scans_archives_that_may_have_thai(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, language: str, expected: list[str]
) -> None:
    monkeypatch.setattr(fulltext, "_MAX_RESCANNED_ARTICLES", 0)
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", THAI, metadata={"Language": language}))])

    assert paths(search(archive, "ถิ่นกำเนิดในทวีป"))[:1] == expected


def test_passage_index_serves_archives_without_an_index(zims: Path) -> None:
    path = zims / "real/wikipedia_ay_all_nopic_2017-03.zim"
    build_index(path)

    hits = search(Archive("ay", [str(path)]), "Alejandro Toledo Manrique")

    assert "**Toledo**" in hits.results[0].snippet
    assert (hits.reason, hits.hint) == (
        "no_xapian_index",
        "It has no full-text index of its own: 26713 passages were searched by trigrams.",
    )


def test_index_damaged_inside_is_removed(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "x.zim", THAI, metadata={"Language": "tha"})
    build_index(path)
    archive = Archive("x", [str(path)])
    file = Path(passage_index.index_path(archive.identity))
    content = file.read_bytes()
    file.write_bytes(content[:8192] + b"\xff" * (len(content) - 8192))

    assert paths(search(archive, "แตงโมมาจากทวีปอะไร"))[0] == "แตงโม"
    assert passage_index.read_state(archive) is None


def test_search_on_a_slow_disk_returns_what_it_has_and_says_so(isles: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    call = SearchText("which shipwright founded the harbour town", 0, 10, 200, 5)
    timer.start_call(1000, is_about_entry=False)
    complete = search_text(isles, call)

    monkeypatch.setattr(timer, "_late_at", 0.0)
    passages_read_late = search_text(isles, SearchText("shipwright harbour", 0, 10, 200, 5))

    assert not complete.is_partial
    assert passages_read_late.is_partial
    assert passages_read_late.results
    assert passages_read_late.hint == fulltext.SLOW_DISK
    monkeypatch.undo()
    timer.start_call(1000, is_about_entry=False)
    assert not search_text(isles, SearchText("shipwright harbour", 0, 10, 200, 5)).is_partial
