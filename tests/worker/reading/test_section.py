from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.worker.reading import section
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
def test_a_section_is_found_by_id_heading_or_number(biology: Archive, name: str) -> None:
    found = section.section(biology, "Biology", name, 1000)

    assert found["content"] == "## History\n\nIt began long ago.\n\n### Antiquity\n\nAristotle wrote."
    assert found["section"] == {"id": "History", "title": "History", "level": 2}
    assert (found["previous"], found["next"], found["parent"]) == (
        None,
        {"id": "Evolution", "title": "Evolution"},
        None,
    )
    assert found["children"] == [{"id": "Antiquity", "title": "Antiquity"}]


def test_a_section_is_clipped_and_says_so(biology: Archive) -> None:
    found = section.section(biology, "Biology", "Evolution", 12)

    assert (found["content"], found["truncated"], found["characters"]) == ("## Evolution", True, 119)


def test_a_subsection_knows_its_parent(biology: Archive) -> None:
    assert section.section(biology, "Biology", "1.1", 100)["parent"] == {"id": "History", "title": "History"}


def test_a_section_shows_its_tables_on_demand(biology: Archive) -> None:
    folded = section.section(biology, "Biology", "Evolution", 5000)["content"]
    full = section.section(biology, "Biology", "Evolution", 5000, compact=False)["content"]

    assert "| 29 | 841 |" not in folded
    assert "| 29 | 841 |" in full


def test_an_unknown_section_lists_those_that_there_are(biology: Archive) -> None:
    with pytest.raises(errors.SectionNotFound) as caught:
        section.section(biology, "Biology", "Histroy", 100)

    assert caught.value.hint == "Did you mean 'History'?"
    assert [s["id"] for s in caught.value.details["available_sections"]] == ["History", "Antiquity", "Evolution"]


def test_the_lead_is_a_section_too(biology: Archive) -> None:
    found = section.section(biology, "Biology", "lead", 1000)

    assert found["content"] == "**Biology** is the study of life.\n\nIt is old."
    assert (found["previous"], found["next"], found["children"]) == (None, None, [])


def test_a_definition_is_found_by_its_anchor(zims: Path) -> None:
    archive = Archive("python", [str(zims / "built/devdocs_python.zim")])

    found = section.section(archive, "library/json.html", "json.dumps", 2000)

    assert found["content"].startswith("`json.dumps(obj, *, skipkeys=False,")
    assert "Serialize *obj* to a JSON formatted" in found["content"]
    assert found["parent"] == {"id": "basic-usage", "title": "Basic Usage"}
    assert (found["previous"]["id"], found["next"]["id"]) == ("json.dump", "json.load")
