from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.worker.archive import metadata
from openzim_mcp.worker.archive.metadata import Namespace
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def test_an_archive_describes_itself(towns: Archive) -> None:
    described = metadata.describe(towns)

    assert described.archive == "towns.zim"
    assert described.metadata["Title"] == described.metadata["title"] == "Test"
    assert described.metadata["Creator"] == described.metadata["creator"] == "Nobody"
    assert described.counts == {"all_entries": 15, "entries": 7, "articles": 3, "media": 2}
    assert described.main_page == "Ravenport"
    assert described.namespaces["W"] == Namespace(1, "well-known entries such as the main page", ["mainPage"])
    assert described.index_capabilities == {"has_fulltext_index": True, "has_title_index": True}
    assert described.archive_identity == {"uuid": towns.uuid, "is_multipart": False}
    assert described.counter_breakdown == {"image/png": 2, "text/css": 1, "text/html": 3}


def test_an_archive_without_metadata_or_index_is_described_too(zims: Path) -> None:
    described = metadata.describe(Archive("foo", [str(zims / "real/foo-zstd.zim")]))

    assert described.metadata == {}
    assert described.main_page is None
    assert described.counter_breakdown is None
    assert described.namespaces["A"].count == 16
    assert described.namespaces["A"].description == "articles"


def test_odd_values_are_shown_on_one_line_and_bounded(tmp_path: Path) -> None:
    path = write_zim(
        tmp_path / "odd.zim",
        {"A": "x"},
        metadata={"Description": "two\nlines \u202eback", "LongDescription": "x" * 5000, "X-Binary": b"\xff\xfe\x00"},
    )

    found = metadata.describe(Archive("odd", [str(path)])).metadata

    assert found["Description"] == "two lines back"
    assert len(found["LongDescription"]) == 1000
    assert found["X-Binary"] == "(3 bytes that are not text)"


def test_illustrations_are_named_and_not_shown(zims: Path) -> None:
    described = metadata.describe(Archive("nasty", [str(zims / "built/nasty_pub.zim")]))

    assert described.illustrations == ["48x48@1", "512x512@1", "96x96@1"]
    assert not any(key.startswith("Illustration") for key in described.metadata)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("text/html=5;image/png=2", {"text/html": 5, "image/png": 2}),
        ("text/html;raw=true=3;text/css=1", {"text/html;raw=true": 3, "text/css": 1}),
        ("", {}),
        ("garbage", {}),
        ("text/html=x;image/png=2", {"image/png": 2}),
    ],
)
def test_the_counter_is_read_with_its_parameters(text: str, counts: dict[str, int]) -> None:
    assert metadata._counter(text) == counts


def test_every_archive_can_be_described(zims: Path) -> None:
    for path in [*(zims / "real").glob("*.zim"), *(zims / "built").glob("*.zim")]:
        described = metadata.describe(Archive(path.stem, [str(path)]))

        assert sum(n.count for n in described.namespaces.values()) == described.counts["all_entries"], path
