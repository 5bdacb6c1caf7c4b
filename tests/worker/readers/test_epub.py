from __future__ import annotations

import pytest

from openzim_mcp.worker.readers import epub
from openzim_mcp.worker.readers.epub import read_epub
from support.epubs import write_epub

CHAPTERS = {"one.xhtml": "<p>The whale rose at dawn.</p>", "two.xhtml": "<h1>The Storm</h1><p>The mast broke.</p>"}
NCX = (
    '<navPoint><navLabel><text>The Whale</text></navLabel><content src="one.xhtml"/></navPoint>'
    '<navPoint><navLabel><text>The Storm</text></navLabel><content src="two.xhtml#start"/></navPoint>'
)
NAV = '<li><a href="one.xhtml">The Whale</a><ol><li><a href="two.xhtml">The Storm</a></li></ol></li>'


@pytest.mark.parametrize(("toc", "kind"), [(NCX, "ncx"), (NAV, "nav")])
def test_chapters_are_sections(toc: str, kind: str) -> None:
    document = read_epub(write_epub(CHAPTERS, toc=toc, toc_kind=kind))

    assert (document.title, dict(document.facts)["Author"], document.language) == ("Sea Stories", "Ada Quill", "en")
    assert [row.title for row in document.sections[1:]] == ["The Whale", "The Storm"]
    assert [document.sections[row.section].title for row in document.passages] == ["The Whale", "The Storm"]


def test_book_without_contents_has_the_headings_of_its_pages() -> None:
    assert [row.title for row in read_epub(write_epub(CHAPTERS)).sections] == ["", "The Storm"]


@pytest.mark.parametrize(
    ("raw", "sentence"),
    [
        (b"not a zip", "This e-book is damaged and cannot be read."),
        (write_epub(CHAPTERS)[:300], "This e-book is damaged and cannot be read."),
        (
            write_epub(CHAPTERS, extra={"META-INF/rights.xml": b"<r/>"}),
            "This e-book is protected by DRM and cannot be read.",
        ),
        (
            write_epub(CHAPTERS, extra={"META-INF/encryption.xml": b'<e><EncryptionMethod Algorithm="aes"/></e>'}),
            "This e-book is protected by DRM and cannot be read.",
        ),
        (write_epub({}), "This e-book has no text that can be read."),
    ],
)
def test_unreadable_book_is_a_sentence(raw: bytes, sentence: str) -> None:
    document = read_epub(raw)

    assert (document.body, document.passages) == (sentence, [])


def test_book_with_mangled_fonts_is_read() -> None:
    method = b'<e><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></e>'

    assert read_epub(write_epub(CHAPTERS, extra={"META-INF/encryption.xml": method})).passages


def test_entities_of_a_document_type_are_not_expanded() -> None:
    bomb = b'<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><package>&b;</package>'

    assert "aaaa" not in read_epub(write_epub(CHAPTERS, extra={"OEBPS/content.opf": bomb})).body


def test_zip_bomb_is_unpacked_only_in_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(epub, "_MAX_BOOK_BYTES", 20_000)
    chapters = {f"{n}.xhtml": f"<p>{'word ' * 2000}</p>" for n in range(50)}

    assert len(read_epub(write_epub(chapters)).body) < 25_000
