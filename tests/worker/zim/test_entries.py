from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.archive import EntryRow
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def test_entries_have_path_title_and_type(towns: Archive) -> None:
    entries = [towns.entry_by_id(number) for number in towns.namespaces["C"]]

    assert entries[:2] == [
        EntryRow("Alderwick", "Alderwick", "text/html"),
        EntryRow("Port", "Port", "text/html", redirect_to="Ravenport"),
    ]


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


def test_random_path_is_never_of_a_long_chain_of_redirects(tmp_path: Path) -> None:
    chain = {f"link{number}": f"link{number + 1}" for number in range(40)} | {"link40": "Ravenport"}
    pages = {"Ravenport": "<p>A town.</p>"}
    path = write_zim(tmp_path / "chain.zim", pages, redirects=chain, redirects_are_articles=True)
    archive = Archive("chain", [str(path)])

    assert {archive.random_path() for _ in range(50)} == {"Ravenport"}
