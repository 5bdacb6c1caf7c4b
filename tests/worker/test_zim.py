from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.archive import EntryRow, ScanPages
from openzim_mcp.worker.jobs.page_scan import scan_pages
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def test_entries_have_path_title_and_type(towns: Archive) -> None:
    entries = [towns.entry_by_id(number) for number in towns.namespaces["C"]]

    assert entries[:2] == [
        EntryRow("Alderwick", "Alderwick", "text/html"),
        EntryRow("Port", "Port", "text/html", redirect_to="Ravenport"),
    ]


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("real/wikipedia_en_100_mini_2022-10.zim", {"-": 66, "A": 3986, "I": 1, "M": 11, "X": 2}),
        ("real/wikipedia_ady_all_nopic_2026-02.zim", {"C": 1185, "M": 13, "W": 1, "X": 3}),
        ("real/wikibooks_aa_2014-11.zim", {"-": 3, "A": 2, "I": 40, "M": 7}),
        ("real/wikipedia_ay_all_nopic_2017-03.zim", {"-": 5, "A": 4540, "I": 33, "M": 9}),
        ("built/empty.zim", {"M": 1, "X": 1}),
        ("built/noindex.zim", {"C": 833, "M": 13, "W": 1, "X": 2}),
    ],
)
def test_namespaces_are_counted_exactly(zims: Path, name: str, counts: dict[str, int]) -> None:
    archive = Archive("it", [str(zims / name)])

    assert {letter: len(numbers) for letter, numbers in archive.namespaces.items()} == counts


def test_split_archive_is_read_through_its_first_part(zims: Path) -> None:
    parts = sorted(str(part) for part in (zims / "real").glob("wikipedia_en_ray_charles_2015-06_split.zim??"))
    archive = Archive("ray", parts)

    assert archive.is_multipart
    assert {letter: len(numbers) for letter, numbers in archive.namespaces.items()} == {
        "-": 3,
        "A": 236,
        "I": 212,
        "M": 7,
    }


def test_redirect_loops_are_listed_with_an_error(zims: Path) -> None:
    archive = Archive("poor", [str(zims / "real/poor.zim")])

    with_error = [entry for entry in map(archive.entry_by_id, archive.namespaces["C"]) if entry.error]

    assert with_error
    assert {entry.mime_type for entry in with_error} == {None}


@pytest.mark.parametrize(
    ("name", "main"),
    [
        ("built/se_coffee.zim", "questions"),
        ("real/wikipedia_en_100_mini_2022-10.zim", "A/index"),
        ("built/bare.zim", None),
        ("built/badmain.zim", None),
        ("built/empty.zim", None),
    ],
)
def test_main_path_is_none_without_a_main_page(zims: Path, name: str, main: str | None) -> None:
    assert Archive("it", [str(zims / name)]).main_path == main


def test_damage_error_does_not_show_the_directory(tmp_path: Path) -> None:
    broken = tmp_path / "broken.zim"
    broken.write_bytes(b"ZIM\x04" + bytes(200))

    with pytest.raises(errors.ArchiveUnusable) as caught:
        Archive("broken", [str(broken)])

    assert "'broken' is damaged" in caught.value.message
    assert str(tmp_path) not in caught.value.message


def test_metadata_keeps_the_archive_keys(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "m.zim", {"A": "x"}, metadata={"X-Odd": b"\xff\x00", "Empty": ""})

    metadata = Archive("m", [str(path)]).metadata()

    assert metadata["Title"] == b"Test"
    assert metadata["X-Odd"] == b"\xff\x00"
    assert metadata["Empty"] == b""


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


def test_random_path_is_never_of_a_long_chain_of_redirects(tmp_path: Path) -> None:
    chain = {f"link{number}": f"link{number + 1}" for number in range(40)} | {"link40": "Ravenport"}
    pages = {"Ravenport": "<p>A town.</p>"}
    archive = Archive("chain", [str(write_zim(tmp_path / "chain.zim", pages, redirects=chain))])

    assert {archive.random_path() for _ in range(50)} == {"Ravenport"}


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
