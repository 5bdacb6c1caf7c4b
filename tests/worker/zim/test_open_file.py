from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


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
