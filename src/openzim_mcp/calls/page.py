"""Calls of the page: an article as blocks and what stands in them, and the original of a page."""

from __future__ import annotations

from typing import Literal

import msgspec

from openzim_mcp.calls import Struct
from openzim_mcp.calls.reading import EntryCall, EntryResult

# Marks in a text: one character starts the object of its number, another one ends links and formulas. These code
# points are not assigned and never will be characters of text.
FIRST_MARK = 0x40000
MAX_INLINE_OBJECTS = 0x90000
END_MARK = "\U000dfff0"
MARK_PATTERN = "[\U00040000-\U000dfff0]"

MATH_TAGS = frozenset(
    "math semantics mrow mi mn mo ms mspace mtext mfrac msqrt mroot mstyle merror mpadded mphantom msub msup msubsup "
    "munder mover munderover mmultiscripts mprescripts none mtable mtr mtd menclose mfenced".split()
)
"""The elements of a formula; no other is sent or shown."""
MATH_ATTRIBUTES = {
    "mathvariant": ("normal",),
    "stretchy": ("true", "false"),
    "displaystyle": ("true", "false"),
    "accent": ("true", "false"),
    "display": ("block", "inline"),
    "linethickness": ("0",),
}


class MathElement(Struct, frozen=True):
    """An element of MathML: its tag and attributes, its text or its children."""

    tag: str
    text: str = ""
    attributes: dict[str, str] = msgspec.field(default_factory=dict)
    children: list[MathElement] = msgspec.field(default_factory=list)


class InlineObject(Struct, frozen=True):
    """What a mark stands for; a `missing` target is not in the archive.

    `target` is a path in the archive or, of an external link, a URL. `text` describes a picture, or is a formula's TeX.
    """

    kind: Literal["internal", "external", "anchor", "image", "video", "audio", "formula"]
    target: str = ""
    fragment: str = ""
    text: str = ""
    width: int = 0
    height: int = 0
    missing: bool = False
    math: MathElement | None = None


class PageBlock(Struct, frozen=True):
    """A block of Markdown with marks, the number of its section, and the anchors that lead to it."""

    kind: str
    text: str
    section: int = 0
    anchors: list[str] = msgspec.field(default_factory=list)
    locator: str = ""
    """Where it is in a document with pages or times: `p. 12`, `03:15`."""


class PageSection(Struct, frozen=True):
    """A section: its id, title and level, and the part of the article that it starts in."""

    id: str
    title: str
    level: int
    part: int = 0


class ArticlePage(EntryResult, frozen=True):
    """A part of an article for the page, with the outline of all of it; the first section is the lead."""

    mime_type: str
    size: int
    language: str
    description: str
    sections: list[PageSection]
    blocks: list[PageBlock]
    objects: list[InlineObject]
    part: int = 0
    part_count: int = 1
    fragment: str = ""
    """The part of the page that the reference named."""


class ReadPage(EntryCall[ArticlePage], frozen=True):
    """Read an article for the page; a long one in parts."""

    function = "reading.page:read_page"
    part: int = 0


class OriginalPage(Struct, frozen=True):
    """A web page as in the archive; of an entry of another type, only its path."""

    path: str
    html: bytes | None = None


class ReadOriginal(EntryCall[OriginalPage], frozen=True):
    """Read a web page as in the archive, but for what would leave it; `root` is where the archive's paths start."""

    function = "reading.original:read_original"
    root: str
