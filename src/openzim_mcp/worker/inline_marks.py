"""Marks in the texts of a document for the page: where links, pictures and formulas stand.

A mark is one character that no page has. The same text without its marks is what a model reads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.calls.page import END_MARK, FIRST_MARK, MARK_PATTERN, MAX_INLINE_OBJECTS
from openzim_mcp.text import strip_invisible
from openzim_mcp.worker.document import Media

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.worker.document import Block, Formula, Link, MediaKind

_MARK = re.compile(MARK_PATTERN)
_LINKED_KINDS = frozenset({"paragraph", "figure"})
_MAX_PIXELS = 10_000
_ICON_PIXELS = 50


def strip_marks(text: str) -> str:
    """Return a text without marks."""
    return text if text.isascii() else _MARK.sub("", text)


class InlineMarks:
    """The objects of a document, each with a mark in the text."""

    def __init__(self) -> None:
        self.objects: list[Link | Media | Formula] = []

    def _add(self, thing: Link | Media | Formula) -> str:
        if len(self.objects) >= MAX_INLINE_OBJECTS:
            return ""
        self.objects.append(thing)
        return chr(FIRST_MARK + len(self.objects) - 1)

    def enclose(self, thing: Link | Formula, buffer: list[str], start: int) -> None:
        """Put marks around the text of the buffer from `start` on; blanks at its ends stay outside."""
        mark = self._add(thing)
        if mark:
            text = "".join(buffer[start:])
            core = text.strip()
            before, _, after = text.partition(core)
            buffer[start:] = [piece for piece in (before, mark, core, END_MARK, after) if piece]

    def enclose_link(self, link: Link, buffer: list[str], start: int, blocks: list[Block], first_block: int) -> None:
        """Put marks around the text of a link, or of each block inside it; one without text is left out."""
        if len(blocks) == first_block:
            if link.text:
                self.enclose(link, buffer, start)
            return
        mark = self._add(link)
        for number in range(first_block, len(blocks)):
            block = blocks[number]
            if mark and block.kind in _LINKED_KINDS and strip_marks(block.text):
                blocks[number] = block._replace(text=f"{mark}{block.text}{END_MARK}")

    def add_media(self, kind: MediaKind, link: Link, attributes: Mapping[str, str | None], buffer: list[str]) -> None:
        """Add the mark of a picture, video or sound."""
        width, height = _pixels(attributes.get("width")), _pixels(attributes.get("height"))
        buffer.append(self._add(Media(kind, link.target, strip_invisible(link.text), width, height)))

    def find_media(self, text: str) -> list[str]:
        """Return the marks of the pictures and videos in a text, without icons."""
        return [mark for mark in _MARK.findall(text) if _is_large(self._object_of(mark))]

    def _object_of(self, mark: str) -> Link | Media | Formula | None:
        number = ord(mark) - FIRST_MARK
        return self.objects[number] if number < len(self.objects) else None

    def caption(self, media: Sequence[str], captions: Sequence[str]) -> list[str]:
        """Return the captions with the marks of pictures before them; what remains has none."""
        count = max(len(media), len(captions))
        rows = zip([*media, *[""] * (count - len(media))], [*captions, *[""] * (count - len(captions))], strict=True)
        return [" ".join(filter(None, row)) for row in rows]

    def place_links(self, text: str, links: Sequence[Link]) -> str:
        """Put marks around the texts of links, each at the first place where it stands as whole words."""
        for link in links:
            if link.kind == "media" or not link.text:
                continue
            place = re.search(rf"(?<!\w){re.escape(link.text)}(?!\w)", text)
            if place and not _is_inside(text, place.start()):
                text = f"{text[: place.start()]}{self._add(link)}{link.text}{END_MARK}{text[place.end() :]}"
        return text

    def join_lines(self, lines: Sequence[str]) -> str:
        """Return lines as one; a picture without text is not an item of its own."""
        text = ""
        for line in lines:
            is_picture = not strip_marks(text).strip() or not strip_marks(line).strip()
            text += ("" if not text else " " if is_picture else "; ") + line
        return text


def _is_inside(text: str, position: int) -> bool:
    """Return whether a position is inside a link that has its marks already."""
    return len(_MARK.findall(text, 0, position)) > 2 * text.count(END_MARK, 0, position)


def _is_large(thing: object) -> bool:
    return isinstance(thing, Media) and (not thing.width or thing.width > _ICON_PIXELS)


def _pixels(value: str | None) -> int:
    text = (value or "").removesuffix("px")
    return min(int(text), _MAX_PIXELS) if text.isdecimal() and text.isascii() else 0
