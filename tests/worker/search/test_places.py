from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.places import FindNear, FindPlace, PlaceHit, PlaceOfEntry, ReadSnippets
from openzim_mcp.worker.search import places
from openzim_mcp.worker.search.places import find_near, find_place, read_snippets
from openzim_mcp.worker.zim import Archive
from support.archives import FIJI, PARIS, scan_all_pages, write_zim

TOWER = (48.8583, 2.2945)


def open_indexed(path: Path) -> Archive:
    scan_all_pages(path)
    return Archive(path.stem, [str(path)])


@pytest.fixture
def paris(tmp_path: Path) -> Archive:
    return open_indexed(write_zim(tmp_path / "paris.zim", PARIS))


def near(archive: Archive, query: str | None = None, radius_m: float = 10_000) -> list[str]:
    return [hit.path for hit in find_near(archive, FindNear(*TOWER, radius_m, 10, query)).results]


def test_nearest_place_is_first(paris: Archive) -> None:
    hits = find_near(paris, FindNear(*TOWER, 10_000, 10))

    assert [(hit.path, hit.direction) for hit in hits.results] == [
        ("Eiffel_Tower", None),
        ("Trocadéro", "NW"),
        ("Rodin_Museum", "E"),
        ("Louvre", "E"),
    ]
    assert hits.results[1] == PlaceHit("Trocadéro", "Trocadéro", 529, "NW")
    assert (hits.total, hits.done, hits.of, hits.is_partial) == (4, 6, 6, False)


def test_radius_limits_the_places(paris: Archive) -> None:
    assert near(paris, radius_m=600) == ["Eiffel_Tower", "Trocadéro"]
    assert near(paris, radius_m=20_000)[-1] == "Versailles"


@pytest.mark.parametrize("index", ["indexed", ""])
def test_words_leave_only_what_has_them(tmp_path: Path, index: str) -> None:
    archive = open_indexed(write_zim(tmp_path / "paris.zim", PARIS, index=bool(index)))

    assert near(archive, "museums") == ["Rodin_Museum", "Louvre"]
    assert near(archive, "art museum") == ["Louvre"]
    assert near(archive, "Trocadéro") == ["Trocadéro"]
    assert near(archive, "submarine") == []


def test_pages_are_read_where_the_index_has_too_many(paris: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_MAX_MATCHES", 1)

    assert near(paris, "museums") == ["Rodin_Museum", "Louvre"]
    monkeypatch.setattr(places, "_MAX_READ_PAGES", 1)
    assert find_near(paris, FindNear(*TOWER, 10_000, 10, "museums")).total_is_estimate


def test_left_out_entry_is_not_counted(paris: Archive) -> None:
    hits = find_near(paris, FindNear(*TOWER, 10_000, 10, left_out=("paris", "Eiffel_Tower")))

    assert hits.results[0].path == "Trocadéro"
    assert hits.total == 3


def test_places_across_the_date_line_are_near(tmp_path: Path) -> None:
    fiji = open_indexed(write_zim(tmp_path / "fiji.zim", FIJI))

    hits = find_near(fiji, FindNear(-16.8, 179.95, 150_000, 10)).results

    assert [(hit.path, hit.direction) for hit in hits] == [("Taveuni", "SE"), ("Rabi", "N"), ("Vanua_Levu", "W")]
    assert hits[0].distance_m < 12_000


def test_archive_that_was_not_scanned_says_so(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "paris.zim", PARIS)

    hits = find_near(Archive("paris", [str(path)]), FindNear(*TOWER, 10_000, 10))

    assert (hits.results, hits.done, hits.is_partial) == ([], 0, True)


def test_place_of_an_entry_needs_no_index(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "paris.zim", PARIS, redirects={"Tour Eiffel": "Eiffel_Tower"})
    archive = Archive("paris", [str(path)])

    assert find_place(archive, FindPlace("Tour Eiffel")) == PlaceOfEntry(
        "Eiffel_Tower", "Eiffel Tower", "paris.zim", TOWER
    )
    assert find_place(archive, FindPlace("Auguste Rodin")).coordinates is None
    with pytest.raises(errors.EntryNotFound):
        find_place(archive, FindPlace("Atlantis"))


def test_snippets_show_the_words(paris: Archive) -> None:
    snippets = read_snippets(paris, ReadSnippets(["Louvre", "Missing"], "museums", 200))

    assert snippets == {"Louvre": "The Louvre is an art **museum** with many paintings."}
