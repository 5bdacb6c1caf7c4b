from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.reading import FindText, ReadText, TextMatches
from openzim_mcp.worker.reading.article import read_text
from openzim_mcp.worker.reading.matches import find_text
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

ROWS = "".join(f"<tr><td>Row {n}</td><td>granite</td></tr>" for n in range(30))
LONG = "Nothing is said here at all. " * 60
PAGES = {
    "Harbour": (
        "<h1>Harbour</h1><p>Boats carried salted herrings to the islands.</p>"
        "<h2 id='Trade'>Trade</h2><p>The herring boat came first.</p><ul><li>one boat</li><li>a herring and a boat</li>"
        "</ul><h2 id='Stone'>Granite quarries</h2><p>It is hard.</p>"
        f"<table><tr><th>N</th><th>Stone</th></tr>{ROWS}</table>"
        f"<h2 id='End'>End</h2><p>{LONG}At last the lighthouse keeper slept. {LONG}</p><p>if (a != b) return;</p>"
    ),
    "talk.vtt": b"WEBVTT\n\n00:00:01.000 --> 00:00:04.000\nWelcome to the harbour.\n\n"
    b"00:03:00.000 --> 00:03:04.000\nThe lighthouse is built of granite.\n",
    "Tokyo": "<h1>東京</h1><p>東京は日本の首都である。</p><p>大阪は首都ではない。</p>",
}


@pytest.fixture(scope="module")
def harbour(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return Archive("harbour", [str(write_zim(tmp_path_factory.mktemp("harbour") / "harbour.zim", PAGES))])


def find(archive: Archive, words: str, path: str = "Harbour", **options: int) -> TextMatches:
    defaults = {"offset": 0, "limit": 20, "max_chars": 10_000}
    return find_text(archive, FindText(path, words, **{**defaults, **options}))


def read_from(archive: Archive, offset: int) -> str:
    return read_text(archive, ReadText("Harbour", 10_000, offset=offset)).content


def test_exact_forms_come_before_stems_each_in_the_order_of_the_page(harbour: Archive) -> None:
    found = find(harbour, "herring boat")

    assert [(match.section, match.text) for match in found.matches] == [
        ("Trade", "The herring boat came first."),
        ("Trade", "- a herring and a boat"),
        ("", "Boats carried salted herrings to the islands."),
    ]
    assert (found.path, found.archive, found.find, found.total, found.next_offset) == (
        "Harbour",
        "harbour.zim",
        "herring boat",
        3,
        None,
    )


def test_text_from_the_offset_of_a_match_starts_with_it(harbour: Archive) -> None:
    for match in find(harbour, "boat").matches:
        assert read_from(harbour, match.content_offset).startswith(match.text)


def test_cut_line_shows_the_exact_form(tmp_path: Path) -> None:
    text = f"A boat is old. {LONG}Two boats came. {LONG}"
    archive = Archive("boats", [str(write_zim(tmp_path / "boats.zim", {"Harbour": f"<h1>Harbour</h1><p>{text}</p>"}))])

    (match,) = find(archive, "boats").matches

    assert "Two boats came." in match.text


def test_long_line_is_cut_around_the_words(harbour: Archive) -> None:
    (match,) = find(harbour, "lighthouse keeper").matches

    assert match.text.startswith("… ")
    assert match.text.endswith(" …")
    assert len(match.text) <= 250
    assert "At last the lighthouse keeper slept." in match.text
    assert read_from(harbour, match.content_offset).startswith(match.text.strip("… "))


@pytest.mark.parametrize(
    ("words", "path", "texts"),
    [
        ("LIGHTHOUSE elephant", "Harbour", []),
        ("首都", "Tokyo", ["東京は日本の首都である。", "大阪は首都ではない。"]),
        ("東京 首都", "Tokyo", ["東京は日本の首都である。"]),
        ("!=", "Harbour", ["if (a != b) return;"]),
        ("granite quarry", "Harbour", ["Granite quarries"]),
        ("lighthouse", "talk.vtt", ["The lighthouse is built of granite."]),
        ("boat", "Harbour#Trade", ["The herring boat came first.", "- one boat", "- a herring and a boat"]),
    ],
)
def test_words_are_found(harbour: Archive, words: str, path: str, texts: list[str]) -> None:
    found = find(harbour, words, path)

    assert [match.text for match in found.matches] == texts
    assert (found.total, found.note) == (len(texts), None)


def test_pages_of_matches_joined_are_all_matches(harbour: Archive) -> None:
    whole = find(harbour, "granite", limit=100)
    pages, offset = [], 0
    while offset is not None:
        pages.append(find(harbour, "granite", offset=offset, limit=7))
        offset = pages[-1].next_offset

    assert [match for page in pages for match in page.matches] == whole.matches
    assert whole.total == 31
    assert len(pages) == 5


def test_page_of_matches_is_limited_in_characters(harbour: Archive) -> None:
    found = find(harbour, "granite", max_chars=50)

    assert sum(len(match.text) for match in found.matches) <= 50
    assert found.next_offset == len(found.matches)


def test_match_in_a_folded_table_has_the_offset_of_the_folded_text(harbour: Archive) -> None:
    call = FindText("Harbour", "row 29", 0, 20, 1000, compact=True)
    (folded,) = find_text(harbour, call).matches
    (full,) = find(harbour, "row 29").matches

    assert read_from(harbour, full.content_offset).startswith("| Row 29 | granite |")
    assert read_from(harbour, folded.content_offset).startswith("| N | Stone |")


def test_missing_part_is_noted(harbour: Archive) -> None:
    assert find(harbour, "hard", "Harbour#Nowhere").note == "The page has no part 'Nowhere'; all of it was searched."


def test_offset_beyond_the_matches_is_an_error(harbour: Archive) -> None:
    with pytest.raises(errors.OutOfRange, match="has 3 matches"):
        find(harbour, "herring boat", offset=3)
