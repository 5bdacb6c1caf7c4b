from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from cachetools import LRUCache

from openzim_mcp import errors, tokens
from openzim_mcp.calls.reading import (
    Heading,
    ReadArticle,
    ReadStructure,
    ReadSummary,
    ReadTableOfContents,
    TocEntry,
)
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.reading.article import read_article, read_structure, read_summary, read_table_of_contents
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


def read(
    archive: Archive,
    path: str,
    offset: int = 0,
    max_chars: int = 10_000,
    max_tokens: int | None = None,
    *,
    compact: bool = False,
) -> str:
    call = ReadArticle(path, path, offset, max_chars, max_tokens, compact)
    return read_article(archive, call).markdown


def test_article_has_a_header_and_a_continuation(biology: Archive) -> None:
    assert read(biology, "Biology", max_chars=250) == (
        "# Biology\n\nTitle: Biology\nPath: Biology\nType: text/html\n\n## Content\n\n"
        "- Field: Life\n\nFor the album, see Biology (album).\n\n**Biology** is the study of life.\n\nIt is old.\n\n"
        "## History\n\nIt began long ago.\n\n### Antiquity\n\nAristotle wrote.\n\n## Evolution\n\nSpecies change.\n\n"
        "\n\n[content_offset=195 continues; 589 characters in all]"
    )


def test_inexact_path_is_shown_with_the_actual_one(biology: Archive) -> None:
    assert "\nRequested Path: biology\nActual Path: Biology\nType:" in read(biology, "biology")


def test_pages_joined_are_the_article(biology: Archive) -> None:
    whole = read(biology, "Biology").partition("## Content\n\n")[2]

    parts, offset = [], 0
    while True:
        text = read(biology, "Biology", offset, 100).partition("## Content\n\n")[2]
        body, mark, continuation = text.rpartition("\n\n[content_offset=")
        parts.append(body if mark else text)
        if not mark:
            break
        offset = int(continuation.partition(" ")[0])

    assert "".join(parts) == whole


def test_next_offset_is_none_on_the_last_page(biology: Archive) -> None:
    first = read_article(biology, ReadArticle("Biology", "Biology", 0, 250))
    last = read_article(biology, ReadArticle("Biology", "Biology", 195, 10_000))

    assert (first.next_offset, last.next_offset) == (195, None)


def test_offset_beyond_the_end_is_refused(biology: Archive) -> None:
    with pytest.raises(errors.OutOfRange, match="'Biology' has 589 characters"):
        read(biology, "Biology", offset=589)


def test_compact_article_folds_the_table(biology: Archive) -> None:
    assert '[Table, 30 rows; zim_get_section with section_id="Evolution"' in read(biology, "Biology", compact=True)


@pytest.mark.parametrize("max_tokens", [100, 150, 300])
def test_article_stays_inside_the_budget(zims: Path, max_tokens: int) -> None:
    archive = Archive("wiki", [str(zims / "built/wiki_real_pub.zim")])

    text = read(archive, "Dog", max_chars=100_000, compact=True, max_tokens=max_tokens)

    assert tokens.estimate(text) <= max_tokens
    assert "[content_offset=" in text


def test_other_types_are_shown(biology: Archive) -> None:
    assert read(biology, "notes.txt").endswith("Type: text/plain\n\n## Content\n\nplain text")
    assert "This entry is a picture (image/png, 13 bytes)." in read(biology, "pic.png")
    assert read(biology, "Empty").endswith("(This entry has no text.)")


def test_summary_is_the_lead_and_key_facts(biology: Archive) -> None:
    summary = read_summary(biology, ReadSummary("Biology"))

    assert summary.summary == "**Biology** is the study of life.\n\nIt is old."
    assert summary.facts == {"Field": "Life"}
    assert summary.meanings is None


def test_summary_of_a_disambiguation_lists_the_meanings(biology: Archive) -> None:
    assert read_summary(biology, ReadSummary("Mercury")).meanings == ["Mercury (planet)", "Mercury (god)"]


def test_contents_are_a_tree_and_structure_a_list(biology: Archive) -> None:
    toc = read_table_of_contents(biology, ReadTableOfContents("Biology")).toc
    headings = read_structure(biology, ReadStructure("Biology")).headings

    assert toc == [
        TocEntry("History", "History", 2, children=[TocEntry("Antiquity", "Antiquity", 3, children=[])]),
        TocEntry("Evolution", "Evolution", 2, children=[]),
    ]
    assert headings[0] == Heading("History", "History", 2, characters=30)


def test_document_cache_is_limited_by_bytes(biology: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(article, "_CACHE_BYTES", 1)
    monkeypatch.setattr(article, "_documents", LRUCache(1, getsizeof=article._documents.getsizeof))
    first, second = biology.find_entry("Biology"), biology.find_entry("Mercury")
    assert first
    assert second

    document = article.document(biology, first)

    assert article.document(biology, first) is document
    article.document(biology, second)
    assert article.document(biology, first) is not document


def test_huge_page_is_parsed_around_the_search_word(tmp_path: Path) -> None:
    filler = "<p>Nothing of note happens on this day at all.</p>" * 50_000
    page = f"<h1>Chronicle</h1>{filler}<h2>Storm</h2><p>The lighthouse fell.</p>{filler}"
    archive = Archive("x", [str(write_zim(tmp_path / "x.zim", {"Chronicle": page}))])
    item = archive.find_entry("Chronicle")
    assert item is not None

    document = article.document_around(archive, item, ["volcano", "lighthouse"])

    assert "The lighthouse fell." in document.body
    assert len(document.body) < 200_000


@pytest.fixture(scope="module")
def large_archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    """A page of many headings, and one with a huge infobox."""
    headings = "".join(f"<h{2 + n % 3}>Heading {n} {'x' * 20}</h{2 + n % 3}><p>Text.</p>" for n in range(5000))
    rows = "".join(f"<tr><th>Name {n}</th><td>{'value ' * 100}</td></tr>" for n in range(4000))
    pages = {
        "Headings": f"<h1>Headings</h1>{headings}",
        "Box": f'<h1>Box</h1><table class="infobox"><tr><th colspan="2">Box</th></tr>{rows}</table><p>It is a box.</p>',
    }
    return Archive("large", [str(write_zim(tmp_path_factory.mktemp("large") / "large.zim", pages))])


def test_pages_of_headings_are_the_whole_list(large_archive: Archive) -> None:
    whole = read_structure(large_archive, ReadStructure("Headings"))
    pages, offset = [], 0
    while offset is not None:
        page = read_structure(large_archive, ReadStructure("Headings", offset=offset, limit=400))
        assert page.total_headings == 5000
        pages += page.headings
        offset = page.next_offset

    assert pages == whole.headings
    assert (whole.total_headings, whole.next_offset) == (None, None)


def test_table_of_contents_is_bounded_and_says_how_to_go_on(large_archive: Archive) -> None:
    def titles(entries: list[TocEntry]) -> list[str]:
        return [title for entry in entries for title in (entry.title, *titles(entry.children))]

    first = read_table_of_contents(large_archive, ReadTableOfContents("Headings", limit=400))
    second = read_table_of_contents(large_archive, ReadTableOfContents("Headings", offset=400, limit=400))

    assert (first.total_headings, first.next_offset) == (5000, 400)
    assert [title.split()[1] for title in titles(first.toc) + titles(second.toc)] == [str(n) for n in range(800)]
    with pytest.raises(errors.OutOfRange, match="has 5000 headings"):
        read_table_of_contents(large_archive, ReadTableOfContents("Headings", offset=5000))


def test_summary_of_a_huge_infobox_is_bounded(large_archive: Archive) -> None:
    summary = read_summary(large_archive, ReadSummary("Box"))

    assert summary.truncated
    assert summary.summary == "It is a box."
    assert 0 < len(msgspec.json.encode(summary)) < 20_000
