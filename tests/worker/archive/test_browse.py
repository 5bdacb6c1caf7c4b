from __future__ import annotations

from pathlib import Path

import pytest
from libzim.writer import Creator

from openzim_mcp import errors
from openzim_mcp.worker.archive import browse
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def paths(found: browse.Page | browse.Walk) -> list[str]:
    return [entry.path for entry in found.entries]


def test_a_page_counts_from_its_offset(towns: Archive) -> None:
    page = browse.page(towns, "C", offset=1, limit=2)

    assert paths(page) == ["Port", "Ravenport"]
    assert (page.namespace, page.total, page.offset, page.limit, page.done) == ("C", 7, 1, 2, False)


def test_a_page_beyond_the_end_is_empty_and_done(towns: Archive) -> None:
    page = browse.page(towns, "C", offset=700, limit=50)

    assert (page.entries, page.total, page.done) == ([], 7, True)


@pytest.mark.parametrize(
    ("wanted", "name", "found"),
    [
        ("C", "C", 7),
        ("c", "C", 7),
        ("A", "C", 7),
        ("C/", "C", 7),
        ("C/maps", "C/maps", 2),
        ("A/maps", "C/maps", 2),
        ("maps", "C/maps", 2),
        ("maps/", "C/maps", 2),
        ("M", "M", 4),
        ("W", "W", 1),
    ],
)
def test_a_namespace_or_a_folder_is_found(towns: Archive, wanted: str, name: str, found: int) -> None:
    page = browse.page(towns, wanted, offset=0, limit=50)

    assert (page.namespace, page.total) == (name, found)
    assert len(page.entries) == found


@pytest.mark.parametrize(
    ("wanted", "name", "found"),
    [("A", "A", 3986), ("C", "A", 3986), ("-", "-", 66), ("I", "I", 1), ("-/mw", "-/mw", 53)],
)
def test_old_archives_have_their_own_namespaces(zims: Path, wanted: str, name: str, found: int) -> None:
    archive = Archive("100", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])

    page = browse.page(archive, wanted, offset=0, limit=1)

    assert (page.namespace, page.total) == (name, found)


def test_a_folder_of_a_captured_site_is_its_host(zims: Path) -> None:
    archive = Archive("debian", [str(zims / "built/zimit_debian.zim")])
    everything = browse.page(archive, "C", offset=0, limit=500)
    host = paths(everything)[len(everything.entries) // 2].partition("/")[0]

    page = browse.page(archive, host, offset=0, limit=500)

    assert paths(page) == [path for path in paths(everything) if path.startswith(f"{host}/")]


@pytest.mark.parametrize("wanted", ["Q", "nothing", "C/nothing", "", "\ud800", "'"])
def test_what_is_not_there_is_an_error_that_lists_what_is(towns: Archive, wanted: str) -> None:
    with pytest.raises(errors.NamespaceNotFound) as caught:
        browse.page(towns, wanted, offset=0, limit=1)

    assert caught.value.details["available_namespaces"] == ["C", "M", "W", "X"]


def walk_all(archive: Archive, namespace: str, limit: int) -> list[str]:
    found: list[str] = []
    cursor = None
    while True:
        step = browse.walk(archive, namespace, cursor, limit)
        found += paths(step)
        assert step.done is (step.next_cursor is None)
        if step.done:
            return found
        cursor = step.next_cursor


@pytest.mark.parametrize("limit", [1, 3, 7, 500])
def test_a_walk_gives_the_same_list_whatever_the_step(towns: Archive, limit: int) -> None:
    assert walk_all(towns, "C", limit) == paths(browse.page(towns, "C", offset=0, limit=500))


def test_a_walk_over_300_000_entries_visits_each_exactly_once(tmp_path: Path) -> None:
    path = tmp_path / "big.zim"
    expected = {"target"} | {f"r/{number:06d}" for number in range(300_000)}
    write_big(path)

    found = walk_all(Archive("big", [str(path)]), "C", 500)

    assert len(found) == 300_001
    assert set(found) == expected


def write_big(path: Path) -> None:
    from support.archives import Page

    creator = Creator(path).config_indexing(False, "eng")
    with creator:
        creator.add_item(Page("target", "Target", "<p>x</p>", "text/html"))
        for number in range(300_000):
            creator.add_redirection(f"r/{number:06d}", f"R {number}", "target", {})


def test_a_cursor_knows_its_namespace_and_refuses_another(towns: Archive) -> None:
    cursor = browse.walk(towns, "C/maps", None, 1).next_cursor

    assert paths(browse.walk(towns, "maps", cursor, 5)) == ["maps/ravenport.png"]
    with pytest.raises(errors.CursorRefused, match="another namespace"):
        browse.walk(towns, "M", cursor, 5)


def test_a_cursor_of_another_archive_is_refused(towns: Archive, tmp_path: Path) -> None:
    other = Archive("towns", [str(write_zim(tmp_path / "towns.zim", {"A": "x", "B": "y"}))])
    cursor = browse.walk(towns, "C", None, 1).next_cursor

    with pytest.raises(errors.CursorRefused, match="another archive"):
        browse.walk(other, "C", cursor, 5)


def test_paths_that_begin_alike_are_found_by_halving(towns: Archive) -> None:
    maps = browse.beginning_with(towns, "maps/", 1, pages_only=False)
    pages = browse.beginning_with(towns, "", 10, pages_only=True)

    assert maps == browse.Beginnings(["maps/alderwick.png"], 2)
    assert pages == browse.Beginnings(["Alderwick", "Port", "Ravenport", "Zürich"], 4)
