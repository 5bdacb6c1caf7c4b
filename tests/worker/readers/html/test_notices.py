from __future__ import annotations

from pathlib import Path

import pytest
from libzim.reader import Archive

from openzim_mcp.worker.document import Document
from openzim_mcp.worker.readers.html.reader import read_html

TEXT = "<p>Text of the article.</p>"


def read_page(zims: Path, archive: str, path: str) -> Document:
    return read_html(bytes(Archive(zims / archive).get_entry_by_path(path).get_item().content), path)


@pytest.mark.parametrize(
    "line",
    [
        "This article is issued from Wikipedia. The text is licensed under Creative Commons.",
        'Retrieved from "http://en.wikipedia.org/wiki/X"',
        "<i>This page last modified on 2025-02-06 11:58:24 UTC</i>",
        "Jump to navigation",
        "© 2024 Somebody<br>Licensed under the MIT License.<br>https://example.org/",
        "Asked 2015-01-28 · Viewed 50 times",
        "Previous | Next | Up",
        "<b>Пред.</b> | <b>След.</b>",
        "Home » Manual » Chapter 2",
    ],
)
def test_notice_stays_in_the_page_but_is_not_a_passage(line: str) -> None:
    document = read_html(f"<body>{TEXT}<p>{line}</p></body>".encode(), "X")

    assert [block.kind for block in document.blocks] == ["paragraph", "notice"]
    assert [passage.text for passage in document.passages] == ["Text of the article."]


@pytest.mark.parametrize(
    "line",
    [
        "Next, the dough is kneaded.",
        "Up to 300 people live here.",
        "The film was licensed under an agreement of 1990.",
        "Home rule was granted in 1920.",
    ],
)
def test_text_that_only_starts_alike_is_text(line: str) -> None:
    document = read_html(f"<body>{TEXT}<p>{line}</p></body>".encode(), "X")

    assert [block.kind for block in document.blocks] == ["paragraph", "paragraph"]


def test_page_of_notices_only_is_text() -> None:
    document = read_html(
        b"<body><h2>Copyright</h2><p>Copyright \xc2\xa9 2001 Python Software Foundation.</p></body>", "X"
    )

    assert [block.kind for block in document.blocks] == ["heading", "paragraph"]


def test_ebook_frame_is_not_a_passage(zims: Path) -> None:
    document = read_page(zims, "built/gutenberg_pub.zim", "Frankenstein; Or, The Modern Prometheus.84")
    passages = "\n".join(passage.text for passage in document.passages)

    assert ("Author", "Mary Wollstonecraft (Godwin) Shelley") in document.facts
    assert "- Author: Mary Wollstonecraft" in document.passages[0].text
    assert "This eBook is for the use of anyone" in document.body
    assert "This eBook is for the use of anyone" not in passages
    assert "END OF THIS PROJECT GUTENBERG" in document.body
    assert "END OF THIS PROJECT GUTENBERG" not in passages
    assert "lost in darkness and distance" in passages
    for section in document.sections[1:]:
        assert document.blocks[section.start].kind == "heading"


@pytest.mark.parametrize(
    ("archive", "path", "words"),
    [
        ("real/wikipedia_en_100_mini_2022-10.zim", "A/Anfield", "issued from Wikipedia"),
        ("real/devdocs_en_sqlite_2025-04.zim", "amalgamation", "last modified on"),
        ("real/devdocs_en_sqlite_2025-04.zim", "amalgamation", "in the Public Domain"),
        ("built/nonlatin_pub.zim", "zh-CN/13.2._定制图形界面", "上一页"),
        ("built/nonlatin_pub.zim", "zh-CN/13.2._定制图形界面", "Download the ebook"),
    ],
)
def test_real_page_has_no_passage_with_the_notice(zims: Path, archive: str, path: str, words: str) -> None:
    document = read_page(zims, archive, path)

    assert document.passages
    assert not [passage.text for passage in document.passages if words in passage.text]
