"""Parse XML from untrusted servers element by element, so that one broken element does not cost the others.

A document type never reaches the parser, so no entity can be declared.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from xml.parsers import expat

if TYPE_CHECKING:
    from collections.abc import Iterator

# Servers forget to escape the & of a URL.
_UNESCAPED_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MAX_DEPTH = 50
_MAX_DIGITS = 18


class MalformedXml(ValueError):
    """The source is not XML, even after small errors are corrected."""


@dataclass
class Element:
    """An XML element; names keep their prefix."""

    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def children_by_name(self, name: str) -> list[Element]:
        """Return the direct children of that name."""
        return [child for child in self.children if child.name == name]

    def child_text(self, *names: str) -> str:
        """Return the text of the first direct child that has one of the names and is not empty."""
        texts = (child.text.strip() for name in names for child in self.children_by_name(name))
        return next(filter(None, texts), "")


def decode_document(content: bytes) -> str:
    """Decode a document as UTF-8; invalid bytes become U+FFFD."""
    return content.decode("utf-8-sig", errors="replace")


def split_elements(text: str, name: str) -> Iterator[str]:
    """Yield the source of each element of that name, up to its end or the start of the next one."""
    starts = [match.start() for match in re.finditer(rf"<{name}(?=[\s>/])", text)]
    for start, end in itertools.pairwise([*starts, len(text)]):
        source = text[start:end]
        closing_tag = source.rfind(f"</{name}>")
        empty_tag_end = source.rfind("/>")
        yield source[: closing_tag + len(name) + 3] if closing_tag >= 0 else source[: empty_tag_end + 2]


def parse_element(source: str) -> Element:
    """Parse one element with its descendants, or raise `MalformedXml`."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    document = Element("", {})
    open_elements = [document]

    def on_start(name: str, attributes: dict[str, str]) -> None:
        if len(open_elements) > _MAX_DEPTH:
            raise MalformedXml("nested too deeply")
        element = Element(name, attributes)
        open_elements[-1].children.append(element)
        open_elements.append(element)

    def on_text(data: str) -> None:
        open_elements[-1].text += data

    def on_doctype(*_: object) -> None:
        raise MalformedXml("a document type is not accepted")

    parser.StartElementHandler = on_start
    parser.EndElementHandler = lambda _: open_elements.pop()
    parser.CharacterDataHandler = on_text
    parser.StartDoctypeDeclHandler = on_doctype
    try:
        parser.Parse(_UNESCAPED_AMPERSAND.sub("&amp;", _NOT_XML.sub("", source)), True)
    except expat.ExpatError as error:
        raise MalformedXml(str(error)) from None
    return document.children[0]


def parse_integer(text: str) -> int | None:
    """Return a number that is written in ASCII digits, or None."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS else None
