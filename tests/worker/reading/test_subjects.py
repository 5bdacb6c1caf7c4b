from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.subjects import FindSame, ReadSubject, SameSubject, TranslatedEntry
from openzim_mcp.worker.reading.subjects import find_same, read_subject
from openzim_mcp.worker.zim import Archive
from support.archives import write_languages, write_zim


@pytest.fixture
def archives(tmp_path: Path) -> dict[str, Archive]:
    write_languages(tmp_path)
    return {path.stem: Archive(path.stem, [str(path)]) for path in tmp_path.glob("*.zim")}


def find(archives: dict[str, Archive], path: str, source: str, target: str) -> str | None:
    subject = read_subject(archives[f"{source}_all"], ReadSubject(path))
    same = find_same(archives[f"{target}_all"], FindSame(subject))
    return same.entry.path if same.entry else None


@pytest.mark.parametrize(
    ("path", "source", "target", "expected"),
    [
        ("Eiffel_Tower", "wikipedia_en", "wikipedia_de", "Eiffelturm"),
        ("Eiffelturm", "wikipedia_de", "wikipedia_en", "Eiffel_Tower"),
        ("Dog", "wikipedia_en", "wikipedia_de", "Hund"),
        ("Hund", "wikipedia_de", "wikipedia_en", None),
        ("Gift", "wikipedia_en", "wikipedia_de", None),
        ("Ada_Lovelace", "wikipedia_en", "wikipedia_de", "Ada_Lovelace"),
        ("Berlin", "wikipedia_en", "wikipedia_de", "Berlin"),
        ("Paris", "wikipedia_en", "wikipedia_de", None),
        ("Eiffel_Tower", "wikipedia_en", "wikivoyage_en", "Eiffel_Tower"),
        ("Springfield", "wikipedia_en", "wikivoyage_en", None),
        ("Mercury", "wikipedia_en", "wikivoyage_en", None),
        ("Mercury", "wikivoyage_en", "wikipedia_en", None),
        ("Main", "wikipedia_en", "wikivoyage_en", None),
    ],
)
def test_same_subject_is_found_only_where_something_tells_it(
    archives: dict[str, Archive], path: str, source: str, target: str, expected: str | None
) -> None:
    assert find(archives, path, source, target) == expected


def test_titles_are_compared_only_if_asked_for(archives: dict[str, Archive]) -> None:
    subject = read_subject(archives["wikipedia_en_all"], ReadSubject("Ada_Lovelace"))

    assert find_same(archives["wikipedia_de_all"], FindSame(subject, by_title=False)) == SameSubject()


def test_item_may_be_found_later_while_pages_are_read(tmp_path: Path, archives: dict[str, Archive]) -> None:
    path = write_zim(tmp_path / "new.zim", {"Turm": '<p data-wikidata="Q243">Ein Turm.</p>'})
    subject = read_subject(archives["wikipedia_en_all"], ReadSubject("Eiffel_Tower"))

    assert find_same(Archive("new", [str(path)]), FindSame(subject)) == SameSubject(is_partial=True)


def test_language_of_the_other_entry_is_told(archives: dict[str, Archive]) -> None:
    subject = read_subject(archives["wikipedia_en_all"], ReadSubject("Eiffel_Tower"))

    assert find_same(archives["wikipedia_de_all"], FindSame(subject)).language == "de"


def test_translations_in_the_same_archive_are_entries(tmp_path: Path) -> None:
    link = '<link rel="alternate" hreflang="{}" href="../{}/tea">'
    pages = {"en/tea": link.format("de", "de") + link.format("fr", "fr") + "<p>Tea.</p>", "de/tea": "<p>Tee.</p>"}
    path = write_zim(tmp_path / "site.zim", pages)

    subject = read_subject(Archive("site", [str(path)]), ReadSubject("en/tea"))

    assert subject.translations == [TranslatedEntry("de", path="de/tea", title="de/tea")]
