from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from openzim_mcp.calls.archive import ScanPages
from openzim_mcp.worker.jobs.page_scan import scan_pages
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


@pytest.mark.parametrize(
    ("prefix", "paths"),
    [
        ("Mercury", ["Mercury_(element)", "Mercury_(god)", "Mercury_(planet)"]),
        ("Mercury_(", ["Mercury_(element)", "Mercury_(god)", "Mercury_(planet)"]),
        ("Zürich", ["Zürich"]),
        ("C", ["C", "C++"]),
        ("Mercury_(x", []),
        ("\U0010ffff", []),
    ],
)
def test_entries_are_found_by_the_start_of_their_path(isles: Archive, prefix: str, paths: list[str]) -> None:
    assert [isles.path_by_id(number) for number in isles.entries_by_prefix(prefix)] == paths


def test_entries_by_prefix_are_those_of_a_scan(zims: Path) -> None:
    archive = Archive("mini", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])
    all_paths = [archive.path_by_id(number) for number in archive.content]

    for prefix in ("", "U", "United", "United_S", "The_", "É", "zz", "A"):
        expected = [path for path in all_paths if path.startswith(f"A/{prefix}")]
        assert [archive.path_by_id(number) for number in archive.entries_by_prefix(prefix)] == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [("real/wikipedia_en_100_mini_2022-10", True), ("built/dictionary_pub", True), ("built/se_coffee", False)],
)
def test_paths_of_a_wiki_are_titles(zims: Path, name: str, expected: bool) -> None:  # noqa: FBT001
    assert Archive("x", [str(zims / f"{name}.zim")]).paths_are_titles == expected


def test_target_of_many_redirects_is_important(zims: Path) -> None:
    archive = Archive("mini", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])

    assert archive.importance("A/United_States") > archive.importance("A/Hoover_Dam") > 0
    assert archive.importance("A/No_such_article") == 0


def test_importance_counts_links_once_they_are_known(tmp_path: Path) -> None:
    pages = {f"P{number}": '<a href="Hub">x</a>' for number in range(15)} | {"Hub": "", "Other": ""}
    parts = [str(write_zim(tmp_path / "hub.zim", pages, redirects={"Other name": "Other"}))]
    before = Archive("hub", parts)
    values = [before.importance("Hub"), before.importance("Other")]

    scan_pages(parts, ScanPages(), lambda *_: None)

    after = Archive("hub", parts)
    assert values == [0.0, pytest.approx(1 / 16, abs=0.01)]
    assert after.importance("Hub") == pytest.approx(4 / 16)
    assert after.importance("Other") == values[1]
    assert after.most_important(after.content, 1) == [after.number_of("Hub")]


def test_archive_that_nobody_uses_is_closed_at_once(tmp_path: Path) -> None:
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", {"Ravenport": "<p>A harbour town.</p>"}))])
    closed = weakref.ref(archive)
    gc.disable()
    try:
        archive.importance("Ravenport")
        archive.search_paths("harbour", 1)
        archive.suggest_paths("raven", 1)
        archive.entries_by_prefix("Raven")
        _ = archive.posting_index

        del archive

        assert closed() is None
    finally:
        gc.enable()
