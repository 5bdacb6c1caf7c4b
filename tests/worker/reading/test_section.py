from __future__ import annotations

import json
from pathlib import Path

import pytest

from openzim_mcp import errors, tokens
from openzim_mcp.calls.reading import ReadSection, SectionHead, SectionName
from openzim_mcp.worker.reading.section import read_section
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

ROWS = "".join(f"<tr><td>{n}</td><td>{n * n}</td></tr>" for n in range(30))
PAGES = {
    "Biology": (
        "<h1>Biology</h1><p><b>Biology</b> is the study of life.</p><p>It is old.</p>"
        "<h2 id='History'>History</h2><p>It began long ago.</p><h3 id='Antiquity'>Antiquity</h3><p>Aristotle wrote.</p>"
        "<h2 id='Evolution'>Evolution</h2><p>Species change.</p>"
        f"<table class='w'><tr><th>N</th><th>Square</th></tr>{ROWS}</table>"
    ),
}

OUTLINE = {
    "Manual": (
        "<div id='content'><h1>Manual</h1><div id='mw-content-text'><p>Lead.</p><h2>1. Basics</h2><p>x</p>"
        "<h2>2. Packages</h2><p>x</p><h3>2.1. Debian package management prerequisites</h3><p>x</p>"
        "<h2>Early works</h2><p>x</p><h2>Early years (1890–1910)</h2><p>x</p>"
        "<h2>VIII. THE ADVENTURE OF THE SPECKLED BAND</h2><p>x</p><h2>Awards</h2><p>x</p>"
        "<h2>Chapter 5: The end</h2><p>x</p><h2>9.2. パッケージ管理の前提条件</h2><p>x</p>"
        "<h2 id='content'>Content</h2><p>x</p></div></div>"
    ),
    "Anchors": (
        "<h1>Anchors</h1><p>Lead.</p><h2 id='Pragmas'>Pragmas</h2>"
        "<p id='cache_size'><b>cache_size</b></p><p>The size of the cache.</p><p>It is large.</p>"
        "<p id='pragma_journal'><b>journal_mode</b></p><p>The journal.</p>"
        "<a name='before_heading'></a><h2 id='Options'>Options</h2><p>All of them.</p>"
        "<h2>Names</h2><p><a name='old_name'></a>Named long ago.</p><p>Still the same.</p>"
        "<p>Named <a name='newer'></a>lately.</p><h2>List</h2><ul><li>one</li><li id='item_two'>two</li></ul>"
    ),
}


@pytest.fixture(scope="module")
def outline(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return Archive("outline", [str(write_zim(tmp_path_factory.mktemp("outline") / "outline.zim", OUTLINE))])


@pytest.fixture(scope="module")
def biology(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return Archive("bio", [str(write_zim(tmp_path_factory.mktemp("bio") / "bio.zim", PAGES))])


@pytest.mark.parametrize("name", ["History", "history", "#History", "1", " History "])
def test_section_is_found_by_id_heading_or_number(biology: Archive, name: str) -> None:
    section = read_section(biology, ReadSection("Biology", name, 1000))

    assert section.content == "## History\n\nIt began long ago.\n\n### Antiquity\n\nAristotle wrote."
    assert section.section == SectionHead("History", "History", level=2)
    assert (section.previous, section.next, section.parent) == (None, SectionName("Evolution", "Evolution"), None)
    assert section.children == [SectionName("Antiquity", "Antiquity")]


def test_pages_of_a_section_joined_are_the_whole_section(biology: Archive) -> None:
    whole = read_section(biology, ReadSection("Biology", "Evolution", 5000, compact=False))
    pages, offset = [], 0
    while offset is not None:
        pages.append(read_section(biology, ReadSection("Biology", "Evolution", 100, offset=offset, compact=False)))
        offset = pages[-1].next_offset

    assert (whole.truncated, whole.next_offset, whole.characters) == (False, None, len(whole.content))
    assert "".join(page.content for page in pages) == whole.content
    assert [page.truncated for page in pages] == [True] * (len(pages) - 1) + [False]
    assert len(pages) > 2


def test_subsection_names_its_parent(biology: Archive) -> None:
    section = read_section(biology, ReadSection("Biology", "1.1", 100))

    assert section.parent == SectionName("History", "History")


def test_section_shows_tables_unless_compact(biology: Archive) -> None:
    folded = read_section(biology, ReadSection("Biology", "Evolution", 5000)).content
    full = read_section(biology, ReadSection("Biology", "Evolution", 5000, compact=False)).content

    assert "| 29 | 841 |" not in folded
    assert "| 29 | 841 |" in full


def test_unknown_section_error_names_the_nearest_three(outline: Archive) -> None:
    with pytest.raises(errors.SectionNotFound) as caught:
        read_section(outline, ReadSection("Manual", "Awrds", 100))

    assert caught.value.message == "'Manual' has no section 'Awrds'."
    titles = [row["title"] for row in caught.value.details["available_sections"]]
    assert titles[0] == "Awards"
    assert (len(titles), caught.value.details["total_sections"]) == (3, 10)
    assert tokens.estimate(json.dumps(caught.value.payload(""), ensure_ascii=False)) <= 150


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("2.1", "2.1. Debian package management prerequisites"),
        ("2.1.", "2.1. Debian package management prerequisites"),
        ("5", "Chapter 5: The end"),
        ("4", "Early years (1890–1910)"),
        ("Early years", "Early years (1890–1910)"),
        ("early years (1890-1910)", "Early years (1890–1910)"),
        ("debian package", "2.1. Debian package management prerequisites"),
        ("Debian package management prerequisite", "2.1. Debian package management prerequisites"),
        ("The Speckled Band", "VIII. THE ADVENTURE OF THE SPECKLED BAND"),
        ("VIII", "VIII. THE ADVENTURE OF THE SPECKLED BAND"),
        ("prerequisites packages", "2.1. Debian package management prerequisites"),
        ("Award", "Awards"),
        ("前提条件", "9.2. パッケージ管理の前提条件"),
        ("content", "Content"),
    ],
)
def test_section_is_found_as_people_say_it(outline: Archive, name: str, title: str) -> None:
    assert read_section(outline, ReadSection("Manual", name, 1000)).section.title == title


def test_printed_number_wins_over_the_outline(outline: Archive) -> None:
    assert read_section(outline, ReadSection("Manual", "1", 1000)).section.title == "1. Basics"


def test_ambiguous_name_lists_the_sections_that_fit(outline: Archive) -> None:
    with pytest.raises(errors.SectionNotFound) as caught:
        read_section(outline, ReadSection("Manual", "early", 100))

    assert caught.value.message == "2 sections of 'Manual' fit 'early'."
    assert caught.value.details["available_sections"] == [
        {"id": "Early_works", "title": "Early works"},
        {"id": "Early_years_(1890–1910)", "title": "Early years (1890–1910)"},
    ]


def test_ids_of_the_layout_are_not_shown(outline: Archive) -> None:
    assert read_section(outline, ReadSection("Manual", "1. Basics", 100)).section.id == "1._Basics"


@pytest.mark.parametrize(
    ("anchor", "content"),
    [
        ("cache_size", "**cache_size**\n\nThe size of the cache.\n\nIt is large."),
        ("cache size", "**cache_size**\n\nThe size of the cache.\n\nIt is large."),
        ("journal", "**journal_mode**\n\nThe journal."),
        ("old_name", "Named long ago.\n\nStill the same."),
        ("newer", "Named lately."),
        ("before_heading", "## Options\n\nAll of them."),
        ("item_two", "- one\n- two"),
    ],
)
def test_anchor_of_the_page_is_a_section(outline: Archive, anchor: str, content: str) -> None:
    assert read_section(outline, ReadSection("Anchors", anchor, 1000)).content == content


def test_neighbours_of_an_anchor_are_of_its_kind(outline: Archive) -> None:
    section = read_section(outline, ReadSection("Anchors", "cache_size", 1000))

    assert section.section == SectionHead("cache_size", "cache_size", level=3)
    assert (section.previous, section.next) == (None, SectionName("pragma_journal", "journal_mode"))
    assert section.parent == SectionName("Pragmas", "Pragmas")


def test_lead_is_a_section(biology: Archive) -> None:
    section = read_section(biology, ReadSection("Biology", "lead", 1000))

    assert section.content == "**Biology** is the study of life.\n\nIt is old."
    assert (section.previous, section.next, section.children) == (None, None, [])


def test_definition_is_found_by_its_anchor(zims: Path) -> None:
    archive = Archive("python", [str(zims / "built/devdocs_python.zim")])

    section = read_section(archive, ReadSection("library/json.html", "json.dumps", 2000))

    assert section.content.startswith("`json.dumps(obj, *, skipkeys=False,")
    assert "Serialize *obj* to a JSON formatted" in section.content
    assert section.parent == SectionName("basic-usage", "Basic Usage")
    assert section.previous is not None
    assert section.next is not None
    assert (section.previous.id, section.next.id) == ("json.dump", "json.load")
