from __future__ import annotations

from pathlib import Path

import pytest
from libzim.reader import Archive

from openzim_mcp.worker.readers.html.reader import read_html

MEANINGS = "<ul><li>One</li><li>Two</li></ul>"


def is_disambiguation(body: str, title: str = "X") -> bool:
    return read_html(
        f"<html><head><title>{title}</title></head><body>{body}</body></html>".encode(), "X"
    ).is_disambiguation


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
