from __future__ import annotations

from pathlib import Path

import pytest
from libzim.writer import Creator

from openzim_mcp import errors
from openzim_mcp.calls.archive import (
    ArticleRows,
    CompletePath,
    EntryRows,
    ListArticles,
    ListEntries,
    PathCompletions,
)
from openzim_mcp.worker.archive import browse
from openzim_mcp.worker.archive.browse import complete_path, list_articles, list_entries
from openzim_mcp.worker.reading.resolve import require_entry
from openzim_mcp.worker.zim import Archive
from support.archives import Page, write_zim


def paths(rows: EntryRows | ArticleRows) -> list[str]:
    return [entry.path for entry in rows.entries]


def test_listing_starts_at_the_offset(towns: Archive) -> None:
    rows = list_entries(towns, ListEntries("C", offset=1, limit=2))

    assert paths(rows) == ["Port", "Ravenport"]
    assert (rows.namespace, rows.total) == ("C", 7)


def test_listing_beyond_the_end_is_empty(towns: Archive) -> None:
    rows = list_entries(towns, ListEntries("C", offset=700, limit=50))

    assert (rows.entries, rows.total) == ([], 7)


@pytest.mark.parametrize(
    ("requested", "name", "total"),
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
def test_namespace_or_folder_is_found(towns: Archive, requested: str, name: str, total: int) -> None:
    rows = list_entries(towns, ListEntries(requested, offset=0, limit=50))

    assert (rows.namespace, rows.total) == (name, total)
    assert len(rows.entries) == total


@pytest.mark.parametrize(
    ("requested", "name", "total"),
    [("A", "A", 3986), ("C", "A", 3986), ("-", "-", 66), ("I", "I", 1), ("-/mw", "-/mw", 53)],
)
def test_old_archives_have_their_own_namespaces(zims: Path, requested: str, name: str, total: int) -> None:
    archive = Archive("100", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])

    rows = list_entries(archive, ListEntries(requested, offset=0, limit=1))

    assert (rows.namespace, rows.total) == (name, total)


def test_host_of_a_captured_site_is_a_folder(zims: Path) -> None:
    archive = Archive("debian", [str(zims / "built/zimit_debian.zim")])
    all_rows = list_entries(archive, ListEntries("C", offset=0, limit=500))
    host = paths(all_rows)[len(all_rows.entries) // 2].partition("/")[0]

    rows = list_entries(archive, ListEntries(host, offset=0, limit=500))

    assert paths(rows) == [path for path in paths(all_rows) if path.startswith(f"{host}/")]


@pytest.mark.parametrize("requested", ["Q", "nothing", "C/nothing", "", "\ud800", "'"])
def test_missing_namespace_error_lists_the_namespaces(towns: Archive, requested: str) -> None:
    with pytest.raises(errors.NamespaceNotFound) as caught:
        list_entries(towns, ListEntries(requested, offset=0, limit=1))

    assert caught.value.details["available_namespaces"] == ["C", "M", "W", "X"]


def list_in_steps(archive: Archive, namespace: str, limit: int) -> list[str]:
    """The paths of all entries, some at a time."""
    total = list_entries(archive, ListEntries(namespace, offset=0, limit=1)).total
    steps = [list_entries(archive, ListEntries(namespace, offset, limit)) for offset in range(0, total, limit)]
    assert {step.total for step in steps} == {total}
    return [path for step in steps for path in paths(step)]


@pytest.mark.parametrize("limit", [1, 3, 7, 500])
def test_listing_is_the_same_in_any_steps(towns: Archive, limit: int) -> None:
    assert list_in_steps(towns, "C", limit) == paths(list_entries(towns, ListEntries("C", offset=0, limit=500)))


def test_each_of_300_000_entries_is_listed_once(tmp_path: Path) -> None:
    path = tmp_path / "big.zim"
    expected = {"target"} | {f"r/{number:06d}" for number in range(300_000)}
    write_redirects(path, 300_000)

    listed = list_in_steps(Archive("big", [str(path)]), "C", 500)

    assert len(listed) == 300_001
    assert set(listed) == expected


def write_redirects(path: Path, count: int) -> None:
    creator = Creator(path).config_indexing(False, "eng")
    with creator:
        creator.add_item(Page("target", "Target", "<p>x</p>", "text/html"))
        for number in range(count):
            creator.add_redirection(f"r/{number:06d}", f"R {number}", "target", {})


def test_path_is_completed(towns: Archive) -> None:
    maps = complete_path(towns, CompletePath("maps/", 1, pages_only=False))
    pages = complete_path(towns, CompletePath("", 10, pages_only=True))

    assert maps == PathCompletions(["maps/alderwick.png"], 2)
    assert pages == PathCompletions(["Alderwick", "Port", "Ravenport", "Zürich"], 4)


def test_every_listed_entry_can_be_read(zims: Path) -> None:
    for name in ("built/se_coffee.zim", "zim-testing-suite/nons/small.zim", "zim-testing-suite/withns/small.zim"):
        archive = Archive("x", [str(zims / name)])
        for namespace in archive.namespaces:
            for row in list_entries(archive, ListEntries(namespace, 0, 60)).entries:
                item = require_entry(archive, row.path)
                assert item.path == (row.redirect_to or row.path)
                assert len(archive.read_content(item.path)) == item.size


def test_articles_are_listed_without_redirects_and_files(towns: Archive) -> None:
    first = list_articles(towns, ListArticles(2))
    last = list_articles(towns, ListArticles(2, offset=2))

    assert (paths(first), first.total, first.done) == (["Alderwick", "Ravenport"], 3, False)
    assert (paths(last), last.total, last.done) == (["Zürich"], 3, True)
    assert paths(list_articles(towns, ListArticles(2, start=first.stop))) == ["Zürich"]


def test_articles_of_an_old_archive_are_counted(zims: Path) -> None:
    archive = Archive("mini", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])

    rows = list_articles(archive, ListArticles(500, "A"))

    assert (len(rows.entries), rows.total, rows.done) == (101, 101, True)


def test_articles_of_a_large_archive_are_listed_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browse, "_MAX_SCANNED_ENTRIES", 3)
    pages = {f"p{n}": "<p>text</p>" for n in range(4)}
    archive = Archive("large", [str(write_zim(tmp_path / "large.zim", pages, redirects={"a": "p0", "p1a": "p1"}))])

    listed, start, done = [], 0, False
    while not done:
        rows = list_articles(archive, ListArticles(1, start=start))
        listed, start, done = listed + paths(rows), rows.stop, rows.done

    assert listed == list(pages)
    assert rows.total == 4
    with pytest.raises(errors.OutOfRange):
        list_articles(archive, ListArticles(1, offset=3))
