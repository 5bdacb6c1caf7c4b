from __future__ import annotations

from openzim_mcp.worker.readers.books import read_plain_text
from openzim_mcp.worker.readers.delimited import read_table
from openzim_mcp.worker.readers.markdown import read_markdown
from openzim_mcp.worker.readers.rtf import read_rtf
from openzim_mcp.worker.readers.svg import read_svg

LINE = "The ship sailed on and nobody on board knew where the captain wanted to go that winter.\n" * 4
BOOK = f"""The Project Gutenberg eBook of The Ship

Title: The Ship

Author: Ada Quill

*** START OF THE PROJECT GUTENBERG EBOOK THE SHIP ***

CONTENTS

CHAPTER I

CHAPTER II

CHAPTER I
The Harbour

{LINE}

CHAPTER II

{LINE}

*** END OF THE PROJECT GUTENBERG EBOOK THE SHIP ***

Updated editions will replace the previous one. START: FULL LICENSE
"""


def test_chapters_of_a_plain_text_book_are_sections() -> None:
    document = read_plain_text(BOOK.encode())

    assert [row.title for row in document.sections[1:]] == ["CHAPTER I The Harbour", "CHAPTER II"]
    assert (document.title, dict(document.facts)) == ("The Ship", {"Title": "The Ship", "Author": "Ada Quill"})


def test_licence_is_not_a_passage() -> None:
    passages = read_plain_text(BOOK.encode()).passages

    assert not any("LICENSE" in passage.text or "Project Gutenberg" in passage.text for passage in passages)


def test_text_without_chapters_is_one_section() -> None:
    assert len(read_plain_text(b"Chapter 1 of the law says nothing.\n\nPart of it is lost.").sections) == 1


def test_markdown_headings_are_sections() -> None:
    raw = b"---\nid: 5\ntitle: Loops\n---\n# --description--\n\nA <em>loop</em> repeats.\n\n```js\n# not a heading\n```\n\n## More\n\n- a\n- b\n"

    document = read_markdown(raw)

    assert document.title == "Loops"
    assert [row.title for row in document.sections[1:]] == ["Description", "More"]
    assert [block.kind for block in document.blocks] == ["heading", "paragraph", "code", "heading", "list"]
    assert document.blocks[1].text == "A loop repeats."


def test_unclosed_fence_of_markdown_is_closed() -> None:
    assert read_markdown(b"```\ncode").body == "```\ncode\n```"


def test_table_is_markdown() -> None:
    assert read_table(b'name;metres\n"Ben; Nevis";1345\nK2;8611\n').body == (
        "| name | metres |\n| --- | --- |\n| Ben; Nevis | 1345 |\n| K2 | 8611 |"
    )
    assert read_table(b"a\tb|c\n1\t2\n", "x.tsv").body == "| a | b\\|c |\n| --- | --- |\n| 1 | 2 |"
    assert read_table(b"").body == ""


def test_rtf_is_its_text() -> None:
    raw = rb"{\rtf1\ansi{\fonttbl{\f0 Times;}}{\*\generator X;}\b Knots\b0\par A bowline\'92s loop \u8211?does not slip.\par}"

    assert read_rtf(raw).body == "Knots\n\nA bowline’s loop –does not slip."


def test_svg_is_its_title_and_labels() -> None:
    raw = b"<svg xmlns='x'><title>Water cycle</title><desc>How water moves</desc><text><tspan>Rain</tspan></text><text>Sea</text></svg>"

    document = read_svg(raw)

    assert (document.title, document.body) == ("Water cycle", "Water cycle\n\nHow water moves\n\n- Rain\n- Sea")
    assert "This entry is a picture" in read_svg(b"<svg/>").body
