from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.reading import FindText, ReadArticle, ReadSection, ReadSummary, ReadTableOfContents, ReadText
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.reading.article import read_article, read_summary, read_table_of_contents, read_text
from openzim_mcp.worker.reading.matches import find_text
from openzim_mcp.worker.reading.section import read_section
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim
from support.pdfs import page, write_pdf

PAGES = 300
OUTLINE = [(0, "Fire", 1), (1, "Tinder", 40), (0, "Water", 120), (1, "Storing water", 121), (0, "Food", 200)]


def _page_text(number: int) -> list[str]:
    if number == 121:
        return ["A covered clay jar keeps drinking water cool for a week."]
    return [f"Sheet {number} tells how a camp is made in weather of kind {number}.", f"It ends with rule {number}."]


@pytest.fixture(scope="module")
def shelf_zim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    manual = write_pdf([page(_page_text(n)) for n in range(1, PAGES + 1)], outline=OUTLINE)
    leaflet = write_pdf([page(["A leaflet about knots."]), page(["A bowline does not slip."])])
    home = '<h1>Library</h1><p>Books of the camp.</p><a href="files/manual.pdf">Field manual</a>'
    pages = {"home": home, "files/manual.pdf": manual, "files/leaflet.pdf": leaflet}
    return write_zim(tmp_path_factory.mktemp("shelf") / "shelf.zim", pages)


@pytest.fixture(scope="module")
def archive(shelf_zim: Path) -> Archive:
    return Archive("shelf", [str(shelf_zim)])


def _read(archive: Archive, path: str, offset: int = 0, max_chars: int = 500) -> tuple[str, int | None]:
    article = read_article(archive, ReadArticle(path, requested=path, offset=offset, max_chars=max_chars))
    return article.markdown, article.next_offset


def test_start_of_a_long_pdf_says_which_page_it_ends_on(archive: Archive) -> None:
    markdown, next_offset = _read(archive, "files/manual.pdf")

    assert next_offset is not None
    assert markdown.endswith(f"[content_offset={next_offset} continues; page 6 of 300]")


def test_slices_of_a_long_pdf_join_to_the_whole(archive: Archive) -> None:
    offset: int | None = 0
    bodies = []
    while offset is not None:
        markdown, offset = _read(archive, "files/manual.pdf", offset, 5000)
        bodies.append(markdown.partition("## Content\n\n")[2].partition("\n\n[content_offset=")[0])

    text = " ".join(bodies)
    assert all(f"rule {n}." in text for n in range(1, PAGES + 1) if n != 121)
    assert text.count("rule 7.") == 1


def test_words_are_found_in_all_pages_of_a_long_pdf(archive: Archive) -> None:
    found = find_text(archive, FindText("files/manual.pdf", "covered clay jars", 0, 20, 1000))
    (match,) = found.matches
    text = read_text(archive, ReadText("files/manual.pdf", 200, offset=match.content_offset)).content

    assert (match.section, found.note) == ("Storing water, p. 121", None)
    assert text.startswith("A covered clay jar keeps")


def test_pages_that_were_not_searched_in_time_are_noted(shelf_zim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timer, "is_late", lambda: True)

    found = find_text(Archive("shelf", [str(shelf_zim)]), FindText("files/manual.pdf", "rule", 0, 20, 1000))

    assert (found.total, found.note) == (
        1,
        "1 of 300 pages were searched in time; repeat the call, or search one part: PATH#SECTION.",
    )


def test_offset_beyond_the_end_of_a_long_pdf_is_an_error(archive: Archive) -> None:
    with pytest.raises(errors.OutOfRange):
        _read(archive, "files/manual.pdf", 10_000_000)


def test_short_pdf_is_read_whole(archive: Archive) -> None:
    markdown, next_offset = _read(archive, "files/leaflet.pdf")

    assert next_offset is None
    assert markdown.endswith("A leaflet about knots.\n\nA bowline does not slip.")


@pytest.mark.parametrize("name", ["p. 121", "page 121", "page=121", "P.121"])
def test_page_is_a_part(archive: Archive, name: str) -> None:
    section = read_section(archive, ReadSection("files/manual.pdf", name, 1000))

    assert section.section.title == "p. 121"
    assert section.content.endswith("keeps drinking water cool for a week.")


def test_fragment_reads_a_page(archive: Archive) -> None:
    markdown, _ = _read(archive, "files/manual.pdf#page=121")

    assert "Section: p. 121" in markdown
    assert "A covered clay jar" in markdown


@pytest.mark.parametrize("name", ["Storing_water", "storing water", "2.1"])
def test_outline_entry_is_a_section(archive: Archive, name: str) -> None:
    section = read_section(archive, ReadSection("files/manual.pdf", name, 500))

    assert (section.section.title, section.parent and section.parent.title) == ("Storing water", "Water")
    assert "A covered clay jar" in section.content
    assert "rule 120." not in section.content


def test_unknown_section_names_the_nearest(archive: Archive) -> None:
    with pytest.raises(errors.SectionNotFound) as error:
        read_section(archive, ReadSection("files/manual.pdf", "quantum", 500))

    assert error.value.details["total_sections"] == len(OUTLINE)


def test_outline_of_a_long_pdf_is_its_table_of_contents(archive: Archive) -> None:
    toc = read_table_of_contents(archive, ReadTableOfContents("files/manual.pdf")).toc

    assert [(row.title, [child.title for child in row.children]) for row in toc] == [
        ("Fire", ["Tinder"]),
        ("Water", ["Storing water"]),
        ("Food", []),
    ]


def test_summary_and_batch_text_are_the_start(archive: Archive) -> None:
    summary = read_summary(archive, ReadSummary("files/manual.pdf")).summary
    text = read_text(archive, ReadText("files/manual.pdf", max_chars=300))

    assert summary.startswith("Sheet 1 tells")
    assert text.place == "page 3 of 300"
