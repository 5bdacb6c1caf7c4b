from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from openzim_mcp.worker.search import titles
from openzim_mcp.worker.search.titles import Suggestion, Title
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def find(archive: Archive, query: str, limit: int = 10, **rest: Any) -> SimpleNamespace:
    request = {"query": query, "mode": "title", "limit": limit}
    return SimpleNamespace(**titles.find(archive, request, rest.get("offset", 0), rest.get("cursor")))


def suggest(archive: Archive, query: str, limit: int = 10, **rest: Any) -> SimpleNamespace:
    request = {"query": query, "mode": "suggest", "limit": limit}
    return SimpleNamespace(**titles.suggest(archive, request, rest.get("offset", 0), rest.get("cursor")))


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("Ravenport", Title("Ravenport", "Ravenport", "exact")),
        ("ravenport", Title("Ravenport", "Ravenport", "exact")),
        ("Ada_Quill", Title("Ada_Quill", "Ada Quill", "exact")),
        ("port of ravens", Title("Ravenport", "Ravenport", "redirect", via="Port of Ravens")),
        ("zurich", Title("Zürich", "Zürich", "exact")),
        ("C++", Title("C++", "C++", "exact")),
        ("c", Title("C", "C", "exact")),
        ("new years day", Title("New_Year's_Day", "New Year's Day", "exact")),
        ("arvenport", Title("Ravenport", "Ravenport", "fuzzy")),
        ("raven", Title("Ravenport", "Ravenport", "prefix")),
        ("ravenprot", Title("Ravenport", "Ravenport", "fuzzy")),
        ("ada qwill", Title("Ada_Quill", "Ada Quill", "fuzzy")),
    ],
)
def test_an_article_is_found_by_its_title(isles: Archive, query: str, first: Title) -> None:
    assert find(isles, query).results[0] == first


def test_the_meanings_of_a_title_are_listed_together(isles: Archive) -> None:
    found = find(isles, "mercury")

    assert {row.path for row in found.results} == {"Mercury_(planet)", "Mercury_(element)", "Mercury_(god)"}
    assert {row.match for row in found.results} == {"prefix"}


def test_a_page_that_lists_meanings_brings_them_along(tmp_path: Path) -> None:
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


def test_nothing_is_found_by_a_title_that_is_not_there(isles: Archive) -> None:
    found = find(isles, "Quetzalcoatl")

    assert (found.results, found.total, found.next_cursor, found.done) == ([], 0, None, True)


def test_pages_of_titles_are_stable(isles: Archive) -> None:
    whole = find(isles, "mercury").results
    first = find(isles, "mercury", limit=2)
    second = find(isles, "mercury", limit=2, cursor=first.next_cursor)

    assert [*first.results, *second.results] == whole
    assert (first.done, second.done, second.next_cursor, second.offset) == (False, True, None, 2)


def test_an_archive_without_any_index_is_searched_by_the_beginning_of_titles(zims: Path) -> None:
    archive = Archive("noindex", [str(zims / "real/wikipedia_ay_all_nopic_2017-03.zim")])

    assert find(archive, "la paz").results[0].match == "redirect"


def test_suggestions_go_on_from_what_was_typed(isles: Archive) -> None:
    assert suggest(isles, "raven").suggestions == [Suggestion("Ravenport", "Ravenport")]
    assert suggest(isles, "her").suggestions == [Suggestion("Herring", "Herring")]


def test_what_many_titles_lead_to_is_suggested_first(zims: Path) -> None:
    archive = Archive("mini", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])

    assert suggest(archive, "usa").suggestions[0] == Suggestion("A/United_States", "United States")


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Mercury (planet)", "Mercury"), ("Beatles (The)", "Beatles"), ("(USA)", "(USA)"), ("a (b) c", "a (b) c")],
)
def test_a_bare_title_has_no_brackets_at_its_end(title: str, expected: str) -> None:
    assert titles.bare(title) == expected


def test_titles_inside_a_question_are_looked_up_the_longest_first(isles: Archive) -> None:
    found = titles.runs(isles, "when did ada quill leave Alderwick?", frozenset({"when", "did"}))

    assert found == {"Ada_Quill": ["ada", "quill"], "Alderwick": ["Alderwick"]}


def test_what_is_most_spoken_of_is_suggested_first(zims: Path) -> None:
    archive = Archive("words", [str(zims / "built/dictionary_pub.zim")])

    assert [row.title for row in suggest(archive, "wat").suggestions[:3]] == ["water", "watch", "watching"]


def test_pages_of_tags_are_suggested_last(zims: Path) -> None:
    found = suggest(Archive("coffee", [str(zims / "built/se_coffee.zim")]), "espresso", limit=50).suggestions

    noise = [titles.is_noise(row.path) for row in found]
    assert noise == sorted(noise)
    assert any(noise)
