from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import errors, tokens
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

ROWS = "".join(f"<tr><td>{n}</td><td>{n * n}</td></tr>" for n in range(30))
PAGES = {
    "Biology": (
        "<h1>Biology</h1><table class='infobox'><tr><th>Field</th><td>Life</td></tr></table>"
        "<div class='hatnote'>For the album, see Biology (album).</div>"
        "<p><b>Biology</b> is the study of life.<sup class='reference'>[1]</sup></p><p>It is old.</p>"
        "<h2 id='History'>History</h2><p>It began long ago.</p><h3 id='Antiquity'>Antiquity</h3><p>Aristotle wrote.</p>"
        "<h2 id='Evolution'>Evolution</h2><p>Species change.</p>"
        f"<table class='w'><tr><th>N</th><th>Square</th></tr>{ROWS}</table>"
    ),
    "Mercury": "<div class='disambig'></div><p>Mercury may be:</p><ul><li>Mercury (planet)</li><li>Mercury (god)</li></ul>",
    "Empty": "",
    "notes.txt": "plain text",
    "pic.png": "not a picture",
}


@pytest.fixture(scope="module")
def biology(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    return Archive("bio", [str(write_zim(tmp_path_factory.mktemp("bio") / "bio.zim", PAGES))])


def page(archive: Archive, path: str, offset: int = 0, length: int = 10_000, **rest: Any) -> str:
    options: dict[str, Any] = {"requested": path, "budget": None, "compact": False} | rest
    return article.article(archive, path, offset=offset, length=length, **options).markdown


def test_an_article_has_its_header_and_its_text(biology: Archive) -> None:
    assert page(biology, "Biology", length=250) == (
        "# Biology\n\nTitle: Biology\nPath: Biology\nType: text/html\n\n## Content\n\n"
        "- Field: Life\n\nFor the album, see Biology (album).\n\n**Biology** is the study of life.\n\nIt is old.\n\n"
        "## History\n\nIt began long ago.\n\n### Antiquity\n\nAristotle wrote.\n\n## Evolution\n\nSpecies change.\n\n"
        "\n\n[content_offset=195 continues; 589 characters in all]"
    )


def test_a_path_that_is_not_exact_shows_both(biology: Archive) -> None:
    assert "\nRequested Path: biology\nActual Path: Biology\nType:" in page(biology, "biology")


def test_pages_joined_are_the_article(biology: Archive) -> None:
    whole = page(biology, "Biology").partition("## Content\n\n")[2]

    parts, offset = [], 0
    while True:
        text = page(biology, "Biology", offset, 100).partition("## Content\n\n")[2]
        body, mark, rest = text.rpartition("\n\n[content_offset=")
        parts.append(body if mark else text)
        if not mark:
            break
        offset = int(rest.partition(" ")[0])

    assert "".join(parts) == whole


def test_an_offset_beyond_the_end_names_the_length(biology: Archive) -> None:
    with pytest.raises(errors.OutOfRange, match="'Biology' has 589 characters"):
        page(biology, "Biology", offset=589)


def test_compact_folds_the_table(biology: Archive) -> None:
    assert '[Table, 30 rows; zim_get_section with section_id="Evolution"' in page(biology, "Biology", compact=True)


@pytest.mark.parametrize("budget", [100, 150, 300])
def test_the_whole_answer_stays_inside_the_budget(zims: Path, budget: int) -> None:
    archive = Archive("wiki", [str(zims / "built/wiki_real_pub.zim")])

    text = page(archive, "Dog", length=100_000, compact=True, budget=budget)

    assert tokens.estimate(text) <= budget
    assert "[content_offset=" in text


def test_text_of_other_kinds_is_shown_too(biology: Archive) -> None:
    assert page(biology, "notes.txt").endswith("Type: text/plain\n\n## Content\n\nplain text")
    assert "This entry is a picture (image/png, 13 bytes)." in page(biology, "pic.png")
    assert page(biology, "Empty").endswith("(This entry has no text.)")


def test_the_summary_is_the_lead_with_key_facts_beside_it(biology: Archive) -> None:
    found = article.summary(biology, "Biology")

    assert found.summary == "**Biology** is the study of life.\n\nIt is old."
    assert found.facts == {"Field": "Life"}
    assert found.meanings is None


def test_the_summary_of_a_disambiguation_lists_the_meanings(biology: Archive) -> None:
    assert article.summary(biology, "Mercury").meanings == ["Mercury (planet)", "Mercury (god)"]


def test_the_contents_are_a_tree_and_the_structure_a_list(biology: Archive) -> None:
    tree = article.contents(biology, "Biology")["toc"]
    headings = article.structure(biology, "Biology")["headings"]

    assert tree == [
        {
            "id": "History",
            "title": "History",
            "level": 2,
            "children": [{"id": "Antiquity", "title": "Antiquity", "level": 3, "children": []}],
        },
        {"id": "Evolution", "title": "Evolution", "level": 2, "children": []},
    ]
    assert headings[0] == {"id": "History", "title": "History", "level": 2, "characters": 30}


def test_bytes_come_in_base64(biology: Archive) -> None:
    found = article.binary(biology, "pic.png")

    assert base64.b64decode(found["data"]) == b"not a picture"
    assert (found["mime_type"], found["size"], found["encoding"]) == ("image/png", 13, "base64")


def test_an_entry_over_the_cap_is_refused_with_its_size(zims: Path) -> None:
    archive = Archive("nasty", [str(zims / "built/nasty_pub.zim")])
    large = next(
        entry.path
        for entry in map(archive.entry_at, archive.namespaces["C"])
        if entry.mime_type == "application/octet-stream"
    )

    with pytest.raises(errors.EntryTooLarge) as caught:
        article.binary(archive, large)

    assert caught.value.details == {"size": 12 << 20, "cap": 10 << 20}


def test_documents_are_kept_by_their_bytes(biology: Archive) -> None:
    kept = article._Documents(room=1)
    first, second = biology.find("Biology"), biology.find("Mercury")
    assert first
    assert second

    document = kept.of(biology, first)

    assert kept.of(biology, first) is document
    kept.of(biology, second)
    assert kept.of(biology, first) is not document


def test_of_a_huge_page_the_part_with_the_word_is_read(tmp_path: Path) -> None:
    filler = "<p>Nothing of note happens on this day at all.</p>" * 50_000
    page = f"<h1>Chronicle</h1>{filler}<h2>Storm</h2><p>The lighthouse fell.</p>{filler}"
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", {"Chronicle": page}))])
    item = archive.find("Chronicle")
    assert item is not None

    document = article.part_of(archive, item, ["volcano", "lighthouse"])

    assert "The lighthouse fell." in document.body
    assert len(document.body) < 200_000
