from __future__ import annotations

from pathlib import Path

import pytest
from libzim.reader import Archive

from openzim_mcp.worker.readers.html.disambiguation import may_be_disambiguation
from openzim_mcp.worker.readers.html.reader import read_html

MEANINGS = "<ul><li>One</li><li>Two</li></ul>"


def is_disambiguation(body: str, title: str = "X") -> bool:
    raw = f"<html><head><title>{title}</title></head><body>{body}</body></html>".encode()
    is_one = read_html(raw, "X").is_disambiguation
    assert may_be_disambiguation(raw, title) >= is_one
    return is_one


def test_real_pages_with_the_mark_are_disambiguation_pages(zims: Path) -> None:
    archive = Archive(zims / "built/wiki_real_pub.zim")
    count = 0
    for number in range(archive.all_entry_count):
        entry = archive._get_entry_by_id(number)
        if entry.is_redirect or "html" not in entry.get_item().mimetype:
            continue
        raw = bytes(entry.get_item().content)
        is_marked = b'id="disambig"' in raw
        count += is_marked

        assert read_html(raw, entry.path).is_disambiguation == is_marked, entry.path
        assert may_be_disambiguation(raw, entry.title) >= is_marked, entry.path
    assert count > 140


@pytest.mark.parametrize(
    "line",
    [
        "<b>X</b> may refer to:",
        "<b>X</b> can also mean:",
        "<b>X</b> steht für:",
        "<b>X</b> peut désigner :",
        "<b>X</b> puede referirse a:",
        "<b>X</b> pode referir-se a:",
        "<b>X</b> può riferirsi a:",
        "<b>X</b> kan verwijzen naar:",
        "<b>X</b> может означать:",
        "<b>X</b> może odnosić się do:",
        "<b>X</b> şu anlamlara gelebilir:",
        "قد يشير <b>X</b> إلى:",
        "<b>X</b>可以指：",
        "<b>X</b>は以下の意味：",
        "<b>X</b>는 다음을 뜻하는 말이다:",
        "<b>X</b> dapat merujuk pada:",
        "<b>X</b> có thể là:",
    ],
)
def test_first_line_says_that_meanings_follow(line: str) -> None:
    assert is_disambiguation(f"<p>{line}</p>{MEANINGS}")


@pytest.mark.parametrize("title", ["X (disambiguation)", "X (Begriffsklärung)", "X (значения)", "X (曖昧さ回避)"])
def test_title_says_that_meanings_follow(title: str) -> None:
    assert is_disambiguation("<p>See</p>", title)


@pytest.mark.parametrize(
    "body",
    [
        "<p>The verb may refer to: a deed, or a thing.</p><p>Text.</p>",
        f"<p>X is a genus of plants. It has these species:</p>{MEANINGS}",
        f"<div class='hatnote'>X may refer to:</div><p>X is a town.</p>{MEANINGS}",
    ],
)
def test_other_pages_are_not_disambiguation_pages(body: str) -> None:
    assert not is_disambiguation(body)


def test_bytes_tell_that_a_page_may_be_a_disambiguation_page() -> None:
    assert may_be_disambiguation(b"<p>X may refer&nbsp;to:&nbsp;</b></p>\n<h2 id='places'>Places</h2><ul>", "X")


@pytest.mark.parametrize(
    "body",
    ["<p>It has a harbour: the old one.</p><ul><li>One</li></ul>", 50_000 * ":<", "X: " + 50_000 * "<a:b>"],
    ids=["plain", "colons", "tags"],
)
def test_bytes_tell_that_a_page_is_no_disambiguation_page(body: str) -> None:
    assert not may_be_disambiguation(body.encode(), "X")
