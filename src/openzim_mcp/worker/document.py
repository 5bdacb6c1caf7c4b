"""One page as a document: blocks in sections, links, key facts, passages. Every view is a slice of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

from openzim_mcp.text import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

BlockKind = Literal[
    "paragraph",
    "heading",
    "list",
    "table",
    "code",
    "quote",
    "definition",
    "figure",
    "hatnote",
    "facts",
    "lines",
    "notice",
]
LinkKind = Literal["internal", "external", "media", "anchor"]
SectionKind = Literal["text", "question", "answer", "references"]

BLOCK_SEPARATOR = "\n\n"
_MAX_BLOCK_CHARS = 1200
"""A longer block is split into several passages."""
_PASSAGE_CHARS = 500
"""Short blocks are joined up to this size."""
_MAX_LINE_CHARS = 5000
_KINDS_WITHOUT_PASSAGE = {"heading", "hatnote", "notice"}
_LIST_MARKER = re.compile(r"^ *(?:- |\d+\. )", re.MULTILINE)


class Block(NamedTuple):
    """A piece of Markdown that is cut only if it does not fit as a whole."""

    kind: BlockKind
    text: str
    section: int
    anchor: str = ""
    """The id of a definition, by which it can be requested."""

    def as_line(self) -> str:
        """Return the block as part of a line."""
        text = self.text
        return "; ".join(self.lines()) if "\n" in text or self.kind != "paragraph" else text

    def lines(self) -> list[str]:
        """Return the lines of the block without the marks of a list; code is one line."""
        if self.kind == "code":
            return [f"`{' '.join(self.text.strip('`').split())}`"]
        return (_LIST_MARKER.sub("", self.text) if self.kind == "list" else self.text).split("\n")


class Link(NamedTuple):
    """A link: `target` is a path in the archive or, if external, a URL."""

    kind: LinkKind
    target: str
    fragment: str
    text: str
    section: int


class Passage(NamedTuple):
    """A piece of text of one section that can answer a question by itself."""

    section: int
    text: str
    normalized: str
    fact_names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its content: blocks `start` to `stop`, with those of its subsections `start` to `end`."""

    id: str
    title: str
    level: int
    parent: int | None
    start: int
    stop: int
    end: int
    kind: SectionKind = "text"
    """Which post of a question-and-answer page it is, or whether it has references and links instead of text."""


@dataclass(frozen=True)
class Document:
    """The content of a page; the first section is the lead, before any heading."""

    title: str
    description: str
    language: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...]
    links: tuple[Link, ...]
    facts: tuple[tuple[str, str], ...]
    is_disambiguation: bool = False
    dropped: dict[str, int] = field(default_factory=dict)
    """How much was left out, by reason: characters of hidden text and markup, else elements."""

    @classmethod
    def without_sections(cls, blocks: tuple[Block, ...], dropped: dict[str, int] | None = None) -> Document:
        """Return a document that is all lead, without title and links."""
        lead = Section("", "", 0, None, 0, len(blocks), len(blocks))
        return cls("", "", "", blocks, (lead,), (), (), dropped=dropped or {})

    @cached_property
    def body(self) -> str:
        """The whole text, in Markdown."""
        return BLOCK_SEPARATOR.join(block.text for block in self.blocks)

    @cached_property
    def passages(self) -> list[Passage]:
        """The text in passages: paragraphs, and short blocks of one section joined."""
        return list(_split_passages(self.blocks))

    @cached_property
    def lead(self) -> tuple[Block, ...]:
        """The blocks before the first heading."""
        return self.blocks[: self.sections[0].stop]

    @cached_property
    def _children(self) -> dict[int | None, list[int]]:
        children: dict[int | None, list[int]] = {}
        for number, section in enumerate(self.sections):
            children.setdefault(section.parent, []).append(number)
        return children

    def children(self, section: int) -> list[int]:
        """Return the numbers of the sections right below one."""
        return self._children.get(section, [])


def _split_passages(blocks: Iterable[Block]) -> Iterator[Passage]:
    section, text = 0, ""
    fact_names: tuple[str, ...] = ()
    for block in blocks:
        if block.kind in _KINDS_WITHOUT_PASSAGE:
            continue
        for piece in _split_block(block.text):
            if text and (block.section != section or len(text) + len(piece) > _PASSAGE_CHARS):
                yield Passage(section, text, normalize(text), fact_names)
                text, fact_names = "", ()
            text = f"{text}\n{piece}" if text else piece
            section = block.section
            if block.kind == "facts":
                fact_names += tuple(line[2:].partition(":")[0] for line in piece.split("\n"))
    if text:
        yield Passage(section, text, normalize(text), fact_names)


def _split_block(text: str) -> list[str]:
    """Split a long block between its lines."""
    if len(text) <= _MAX_BLOCK_CHARS:
        return [text]
    pieces = [""]
    for line in text.split("\n"):
        if pieces[-1] and len(pieces[-1]) + len(line) > _PASSAGE_CHARS:
            pieces.append("")
        pieces[-1] = f"{pieces[-1]}\n{line}" if pieces[-1] else line[:_MAX_LINE_CHARS]
    return pieces
