from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
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


def test_truncated_section_says_so(biology: Archive) -> None:
    section = read_section(biology, ReadSection("Biology", "Evolution", 12))

    assert (section.content, section.truncated, section.characters) == ("## Evolution", True, 119)


def test_subsection_names_its_parent(biology: Archive) -> None:
    section = read_section(biology, ReadSection("Biology", "1.1", 100))

    assert section.parent == SectionName("History", "History")


def test_section_shows_tables_unless_compact(biology: Archive) -> None:
    folded = read_section(biology, ReadSection("Biology", "Evolution", 5000)).content
    full = read_section(biology, ReadSection("Biology", "Evolution", 5000, compact=False)).content

    assert "| 29 | 841 |" not in folded
    assert "| 29 | 841 |" in full


def test_unknown_section_error_lists_the_sections(biology: Archive) -> None:
    with pytest.raises(errors.SectionNotFound) as caught:
        read_section(biology, ReadSection("Biology", "Histroy", 100))

    assert caught.value.hint == "Did you mean 'History'?"
    assert [s["id"] for s in caught.value.details["available_sections"]] == ["History", "Antiquity", "Evolution"]


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
