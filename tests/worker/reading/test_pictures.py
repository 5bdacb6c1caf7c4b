from __future__ import annotations

import pytest

from openzim_mcp.calls.page import ReadPage
from openzim_mcp.calls.reading import ReadText
from openzim_mcp.worker.reading import pictures
from openzim_mcp.worker.reading.article import read_text
from openzim_mcp.worker.reading.page import read_page
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

PAGES: dict[str, str | bytes] = {
    "A_first_page": "<p>Nothing to see.</p>",
    "Great_egret": (
        "<h1>Great egret</h1><p>A bird.</p><h2>Feeding</h2><figure><img src='I/250px-Great_egret_in_Pune.jpg.png' "
        "alt='A white bird with a fish'><figcaption>Fishing near <b>Pune</b></figcaption></figure>"
    ),
    "I/250px-Great_egret_in_Pune.jpg.png": b"RIFFx",
    "site.org/guide/": "<title>Guide</title><p>Look: <img src='img/pump%20(1).png' alt='The pump'> here.</p>",
    "site.org/guide/img/pump (1).png": b"\x89PNG",
    "zoo": "<title>Zoo</title><p><img src='IMG_0001.png' alt='A cage'></p>",
    "IMG_0001.png": b"\x89PNG",
    "IMG_0002.png": b"\x89PNG",
}


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    path = tmp_path_factory.mktemp("pictures") / "shelf.zim"
    return Archive("shelf", [str(write_zim(path, PAGES))])


def _lines(archive: Archive, path: str) -> list[str]:
    return [line[2:] for line in _text(archive, path).splitlines() if line.startswith("- ")]


def _text(archive: Archive, path: str) -> str:
    return read_text(archive, ReadText(path, max_chars=5000)).content


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        (
            "I/250px-Great_egret_in_Pune.jpg.png",
            [
                "Caption: Fishing near **Pune**",
                "Alternative text: A white bird with a fish",
                "Shown in: Great egret (Great_egret)",
                "Section: Feeding",
            ],
        ),
        ("site.org/guide/img/pump (1).png", ["Alternative text: The pump", "Shown in: Guide (site.org/guide/)"]),
        ("IMG_0001.png", ["Alternative text: A cage", "Shown in: Zoo (zoo)"]),
        ("IMG_0002.png", []),
    ],
)
def test_picture_says_what_a_page_that_shows_it_says(shelf: Archive, path: str, lines: list[str]) -> None:
    assert _lines(shelf, path) == lines
    assert "This entry is a picture" in _text(shelf, path)


def test_page_of_a_picture_says_it_too(shelf: Archive) -> None:
    blocks = read_page(shelf, ReadPage("IMG_0001.png")).blocks

    assert [block.kind for block in blocks] == ["paragraph", "list"]


def test_large_archive_is_not_read_for_a_picture(shelf: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    read_content = Archive.read_content
    monkeypatch.setattr(pictures, "_SMALL_ARCHIVE_ENTRIES", 3)

    def record(archive: Archive, path: str, start: int = 0, stop: int | None = None) -> bytes:
        read.append(path)
        return read_content(archive, path, start, stop)

    monkeypatch.setattr(Archive, "read_content", record)

    assert _lines(shelf, "I/250px-Great_egret_in_Pune.jpg.png")[0].startswith("Caption")
    assert _lines(shelf, "IMG_0001.png") == []
    assert set(read) == {"Great_egret", "A_first_page"}  # the second is the main page


def test_pages_read_for_a_picture_are_limited(shelf: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "_MAX_PAGES", 2)

    assert _lines(shelf, "IMG_0001.png") == []
