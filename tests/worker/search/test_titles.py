from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.reading import ClosestTitle, FindClosestTitle, LocatedEntry
from openzim_mcp.calls.search import FindTitles, Suggestion, Suggestions, SuggestTitles, TitleHit, TitleHits
from openzim_mcp.worker.search import titles
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def find(archive: Archive, query: str, limit: int = 10, offset: int = 0) -> TitleHits:
    return titles.find_titles(archive, FindTitles(query, offset, limit))


def suggest(archive: Archive, query: str, limit: int = 10, offset: int = 0) -> Suggestions:
    return titles.suggest_titles(archive, SuggestTitles(query, offset, limit))


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Ravenport", TitleHit("Ravenport", "Ravenport", "exact")),
        ("ravenport", TitleHit("Ravenport", "Ravenport", "exact")),
        ("Ada_Quill", TitleHit("Ada_Quill", "Ada Quill", "exact")),
        ("port of ravens", TitleHit("Ravenport", "Ravenport", "redirect", via="Port of Ravens")),
        ("zurich", TitleHit("Zürich", "Zürich", "exact")),
        ("C++", TitleHit("C++", "C++", "exact")),
        ("c", TitleHit("C", "C", "exact")),
        ("new years day", TitleHit("New_Year's_Day", "New Year's Day", "exact")),
        ("arvenport", TitleHit("Ravenport", "Ravenport", "fuzzy")),
        ("raven", TitleHit("Ravenport", "Ravenport", "prefix")),
        ("ravenprot", TitleHit("Ravenport", "Ravenport", "fuzzy")),
        ("ada qwill", TitleHit("Ada_Quill", "Ada Quill", "fuzzy")),
    ],
)
def test_article_is_found_by_its_title(isles: Archive, query: str, first: TitleHit) -> None:
    assert find(isles, query).results[0] == first


def test_meanings_of_a_title_are_listed_together(isles: Archive) -> None:
    hits = find(isles, "mercury")

    assert {row.path for row in hits.results} == {"Mercury_(planet)", "Mercury_(element)", "Mercury_(god)"}
    assert {row.match for row in hits.results} == {"prefix"}


def test_disambiguation_page_adds_its_meanings(tmp_path: Path) -> None:
    pages = {
        "Jaguar": '<h1>Jaguar</h1><p><b>Jaguar</b> may refer to:</p><div id="disambigbox">disambiguation</div>'
        '<ul><li><a href="Jaguar_Cars">Jaguar Cars</a>, a maker</li><li><a href="SEPECAT_Jaguar">a plane</a></li></ul>',
        "Jaguar_Cars": "<p>Cars.</p>",
        "SEPECAT_Jaguar": "<p>A plane.</p>",
    }
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages))])

    assert [(row.path, row.match) for row in find(archive, "jaguar").results] == [
        ("Jaguar", "exact"),
        ("Jaguar_Cars", "prefix"),
        ("SEPECAT_Jaguar", "prefix"),
    ]


def test_unknown_title_finds_nothing(isles: Archive) -> None:
    assert find(isles, "Quetzalcoatl") == TitleHits([], 0)


def test_title_pages_joined_are_the_whole_list(isles: Archive) -> None:
    whole = find(isles, "mercury")
    first = find(isles, "mercury", limit=2)
    second = find(isles, "mercury", limit=2, offset=2)

    assert [*first.results, *second.results] == whole.results
    assert first.total == second.total == whole.total == len(whole.results) == 3


def test_suggestion_pages_joined_are_the_whole_list(isles: Archive) -> None:
    whole = suggest(isles, "merc")
    first = suggest(isles, "merc", limit=2)
    second = suggest(isles, "merc", limit=2, offset=2)

    assert [*first.suggestions, *second.suggestions] == whole.suggestions
    assert first.total == second.total == whole.total == len(whole.suggestions) == 3


def test_archive_without_index_is_searched_by_title_start(zims: Path) -> None:
    archive = Archive("noindex", [str(zims / "real/wikipedia_ay_all_nopic_2017-03.zim")])

    assert find(archive, "la paz").results[0].match == "redirect"


def test_suggestions_complete_the_typed_text(isles: Archive) -> None:
    assert suggest(isles, "raven").suggestions == [Suggestion("Ravenport", "Ravenport")]
    assert suggest(isles, "her").suggestions == [Suggestion("Herring", "Herring")]


def test_target_of_many_redirects_is_suggested_first(zims: Path) -> None:
    archive = Archive("mini", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])

    assert suggest(archive, "usa").suggestions[0] == Suggestion("A/United_States", "United States")


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Mercury (planet)", "Mercury"), ("Beatles (The)", "Beatles"), ("(USA)", "(USA)"), ("a (b) c", "a (b) c")],
)
def test_qualifier_is_removed_from_the_title(title: str, expected: str) -> None:
    assert titles.without_qualifier(title) == expected


def test_most_mentioned_title_is_suggested_first(zims: Path) -> None:
    archive = Archive("words", [str(zims / "built/dictionary_pub.zim")])

    assert [row.title for row in suggest(archive, "wat").suggestions[:3]] == ["water", "watch", "watching"]


def test_tag_pages_are_suggested_last(zims: Path) -> None:
    rows = suggest(Archive("coffee", [str(zims / "built/se_coffee.zim")]), "espresso", limit=50).suggestions

    listings = [titles.is_listing_page(row.path) for row in rows]
    assert listings == sorted(listings)
    assert any(listings)


@pytest.mark.parametrize(
    ("archive", "requested", "path"),
    [
        ("built/wiki_real_pub", "hermitan matrix", "Hermitian_matrix"),
        ("built/wiki_real_pub", "Python (programing language)", "Python_(programming_language)"),
        ("built/wiki_real_pub", "HERMITIAN-MATRIX", "Hermitian_matrix"),
        ("real/wikipedia_en_100_mini_2022-10", "Untied States", "A/United_States"),
    ],
)
def test_typo_finds_the_closest_title(zims: Path, archive: str, requested: str, path: str) -> None:
    opened = Archive("a", [str(zims / f"{archive}.zim")])

    assert titles.find_closest_title(opened, FindClosestTitle(requested)).path == path


def test_miss_names_the_closest_titles(zims: Path) -> None:
    archive = Archive("a", [str(zims / "built/wiki_real_pub.zim")])

    closest = titles.find_closest_title(archive, FindClosestTitle("Hermitian operators in physics"))

    assert closest.path is None
    assert LocatedEntry("Hermitian_matrix", "Hermitian matrix") in closest.did_you_mean


@pytest.mark.parametrize("requested", ["Hexagonal zeppelins", "Herbaceous", "of the which", "Quetzalcoatl"])
def test_unrelated_titles_are_not_offered(zims: Path, requested: str) -> None:
    archive = Archive("a", [str(zims / "built/wiki_real_pub.zim")])

    closest = titles.find_closest_title(archive, FindClosestTitle(requested))

    assert closest == ClosestTitle(None, [])


def test_article_with_many_redirects_comes_before_its_equals(tmp_path: Path) -> None:
    pages = {f"Springfield_{name}": "<p>A town.</p>" for name in ("Abbey", "Bridge", "Castle", "Dam")}
    redirects = {f"Name {number}": "Springfield_Castle" for number in range(10)}
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", pages, redirects=redirects))])

    assert find(archive, "springfield").results[0].path == "Springfield_Castle"
    assert suggest(archive, "springf").suggestions[0].path == "Springfield_Castle"
