"""One page as a document: blocks in sections, links, key facts, passages. Every view is a slice of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from openzim_mcp.text import normalize

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openzim_mcp.calls.page import MathElement

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
MediaKind = Literal["image", "video", "audio"]
SectionKind = Literal["text", "question", "answer", "references"]
PassageKind = Literal["prose", "list", "table", "code", "facts", "caption"]

BLOCK_SEPARATOR = "\n\n"
_MAX_BLOCK_CHARS = 1200
"""A longer block is split into several passages."""
_PASSAGE_CHARS = 500
"""Short blocks are joined up to this size."""
_MAX_LINE_CHARS = 5000
_MAX_TABLE_HEADER_CHARS = 300
_MAX_REST_CHARS = 60
"""A shorter rest of a box is not a passage of its own."""
_MAX_TITLE_CHARS = 30
"""A shorter paragraph without a mark at its end is a title of what follows, such as "Note"."""
_DESCRIPTION_MARK = ": "
"""What a paragraph that describes a term starts with."""
_MAX_TERM_CHARS = 80
_KINDS_WITHOUT_PASSAGE = frozenset({"heading", "hatnote", "notice"})
_PASSAGE_KINDS: dict[BlockKind, PassageKind] = {
    "list": "list",
    "table": "table",
    "code": "code",
    "facts": "facts",
    "figure": "caption",
}
# As in "Population, 2008 estimate", "Population (2000), Total" and "GDP (PPP) (2007 estimate), Per capita".
_FACT_QUALIFIER = re.compile(r" \([^()]*\d{4}[^()]*\)|, [^,]*\b\d{4}\b[^,]*$|, Total$")
_BOLD = re.compile(r"\*\*([^*\n]+)\*\*")
_LEAD_SENTENCE_CHARS = 300
_MAX_NAME_CHARS = 80
_LINK_LIST_SHARE = 0.6
_LIST_MARKER = re.compile(r"^ *(?:- |\d+\. )", re.MULTILINE)


class Anchor(NamedTuple):
    """A place of the page that a fragment of a URL can name: an id or `<a name>`, and the tag that has it."""

    name: str
    tag: str


class Block(NamedTuple):
    """A piece of Markdown that is cut only if it does not fit as a whole."""

    kind: BlockKind
    text: str
    section: int
    anchors: tuple[Anchor, ...] = ()
    """What stands before or inside it, by which it can be requested."""
    locator: str = ""
    """Where it is in a document that has pages or times: `p. 12`, `03:15`."""

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


class Media(NamedTuple):
    """A picture, video or sound of the archive, where it stands in a text; `text` describes it."""

    kind: MediaKind
    target: str
    text: str
    width: int = 0
    height: int = 0


class Formula(NamedTuple):
    """A formula, where it stands in a text: its TeX, and its MathML if the page has it."""

    tex: str
    tree: MathElement | None = None


class Passage(NamedTuple):
    """A piece of text of one section that can answer a question by itself."""

    section: int
    text: str
    normalized: str
    fact_names: tuple[str, ...] = ()
    """The names of the facts in its lines, without years and "total": what a question would call them."""
    kind: PassageKind = "prose"
    """What most of the text is."""
    locator: str = ""
    """The page or time where it starts."""


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


class Coordinates(NamedTuple):
    """A place on Earth, in degrees."""

    latitude: float
    longitude: float

    def __str__(self) -> str:
        return f"{self.latitude:.5g}, {self.longitude:.6g}"


_MAX_LATITUDE, _MAX_LONGITUDE = 90.0, 180.0


def make_coordinates(latitude: float, longitude: float) -> Coordinates | None:
    """Return coordinates, if there is such a place."""
    if abs(latitude) <= _MAX_LATITUDE and abs(longitude) <= _MAX_LONGITUDE:
        return Coordinates(latitude, longitude)
    return None


class Extent(NamedTuple):
    """How much of a long document was read: the last page and how many there are."""

    pages: int
    total: int

    @property
    def is_complete(self) -> bool:
        """Whether all pages were read."""
        return self.pages >= self.total


def describe_extent(page: PageText) -> str:
    """Return how many pages of a long document were read; empty if it was read whole."""
    extent = getattr(page, "extent", None)
    return f"{extent.pages} of {extent.total} pages" if extent and not extent.is_complete else ""


class PageText(Protocol):
    """What ranking needs of a page: a `Document`, or what an index stores of one."""

    @property
    def sections(self) -> Sequence[Section]:
        """The sections; the first one is the lead."""

    @property
    def passages(self) -> Sequence[Passage]:
        """The text in passages."""

    @property
    def is_link_list(self) -> bool:
        """Whether most of the text is links."""


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
    inline_objects: tuple[Link | Media | Formula, ...] = ()
    """What the marks in the texts of a document for the page stand for; other documents have no marks."""
    coordinates: Coordinates | None = None
    """Where on Earth the subject is."""
    extent: Extent | None = None
    """How much of a document with pages this is."""

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
        return _split_passages(self.blocks)

    @cached_property
    def is_link_list(self) -> bool:
        """Whether most of the text is links."""
        return sum(len(link.text) for link in self.links) > _LINK_LIST_SHARE * max(1, len(self.body))

    @cached_property
    def lead(self) -> tuple[Block, ...]:
        """The blocks before the first heading."""
        return self.blocks[: self.sections[0].stop]

    @cached_property
    def lead_names(self) -> tuple[str, ...]:
        """The names of the subject: the words in bold in the first sentences of the lead that have some."""
        for block in self.lead:
            if block.kind == "paragraph" and "**" in block.text:
                names = _BOLD.findall(block.text[:_LEAD_SENTENCE_CHARS])
                if block.text.strip("*") not in names:
                    return tuple(dict.fromkeys(name for name in names if len(name) <= _MAX_NAME_CHARS))
        return ()

    @cached_property
    def anchors(self) -> dict[str, tuple[int, str]]:
        """The number of the block and the tag of each anchor."""
        rows = [(number, anchor) for number, block in enumerate(self.blocks) for anchor in block.anchors]
        return {anchor.name: (number, anchor.tag) for number, anchor in reversed(rows)}

    @cached_property
    def _children(self) -> dict[int | None, list[int]]:
        children: dict[int | None, list[int]] = {}
        for number, section in enumerate(self.sections):
            children.setdefault(section.parent, []).append(number)
        return children

    def children(self, section: int) -> list[int]:
        """Return the numbers of the sections right below one."""
        return self._children.get(section, [])


def _split_passages(blocks: Iterable[Block]) -> list[Passage]:
    builder = _PassageBuilder()
    for block in blocks:
        if block.kind not in _KINDS_WITHOUT_PASSAGE:
            builder.add_block(block)
    builder.end_passage()
    return builder.passages or _list_headings(blocks)


class _PassageBuilder:
    """Joins blocks of one section; facts are passages of their own."""

    def __init__(self) -> None:
        self.passages: list[Passage] = []
        self._section = 0
        self._locator = ""
        self._kinds: list[PassageKind] = []
        self._pieces: list[str] = []
        self._chars = 0
        self._introductions = 0
        """How many of the last pieces only introduce what follows."""
        self._term = ""
        """The term whose definition is being read."""
        self._term_start = 0
        """The number of its piece, if it is in the passage being made; else 0."""

    def add_block(self, block: Block) -> None:
        text = block.text
        if block.section != self._section or block.locator != self._locator:
            self.end_passage()
            self._section, self._locator = block.section, block.locator
            self._term = ""
        self._note_term(block)
        kind = _PASSAGE_KINDS.get(block.kind, "prose")
        if kind == "facts":
            self.end_passage()
            self._add_facts(text)
            return
        for piece in (text,) if len(text) <= _MAX_BLOCK_CHARS else _split_block(block):
            if self._pieces and self._chars + len(piece) > _PASSAGE_CHARS:
                self.end_passage(self._pieces_to_keep(piece))
            if self._term and not self._pieces and block.kind != "definition":
                self._add_piece("prose", self._term)
            introduces = text[-1:] != "." and _is_introduction(block)
            self._introductions = self._introductions + 1 if introduces else 0
            self._add_piece(kind, piece)

    def _add_piece(self, kind: PassageKind, piece: str) -> None:
        self._kinds.append(kind)
        self._pieces.append(piece)
        self._chars += len(piece) + 1

    def _note_term(self, block: Block) -> None:
        """Remember the term that a block is, or forget it at a paragraph outside its definition."""
        if block.kind == "definition":
            self._term, self._term_start = _shorten_term(block.text), len(self._pieces)
        elif block.kind == "paragraph" and not block.text.startswith(_DESCRIPTION_MARK):
            self._term = ""

    def _pieces_to_keep(self, piece: str) -> int:
        """Return how many of the last pieces belong to the next one, if all fit into a passage.

        They introduce it, or start the definition that it belongs to behind the end of another.
        """
        kept = self._introductions
        if self._term and 0 < self._term_start < len(self._pieces):
            kept = max(kept, len(self._pieces) - self._term_start)
        chars = sum(map(len, self._pieces[-kept:])) if kept else 0
        return kept if chars + len(piece) <= _MAX_BLOCK_CHARS else 0

    def end_passage(self, kept: int = 0) -> None:
        """End the passage being made; the last `kept` pieces start the next one."""
        stop = len(self._pieces) - kept
        if stop:
            pieces, kinds = self._pieces[:stop], self._kinds[:stop]
            text, kind = (pieces[0], kinds[0]) if stop == 1 else ("\n".join(pieces), _main_kind(kinds, pieces))
            self.passages.append(Passage(self._section, text, normalize(text), (), kind, self._locator))
            self._pieces, self._kinds = self._pieces[stop:], self._kinds[stop:]
            self._term_start = 0
        self._chars = sum(map(len, self._pieces)) + kept if kept else 0
        self._introductions = kept

    def _add_facts(self, text: str) -> None:
        for piece in _split_facts(text):
            names = (line[2:].partition(": ") for line in piece.split("\n"))
            fact_names = tuple(_FACT_QUALIFIER.sub("", name) for name, colon, _ in names if colon)
            self.passages.append(Passage(self._section, piece, normalize(piece), fact_names, "facts"))


def _shorten_term(term: str) -> str:
    """Return a term without the arguments of a long signature: the head of what continues its definition."""
    if len(term) <= _MAX_TERM_CHARS:
        return term
    name, bracket, _ = term.partition("(")
    return f"{name}(…)`" if bracket and term.startswith("`") and len(name) <= _MAX_TERM_CHARS else ""


def _main_kind(kinds: list[PassageKind], pieces: list[str]) -> PassageKind:
    """Return what most of the text is; a passage is a caption only if nothing else is in it."""
    if kinds.count(kinds[0]) == len(kinds):
        return kinds[0]
    chars: dict[PassageKind, int] = {}
    for kind, piece in zip(kinds, pieces, strict=True):
        chars[kind] = chars.get(kind, 0) + (len(piece) if kind != "caption" else 0)
    return max(chars, key=chars.__getitem__)


def _is_introduction(block: Block) -> bool:
    """Return whether a block needs the next one: it ends with a colon, or is a term or a short title."""
    if block.kind == "definition":
        return True
    last = block.text[-1:]
    if last in ":：" or (last == "*" and block.text.endswith((":**", ":*"))):  # noqa: RUF001
        return block.kind != "table"
    return block.kind == "paragraph" and len(block.text) <= _MAX_TITLE_CHARS and (last.isalpha() or last == "*")


def _split_block(block: Block) -> list[str]:
    """Split a long block between its lines; each part of a table has its header, each part of code its fences."""
    text = block.text
    if len(text) <= _MAX_BLOCK_CHARS:
        return [text]
    if block.kind == "table":
        start = text.find("\n", text.find("\n| --- |") + 1)
        header = text[: start + 1]
        if 0 < len(header) <= _MAX_TABLE_HEADER_CHARS:
            return [header + rows for rows in _split_lines(text[start + 1 :], _PASSAGE_CHARS)]
    if block.kind == "code":
        opening, _, rest = text.partition("\n")
        code, _, closing = rest.rpartition("\n")
        return [f"{opening}\n{lines}\n{closing}" for lines in _split_lines(code, _PASSAGE_CHARS)]
    return _split_lines(text, _PASSAGE_CHARS)


def _split_facts(text: str) -> list[str]:
    """Split facts between their lines; each part starts with the title of the box, if it has one."""
    title, _, facts = text.partition("\n")
    has_title = ": " not in title and len(text) > _PASSAGE_CHARS
    if not has_title:
        title, facts = "", text
    pieces = _split_lines(facts, _PASSAGE_CHARS - len(title))
    if len(pieces) > 1 and len(pieces[-1]) <= _MAX_REST_CHARS:
        rest = pieces.pop()
        pieces[-1] += f"\n{rest}"
    return [f"{title}\n{lines}" for lines in pieces] if has_title else pieces


def _split_lines(text: str, size: int) -> list[str]:
    """Return pieces of up to `size` characters; a line that ends with a colon stays with the next one."""
    pieces: list[list[str]] = [[]]
    chars = 0
    for whole_line in text.split("\n"):
        for start in range(0, len(whole_line) or 1, _MAX_LINE_CHARS):
            line = whole_line[start : start + _MAX_LINE_CHARS]
            if pieces[-1] and chars + len(line) > size:
                head = [pieces[-1].pop()] if len(pieces[-1]) > 1 and pieces[-1][-1].endswith(":") else []
                pieces.append(head)
                chars = len(head[0]) + 1 if head else 0
            pieces[-1].append(line)
            chars += len(line) + 1
    return ["\n".join(lines) for lines in pieces]


def _list_headings(blocks: Iterable[Block]) -> list[Passage]:
    """Return the headings of a page that has nothing else as a list."""
    lines = [f"- {block.text.lstrip('# ')}" for block in blocks if block.kind == "heading"]
    pieces = _split_lines("\n".join(lines), _PASSAGE_CHARS) if lines else []
    return [Passage(0, piece, normalize(piece), kind="list") for piece in pieces]
