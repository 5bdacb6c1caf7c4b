from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.archive import ArchiveIdentity, IndexCapabilities, ListNamespaces, Namespace, ReadMetadata
from openzim_mcp.worker.archive.metadata import list_namespaces, read_metadata
from openzim_mcp.worker.archive.type_counts import count_types
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


def test_archive_is_described(towns: Archive) -> None:
    metadata = read_metadata(towns, ReadMetadata())

    assert metadata.archive == "towns.zim"
    assert metadata.metadata["Title"] == metadata.metadata["title"] == "Test"
    assert metadata.metadata["Creator"] == metadata.metadata["creator"] == "Nobody"
    assert metadata.counts == {"all_entries": 15, "entries": 7, "articles": 3, "media": 2}
    assert metadata.main_page == "Ravenport"
    assert metadata.namespaces is not None
    assert metadata.namespaces["W"] == Namespace(1, "well-known entries such as the main page", ["W/mainPage"])
    assert metadata.index_capabilities == IndexCapabilities(has_fulltext_index=True, has_title_index=True)
    assert metadata.archive_identity == ArchiveIdentity(towns.uuid, is_multipart=False)
    assert metadata.counter_breakdown == {"image/png": 2, "text/css": 1, "text/html": 3}


def test_namespaces_are_left_out_unless_asked_for(towns: Archive) -> None:
    metadata = read_metadata(towns, ReadMetadata(with_namespaces=False))

    assert metadata.namespaces is None
    assert list_namespaces(towns, ListNamespaces()) == read_metadata(towns, ReadMetadata()).namespaces


def test_archive_without_metadata_is_described(zims: Path) -> None:
    metadata = read_metadata(Archive("foo", [str(zims / "real/foo-zstd.zim")]), ReadMetadata())

    assert metadata.metadata == {}
    assert metadata.main_page is None
    assert metadata.counter_breakdown is None
    assert metadata.namespaces is not None
    assert metadata.namespaces["A"].count == 16
    assert metadata.namespaces["A"].description == "articles"


def test_metadata_values_are_short_single_lines(tmp_path: Path) -> None:
    path = write_zim(
        tmp_path / "odd.zim",
        {"A": "x"},
        metadata={"Description": "two\nlines \u202eback", "LongDescription": "x" * 5000, "X-Binary": b"\xff\xfe\x00"},
    )

    values = read_metadata(Archive("odd", [str(path)]), ReadMetadata()).metadata

    assert values["Description"] == "two lines back"
    assert len(values["LongDescription"]) == 1000
    assert values["X-Binary"] == "(3 bytes that are not text)"


def test_illustrations_are_listed_by_size(zims: Path) -> None:
    metadata = read_metadata(Archive("nasty", [str(zims / "built/nasty_pub.zim")]), ReadMetadata())

    assert metadata.illustrations == ["48x48@1", "512x512@1", "96x96@1"]
    assert not any(key.startswith("Illustration") for key in metadata.metadata)


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("text/html=5;image/png=2", {"text/html": 5, "image/png": 2}),
        ("text/html;raw=true=3;text/css=1", {"text/html": 3, "text/css": 1}),
        ("text/html=2;text/html;raw=true=3;Text/HTML; charset=utf-8=4;undefined=7", {"text/html": 9, "undefined": 7}),
        (
            'text/plain=1;image/svg+xml; charset=utf-8; profile="https://www.mediawiki.org/wiki/a;b=3;c"=1;image/png=2',
            {"text/plain": 1, "image/svg+xml": 1, "image/png": 2},
        ),
        ("text/html;level=1;charset=utf-8=3;image/svg+xml=1;image/svg+xml=2", {"text/html": 3, "image/svg+xml": 3}),
        ("", {}),
        ("garbage", {}),
        ("text/html=x;image/png=2", {"image/png": 2}),
    ],
)
def test_counter_sums_each_mime_type(text: str, counts: dict[str, int]) -> None:
    assert count_types(text) == counts


def test_every_archive_is_described(zims: Path) -> None:
    for path in [*(zims / "real").glob("*.zim"), *(zims / "built").glob("*.zim")]:
        metadata = read_metadata(Archive(path.stem, [str(path)]), ReadMetadata())

        assert metadata.namespaces is not None
        assert sum(n.count for n in metadata.namespaces.values()) == metadata.counts["all_entries"], path
