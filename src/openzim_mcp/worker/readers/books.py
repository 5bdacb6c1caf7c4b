"""The reader of plain text, which may be a book: its chapters are sections; licences around it are not its text."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

from openzim_mcp.text import escape_our_lines, strip_invisible
from openzim_mcp.worker.readers.builder import DocumentBuilder
from openzim_mcp.worker.readers.html.notices import EBOOK_MARK, mark_ebook_frame
from openzim_mcp.worker.readers.text import to_utf8

if TYPE_CHECKING:
    from openzim_mcp.worker.document import Document

_NUMBER = (
    r"(?:[IVXLC]{1,8}|\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|the \w+|first|last)\b"
)
_NAMES = (
    "chapter|book|part|act|scene|letter|canto|volume|section|stave|kapitel|buch|teil|akt|brief|chapitre|livre|partie|acte|"
    "cap[ií]tulo|libro|parte|capitolo|глава|часть|книга|hoofdstuk|kapitola|rozdział|luku"
)
_CHAPTER = re.compile(
    rf"\s*(?:(?:{_NAMES})\.? +{_NUMBER}|(?:prologue|epilogue|preface|introduction|foreword|appendix|afterword|vorwort|"
    rf"einleitung|préface|prólogo|epílogo)\b|第[一二三四五六七八九十百千\d]+[章回卷])[^\n]{{0,80}}(?:\n[^\n]{{1,80}}){{0,2}}\s*",
    re.IGNORECASE,
)
_MAX_CHAPTER_CHARS = 200
_MIN_CHAPTER_TEXT = 200
"""A chapter has so much text; in a table of contents the next one follows at once."""
_MIN_CHAPTERS = 2


def read_plain_text(raw: bytes, _path: str = "") -> Document:
    """Return plain text as it is, in paragraphs; chapters are sections if there are some."""
    paragraphs = _paragraphs(to_utf8(raw).decode(errors="replace"))
    headings = _find_chapters(paragraphs)
    builder = DocumentBuilder()
    for number, paragraph in enumerate(paragraphs):
        if number in headings:
            builder.outline.open_section(" ".join(paragraph.split()), 1, "", len(builder.blocks))
        builder.add("lines", paragraph)
    facts: tuple[tuple[str, str], ...] = ()
    if EBOOK_MARK in raw:
        facts = tuple(mark_ebook_frame(builder.blocks))
    title = dict(facts).get("Title", "")
    return builder.build(title, facts=facts)


def _paragraphs(text: str) -> list[str]:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ").split("\n")
    visible = "\n".join(escape_our_lines(strip_invisible(line)) for line in lines)
    return [part for part in visible.split("\n\n") if part.strip("\n")]


def _find_chapters(paragraphs: list[str]) -> set[int]:
    """Return the numbers of the paragraphs that are headings of chapters."""
    found = [
        number
        for number, paragraph in enumerate(paragraphs)
        if len(paragraph) <= _MAX_CHAPTER_CHARS and _CHAPTER.fullmatch(paragraph)
    ]
    bounds = itertools.pairwise([*found, len(paragraphs)])
    chapters = {start for start, stop in bounds if sum(map(len, paragraphs[start + 1 : stop])) >= _MIN_CHAPTER_TEXT}
    return chapters if len(chapters) >= _MIN_CHAPTERS else set()
