from __future__ import annotations

from openzim_mcp.worker.search.query import Term
from openzim_mcp.worker.search.rough_page import RoughPage

RED, FISH = Term("red", "red", 1, 1.0), Term("fishes", "fish", 1, 2.0)
FILLER = b"<p>" + b"Nothing of it. " * 80 + b"</p>"


def test_passage_is_the_block_with_the_words_in_its_section() -> None:
    page = RoughPage(
        b"<h1>Title</h1><p>Lead.</p>"
        + FILLER
        + b"<h2 id='x'>The <i>Sea</i></h2><p>Red &amp; cold <b>Fish</b>.</p>"
        + FILLER,
        [RED, FISH],
    )

    (passage,) = page.passages
    assert passage.normalized.split() == ["red", "&", "cold", "fish", "."]
    assert page.sections[passage.section].title.split() == ["the", "sea"]


def test_lead_has_no_heading() -> None:
    page = RoughPage(b"<p>A red fish.</p>" + FILLER + b"<h2>Sea</h2>", [RED])

    assert [page.sections[passage.section].title for passage in page.passages] == [""]


def test_accents_and_case_do_not_matter_inside_a_passage() -> None:
    page = RoughPage("<p>RED Z\u00dcRICH</p>".encode(), [RED])

    assert page.passages[0].normalized.split() == ["red", "zurich"]


def test_page_without_the_words_and_broken_bytes_have_no_passage() -> None:
    assert RoughPage(b"", [RED]).passages == []
    assert RoughPage(FILLER, [RED]).passages == []
    assert len(RoughPage(b"<p \xff\xfe red <h2", [RED]).passages) == 1
