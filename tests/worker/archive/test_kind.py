from __future__ import annotations

import gc
import weakref
from pathlib import Path

import pytest

from openzim_mcp.worker.archive.kind import archive_kind
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

KINDS = {
    "documentation": [
        "real/devdocs_en_markdown_2026-01", "real/devdocs_en_sqlite_2025-04", "built/devdocs_python",
        "built/nonlatin_pub", "built/zimit_debian",
    ],
    "wikipedia": [
        "real/example", "real/wikibooks_aa_2014-11", "real/wikipedia_ady_all_nopic_2026-02",
        "real/wikipedia_ay_all_nopic_2017-03", "real/wikipedia_en_100_mini_2022-10",
        "real/wikipedia_en_ray_charles_mini_2020-03", "real/wikipedia_en_ray_charles_2015-06_split",
        "built/wiki_real_pub",
    ],
    "dictionary": ["built/dictionary_pub"],
    "qa": ["built/se_coffee"],
    "book": ["built/gutenberg_pub"],
    "other": [
        "real/characters_encoding", "real/corner_cases#&", "real/foo-zstd", "real/poor", "real/spelling_correction_test",
        "built/badmain", "built/bare", "built/edition_en_all_2023-01", "built/edition_en_all_2024-01", "built/empty",
        "built/nasty_pub", "built/noindex",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("name", "kind"), [(name, kind) for kind, names in KINDS.items() for name in names])
def test_kind_of_a_real_archive(zims: Path, name: str, kind: str) -> None:
    folder, _, stem = name.partition("/")
    parts = sorted((zims / folder).glob(f"{stem}.zim*"))

    assert archive_kind(Archive(stem, [str(part) for part in parts])) == kind


def test_every_real_archive_has_a_row(zims: Path) -> None:
    files = {
        f"{path.parent.name}/{path.stem}" for folder in ("real", "built") for path in (zims / folder).glob("*.zim*")
    }

    assert files - {name for names in KINDS.values() for name in names} == set()


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        ({"Tags": "_category:wiktionary"}, "dictionary"),
        ({"Tags": "_category:stack_exchange"}, "qa"),
        ({"Tags": "stackexchange;_ftindex:yes"}, "qa"),
        ({"Tags": "_category:ted"}, "video"),
        ({"Scraper": "maps2zim 0.1"}, "map"),
        ({"Tags": "_category:gutenberg"}, "book"),
        ({"Tags": "_category:devdocs"}, "documentation"),
        ({"Tags": "_category:ifixit"}, "documentation"),
        ({"Tags": "_category:wikipedia"}, "wikipedia"),
        ({"Tags": "_category:wikivoyage"}, "wikipedia"),
        ({"Tags": "_category:other;wikipedia"}, "wikipedia"),
        ({"Title": "Deutsches Wörterbuch"}, "dictionary"),
        ({"Title": "Толковый словарь"}, "dictionary"),
        ({"Name": "askubuntu.com_en_all"}, "qa"),
        ({"Name": "khan-academy-videos_en_physics"}, "video"),
        ({"Title": "Debian 手册"}, "documentation"),
        ({"Scraper": "sotoki 2.0"}, "qa"),
        ({"Scraper": "mwoffliner 1.13"}, "wikipedia"),
        ({"Scraper": "zimit 1.3"}, "site"),
        ({"Title": "Invited talks", "Name": "documents_en"}, "other"),
        ({}, "other"),
        # The category decides before other tags, tags before the name, the name before the scraper.
        ({"Tags": "_category:wikipedia;devdocs"}, "wikipedia"),
        ({"Tags": "wikipedia", "Title": "Dictionary of the Isles"}, "wikipedia"),
        ({"Title": "Recipe handbook", "Scraper": "zimit 1.3"}, "documentation"),
    ],
)
def test_kind_is_told_by_metadata(tmp_path: Path, metadata: dict[str, str | bytes], kind: str) -> None:
    path = write_zim(tmp_path / "x.zim", {"a": "<p>a</p>"}, metadata=metadata)

    assert archive_kind(Archive("x", [str(path)])) == kind


@pytest.mark.parametrize(("extension", "kind"), [("pdf", "pdf"), ("mp4", "video"), ("epub", "book"), ("txt", "other")])
def test_kind_is_told_by_most_of_the_content(tmp_path: Path, extension: str, kind: str) -> None:
    pages = {"home": "<p>List</p>"} | {f"{n}.{extension}": "x" for n in range(3)}
    path = write_zim(tmp_path / "x.zim", pages, metadata={"Scraper": "", "Title": "Shelf"})

    assert archive_kind(Archive("x", [str(path)])) == kind


def test_category_decides_before_the_content(tmp_path: Path) -> None:
    pages = {"home": "<p>List</p>", "1.mp4": "x", "2.mp4": "x"}
    path = write_zim(tmp_path / "x.zim", pages, metadata={"Tags": "_category:wikipedia"})

    assert archive_kind(Archive("x", [str(path)])) == "wikipedia"


def test_kind_is_told_by_the_file_name(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "x.zim", {"a": "<p>a</p>"})

    assert archive_kind(Archive("wikipedia_en_climate_2024-05", [str(path)])) == "wikipedia"


def test_kind_does_not_keep_an_archive_open(town_zim: Path) -> None:
    archive = Archive("towns", [str(town_zim)])
    archive_kind(archive)
    reference = weakref.ref(archive)

    del archive
    gc.collect()

    assert reference() is None
