"""One page as a document: blocks in sections, links, key facts. Every view is a slice of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple

from openzim_mcp.worker.passages import Passage, split

BlockKind = Literal[
    "paragraph", "heading", "list", "table", "code", "quote", "definition", "figure", "hatnote", "facts", "lines"
]
LinkKind = Literal["internal", "external", "media", "anchor"]

BETWEEN = "\n\n"
"""What stands between two blocks."""


class Block(NamedTuple):
    """A piece of Markdown that is never cut without need."""

    kind: BlockKind
    text: str
    section: int
    anchor: str = ""
    """The id of a definition: what it can be asked for by."""


class Link(NamedTuple):
    """A link: `target` is a path in the archive or, if external, a URL."""

    kind: LinkKind
    target: str
    fragment: str
    text: str
    section: int


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what is below it: blocks `start` to `stop` are its own, up to `end` with its subsections'."""

    id: str
    title: str
    level: int
    parent: int | None
    start: int
    stop: int
    end: int


@dataclass(frozen=True)
class Document:
    """What a page says; the first section is the lead, before any heading."""

    title: str
    description: str
    language: str
    blocks: tuple[Block, ...]
    sections: tuple[Section, ...]
    links: tuple[Link, ...]
    facts: tuple[tuple[str, str], ...]
    is_disambiguation: bool = False
    dropped: dict[str, int] = field(default_factory=dict)
    """What was left out: characters by reason."""

    @cached_property
    def body(self) -> str:
        """The whole text, in Markdown."""
        return BETWEEN.join(block.text for block in self.blocks)

    @cached_property
    def passages(self) -> list[Passage]:
        """The text in pieces that can answer a question."""
        return list(split(self.blocks))

    @cached_property
    def lead(self) -> tuple[Block, ...]:
        """The blocks before the first heading."""
        return self.blocks[: self.sections[0].stop]

    @cached_property
    def _below(self) -> dict[int | None, list[int]]:
        found: dict[int | None, list[int]] = {}
        for number, section in enumerate(self.sections):
            found.setdefault(section.parent, []).append(number)
        return found

    def children(self, section: int) -> list[int]:
        """Return the sections right below one."""
        return self._below.get(section, [])


def without_sections(blocks: tuple[Block, ...], title: str = "", dropped: dict[str, int] | None = None) -> Document:
    """Return a document that is all lead."""
    lead = Section("", "", 0, None, 0, len(blocks), len(blocks))
    return Document(title, "", "", blocks, (lead,), (), (), dropped=dropped or {})
