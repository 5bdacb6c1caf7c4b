"""XML from strangers, read piece by piece: a broken piece costs itself only.

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

# Servers forget to escape the & of an address.
_LOOSE_AMPERSAND = re.compile(r"&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[0-9a-fA-F]{1,6});)")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_DEPTH = 50


class Malformed(ValueError):
    """The piece is not XML even when read kindly."""


@dataclass
class Element:
    """An element; prefixes of names are part of them, as written."""

    name: str
    attributes: dict[str, str]
    children: list[Element] = field(default_factory=list)
    text: str = ""

    def all(self, name: str) -> list[Element]:
        """Return the children of that name."""
        return [child for child in self.children if child.name == name]

    def value(self, *names: str) -> str:
        """Return the text of the first child that has one of the names and a text."""
        return next((text for name in names for child in self.all(name) if (text := child.text.strip())), "")


def decode(raw: bytes) -> str:
    """Return the text of a document."""
    return raw.decode("utf-8-sig", errors="replace")


def pieces(text: str, name: str) -> Iterator[str]:
    """Yield the source of every element of that name, up to its end or the start of the next one."""
    starts = [found.start() for found in re.finditer(rf"<{name}(?=[\s>/])", text)]
    for start, end in itertools.pairwise([*starts, len(text)]):
        piece = text[start:end]
        closing = piece.rfind(f"</{name}>")
        short = piece.rfind("/>")
        yield piece[: closing + len(name) + 3] if closing >= 0 else piece[: short + 2]


def read(piece: str) -> Element:
    """Return one element with all that is in it, or raise `Malformed`."""
    parser = expat.ParserCreate()
    parser.buffer_text = True
    top = Element("", {})
    path = [top]

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(path) > _DEPTH:
            raise Malformed("nested too deeply")
        element = Element(name, attributes)
        path[-1].children.append(element)
        path.append(element)

    def characters(data: str) -> None:
        path[-1].text += data

    def doctype(*_: object) -> None:
        raise Malformed("a document type is not accepted")

    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _: path.pop()
    parser.CharacterDataHandler = characters
    parser.StartDoctypeDeclHandler = doctype
    try:
        parser.Parse(_LOOSE_AMPERSAND.sub("&amp;", _NOT_XML.sub("", piece)), True)
    except expat.ExpatError as error:
        raise Malformed(str(error)) from None
    return top.children[0]
