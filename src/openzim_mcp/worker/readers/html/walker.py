"""Walks the tree of a page once and collects blocks, sections, links and key facts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from openzim_mcp.calls.page import END_MARK
from openzim_mcp.text import escape_markdown, strip_invisible, visible_line
from openzim_mcp.worker.document import Anchor, Block, Document, Link
from openzim_mcp.worker.inline_marks import strip_marks
from openzim_mcp.worker.readers.html.boilerplate import (
    SKIPPED_IDS,
    SKIPPED_TAGS,
    ElementRole,
    element_roles,
    is_generated_id,
    is_sign,
    number_separator,
)
from openzim_mcp.worker.readers.html.disambiguation import has_disambiguation_title, lists_meanings
from openzim_mcp.worker.readers.html.notices import mark_notices
from openzim_mcp.worker.readers.html.outline import Outline
from openzim_mcp.worker.readers.html.styles import (
    HidingRules,
    is_hiding_style,
    is_striking_style,
    is_white_text,
    sets_background,
)

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

    from openzim_mcp.worker.document import BlockKind, Coordinates, LinkKind, SectionKind
    from openzim_mcp.worker.inline_marks import InlineMarks
    from openzim_mcp.worker.readers.html.links import LinkResolver

Attributes: TypeAlias = dict[str, str | None]
Handler = Callable[["Walker", "LexborNode", Attributes], None]
BoxRows: TypeAlias = "list[tuple[str, list[tuple[LexborNode, Attributes]]]]"
"""The rows of an infobox: the class of each, and its cells with their attributes."""

LINE_BREAK = "\x04"
"""A line break inside the block being made; the bytes of a page never hold this character."""
MAX_DEPTH = 180
"""What is nested deeper is read as text."""
_STRUCK_INLINE_TAGS = frozenset("span font a b strong i em small big u mark abbr label time data sub sup code".split())
_COORDINATES = "coordinates"
_MAX_BACKGROUND_PARENTS = 4
_MAX_CLASSED_PARENTS = 2
_CELL_TAGS = frozenset({"th", "td", "tr", "table", "caption"})
_MIN_CONTENTS_CHARS = 20
_CONTENTS_SHARE = 0.6


@dataclass(frozen=True)
class Handlers:
    """The functions that handle elements, by tag and by role."""

    tags: Mapping[str, Handler]
    formula: Handler
    figure: Handler
    struck: Handler
    post: Callable[[Walker, LexborNode, str, Attributes], bool]
    """Handles a question or an answer; returns False if the element is neither."""


class Walker:
    """Walks a tree. `blocks` takes finished blocks, `buffer` the inline text of the block being made."""

    def __init__(
        self, links: LinkResolver, handlers: Handlers, page_title: str = "", marks: InlineMarks | None = None
    ) -> None:
        self.resolve_link = links.resolve
        self.page_title = page_title
        self.marks = marks
        """Takes what stands in the texts, if the document is for the page."""
        self.blocks: list[Block] = []
        self.buffer: list[str] = []
        self.outline = Outline()
        self.links: list[Link] = []
        self.facts: list[tuple[str, str]] = []
        self.coordinates: Coordinates | None = None
        self.dropped: Counter[str] = Counter()
        self.description = ""
        self.last_anchor = ""
        self._anchors: list[Anchor] = []
        """The anchors of the block being made."""
        self.is_in_link = False
        self.is_in_table = False
        self.is_nested = False
        self.min_heading_level = 1
        self.read_box_rows: Callable[[BoxRows], None] | None = None
        """Takes the rows of a table inside a wide cell of an infobox."""
        self.same_page_link_chars = 0
        self.hiding_rules: HidingRules | None = None
        self._handlers = handlers
        self.depth = 0
        self.indent_level = 0

    def walk(self, node: LexborNode) -> None:
        """Walk over the children of a node."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self._add_deep_text(node)
        else:
            child = node.first_child
            while child is not None:
                tag = child.tag
                if tag == "-text":
                    text = child.text_content or ""
                    if self.buffer:
                        if text[:1].isdecimal() and self._last_text[-1:].isdecimal() and not _follows_comment(child):
                            # Another element, or a hidden one between them: these are two numbers.
                            self.buffer.append(" ")
                        self.buffer.append(text)
                    elif not text.isspace():
                        self.buffer.append(text)
                elif tag is not None and tag[0] != "-":
                    self.walk_element(child, tag)
                child = child.next
        self.depth -= 1

    def _add_deep_text(self, node: LexborNode) -> None:
        """Add the text of a node that is nested too deep to be walked, without what is hidden or skipped."""
        nodes = [node.first_child]
        while nodes:
            child = nodes.pop()
            if child is None:
                continue
            nodes.append(child.next)
            tag = child.tag or "-"
            if tag == "-text":
                self.buffer += (" ", child.text_content or "")
            elif tag[0] != "-" and tag not in SKIPPED_TAGS and not self.is_skipped(child, child.attributes):
                nodes.append(child.first_child)

    def walk_element(self, node: LexborNode, tag: str) -> None:
        """Hand an element to its handler, or walk over its children."""
        handler = self._handlers.tags.get(tag)
        if tag in SKIPPED_TAGS:
            # Some skipped elements have a handler: a script may hold a formula.
            if handler is not None:
                handler(self, node, node.attributes)
            return
        attributes = node.attributes
        if attributes and self._handle_by_attributes(node, tag, attributes):
            return
        if handler is None:
            self.walk(node)
        else:
            handler(self, node, attributes)

    def _handle_by_attributes(self, node: LexborNode, tag: str, attributes: Attributes) -> bool:
        """Handle an element by its class, id or style; return False if these do not decide."""
        classes = attributes.get("class")
        if classes and (roles := element_roles(classes)) and self._handle_by_role(node, tag, attributes, roles):
            return True
        name = attributes.get("id")
        if name:
            if name in SKIPPED_IDS or name.startswith("cite_ref"):
                return True
            is_post = name == "question" or name.startswith("answer")
            if is_post and self._handlers.post(self, node, name, attributes):
                return True
            self.add_anchor(name, tag)
        return self._is_hidden(node, attributes) or self._is_struck(node, tag, attributes)

    def _is_struck(self, node: LexborNode, tag: str, attributes: Attributes) -> bool:
        """Handle an element that its style strikes through."""
        style = attributes.get("style")
        if not style or not is_striking_style(style):
            return False
        is_inline = tag in _STRUCK_INLINE_TAGS
        if not is_inline:
            self.flush()
        self._handlers.struck(self, node, attributes)
        if not is_inline:
            self.flush()
        return True

    def _handle_by_role(self, node: LexborNode, tag: str, attributes: Attributes, roles: int) -> bool:
        # The formula comes before everything: MediaWiki hides its source with display:none.
        if roles & ElementRole.FORMULA:
            self._handlers.formula(self, node, attributes)
        elif roles & ElementRole.DESCRIPTION:
            self.description = visible_line(node.text())
        elif roles & ElementRole.SKIPPED:
            self.dropped["navigation"] += 1
            if roles & ElementRole.SCREEN_READER:
                self._add_separator(node)
        elif roles & ElementRole.CITATION and tag in {"sup", "span"}:
            self.dropped["citations"] += 1
        elif roles & ElementRole.REFERENCES and tag in {"div", "ol", "ul", "section"}:
            self.dropped["references"] += 1
            self.outline.mark_pruned()
        elif roles & ElementRole.HATNOTE:
            self.flush()
            self.walk(node)
            self.flush("hatnote")
        elif roles & ElementRole.FIGURE and tag != "table" and not self.is_nested:
            self._handlers.figure(self, node, attributes)
        else:
            return False
        return True

    def _is_hidden(self, node: LexborNode, attributes: Attributes) -> bool:
        style = attributes.get("style")
        hidden = (
            (style and (is_hiding_style(style) or (is_white_text(style) and _is_on_white(node))))
            or (self.hiding_rules is not None and self._is_hidden_by_rule(attributes))
            or ("hidden" in attributes and attributes["hidden"] != "until-found")
            or (attributes.get("aria-hidden") == "true" and not _is_seen(node))
        )
        # Sections of mobile pages and tabs are hidden until they are opened.
        if not hidden or "data-mw-section-id" in attributes or attributes.get("role") == "tabpanel":
            return False
        self.dropped["hidden"] += len(node.text())
        self._add_separator(node)
        return True

    def _is_hidden_by_rule(self, attributes: Attributes) -> bool:
        classes, ids = self.hiding_rules or ((), ())
        return attributes.get("id") in ids or any(name in classes for name in (attributes.get("class") or "").split())

    def _add_separator(self, node: LexborNode) -> None:
        """Write the sign or word between two numbers that only screen readers read, as in 1/2 and 2 to 4."""
        is_after_number = bool(self.buffer) and self._last_text.rstrip()[-1:].isdecimal()
        if is_after_number and _is_before_number(node) and not _is_beside(node, _is_seen):
            parent_classes = node.parent.attributes.get("class") if node.parent is not None else ""
            self.buffer += number_separator(node.text(), is_in_fraction="frac" in (parent_classes or ""))

    @property
    def _last_text(self) -> str:
        """The last piece of the buffer that is not a mark."""
        last = self.buffer[-1]
        return self.buffer[-2] if last == END_MARK and len(self.buffer) > 1 else last

    def is_skipped(self, node: LexborNode, attributes: Attributes) -> bool:
        """Return whether an element that a handler visits itself is boilerplate or hidden."""
        if not attributes:
            return False
        classes = attributes.get("class")
        if classes and element_roles(classes) & ElementRole.SKIPPED:
            return True
        return self._is_hidden(node, attributes)

    def take_inline(self) -> str:
        """Empty the buffer and return it as one text, with single blanks."""
        text = " ".join("".join(self.buffer).split())
        self.buffer.clear()
        if LINE_BREAK in text:
            lines = [strip_invisible(line.strip()) for line in text.split(LINE_BREAK)]
            return "\n".join(line for line in lines if line)
        return strip_invisible(text)

    def flush(self, kind: BlockKind = "paragraph") -> None:
        """End the block being made."""
        if self.buffer:
            self.add_block(kind, escape_markdown(self.take_inline()))

    def add_anchor(self, name: str | None, tag: str) -> None:
        """Remember a place that a link can lead to; the next block starts there, or the one being made has it."""
        if name and not is_generated_id(name):
            self.last_anchor = name
            self._anchors.append(Anchor(name, tag))

    def take_anchors(self) -> tuple[Anchor, ...]:
        """Return the anchors of the block that is finished."""
        anchors = tuple(self._anchors)
        self._anchors.clear()
        return anchors

    def add_block(self, kind: BlockKind, text: str) -> None:
        """Add a finished block, unless it is a table of contents: mostly links to places on the same page."""
        if not text:
            return
        self.last_anchor = ""
        if not self.is_nested:
            linked, self.same_page_link_chars = self.same_page_link_chars, 0
            may_be_contents = kind in {"list", "paragraph"} and linked > _MIN_CONTENTS_CHARS
            if may_be_contents and linked > _CONTENTS_SHARE * len(self.without_marks(text)):
                self.dropped["contents"] += 1
                self.take_anchors()
                return
        # Most nested blocks become part of a list or a cell, which gets their anchors; a definition stays one.
        anchors = self.take_anchors() if not self.is_nested or kind == "definition" else ()
        self.blocks.append(Block(kind, text, self.outline.current, anchors))

    def open_section(self, title: str, level: int, anchor: str, kind: SectionKind = "text") -> None:
        """Start a section with its heading."""
        self.outline.open_section(title, level, anchor, len(self.blocks), kind)
        self.add_block("heading", f"{'#' * level} {title}")

    def add_lead_facts(self, facts: list[tuple[str, str]]) -> None:
        """Add facts before everything else."""
        if facts:
            self.facts += facts
            self.blocks.insert(0, Block("facts", "\n".join(f"- {name}: {value}" for name, value in facts), 0))
            self.outline.shift_sections(1)

    def add_coordinates(self, coordinates: Coordinates) -> None:
        """Note where the subject is; among its key facts unless these say it in their own way."""
        self.coordinates = coordinates
        if any(_COORDINATES in name.casefold() for name, _ in self.facts):
            return
        fact = (_COORDINATES.capitalize(), str(coordinates))
        at = next((number for number, block in enumerate(self.blocks) if block.kind == "facts"), None)
        if at is None:
            self.add_lead_facts([fact])
        else:
            self.facts.append(fact)
            self.blocks[at] = self.blocks[at]._replace(text=f"{self.blocks[at].text}\n- {fact[0]}: {fact[1]}")

    def walk_into_blocks(self, node: LexborNode) -> list[Block]:
        """Walk a node and return its blocks instead of adding them."""
        blocks, buffer, is_nested = self.blocks, self.buffer, self.is_nested
        self.blocks, self.buffer, self.is_nested = [], [], True
        self.walk(node)
        self.flush()
        inner, self.blocks, self.buffer, self.is_nested = self.blocks, blocks, buffer, is_nested
        return inner

    def walk_into_line(self, node: LexborNode) -> str:
        """Walk a node and return it as one line."""
        child = node.first_child
        if child is None or (child.tag == "-text" and child.next is None):
            return strip_invisible(" ".join((child.text_content or "").split())) if child is not None else ""
        blocks = self.walk_into_blocks(node)
        if self.marks is None:
            return "; ".join(block.as_line() for block in blocks)
        return self.marks.join_lines([block.as_line() for block in blocks])

    def without_marks(self, text: str) -> str:
        """Return a text as other documents have it: without the marks of one for the page."""
        return text if self.marks is None else strip_marks(text)

    def add_link(self, kind: LinkKind, target: str, fragment: str, text: str) -> None:
        """Add a link of the current section."""
        self.links.append(Link(kind, target, fragment, text, self.outline.current))

    def build_document(self, tree: LexborHTMLParser, *, is_disambiguation: bool) -> Document:
        """Return what was collected; a disambiguation page may also be known by its title and its first line."""
        attributes = tree.root.attributes if tree.root is not None else {}
        mark_notices(self.blocks)
        blocks, sections, new_numbers = self.outline.finish(self.blocks)
        title = self.outline.title or self.page_title
        return Document(
            title=title,
            description=self.description,
            language=attributes.get("lang") or "",
            blocks=blocks,
            sections=sections,
            links=tuple(link._replace(section=new_numbers[link.section]) for link in self.links),
            facts=tuple(self.facts),
            is_disambiguation=is_disambiguation or has_disambiguation_title(title) or lists_meanings(blocks),
            dropped=dict(self.dropped),
            coordinates=self.coordinates,
            inline_objects=tuple(self.marks.objects) if self.marks is not None else (),
        )


def _is_on_white(node: LexborNode) -> bool:
    """Return whether nothing around white text can have another background, as far as the page itself says."""
    parent: LexborNode | None = node
    for distance in range(_MAX_BACKGROUND_PARENTS + 1):
        if parent is None or parent.tag in {"body", "html"}:
            break
        attributes = parent.attributes
        may_have_class = 0 < distance <= _MAX_CLASSED_PARENTS and attributes.get("class")
        if may_have_class or "bgcolor" in attributes or sets_background(attributes.get("style") or ""):
            return False
        if parent.tag in _CELL_TAGS:
            return False
        parent = parent.parent
    return True


def _follows_comment(node: LexborNode) -> bool:
    """Return whether only a comment stands between a text and the one before it: the reader sees one number."""
    previous = node.prev
    return previous is not None and previous.tag == "-comment"


def _is_before_number(node: LexborNode) -> bool:
    following = node.next
    if following is None:
        return False
    text = following.text_content if following.tag == "-text" else following.text()
    return (text or "").lstrip()[:1].isdecimal()


def _is_seen(node: LexborNode) -> bool:
    """Return whether an element is hidden from screen readers only: a sign, or what other text replaces for these."""
    if node.attributes.get("aria-hidden") != "true":
        return False
    return (_is_before_number(node) and is_sign(node.text())) or _is_beside(node, _is_for_screen_readers)


def _is_for_screen_readers(node: LexborNode) -> bool:
    return bool(element_roles(node.attributes.get("class") or "") & ElementRole.SCREEN_READER)


def _is_beside(node: LexborNode, condition: Callable[[LexborNode], bool]) -> bool:
    """Return whether the element right before or after a node fulfils a condition."""
    return any(
        sibling is not None and sibling.tag is not None and sibling.tag[0] != "-" and condition(sibling)
        for sibling in (node.prev, node.next)
    )
