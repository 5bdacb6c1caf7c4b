"""From the bytes of a page to a `Document`, in one walk over its tree."""

from __future__ import annotations

import codecs
import re
from collections import Counter
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from openzim_mcp.text import escape_markdown, strip_invisible, visible_line
from openzim_mcp.worker.document import Block, Document, Link, without_sections
from openzim_mcp.worker.readers.html import blocks, inline, tables
from openzim_mcp.worker.readers.html.boilerplate import SKIPPED_IDS, SKIPPED_TAGS, Trait, hides, is_numbered, traits
from openzim_mcp.worker.readers.html.links import Resolver
from openzim_mcp.worker.readers.html.outline import Outline

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.document import BlockKind, LinkKind

    Attributes = dict[str, str | None]
    Handler = Callable[["Walker", LexborNode, Attributes], None]

_CONTROLS = bytes(code for code in range(32) if code not in {9, 10, 12, 13}) + b"\x7f"
_LANDMARKS = "#mw-content-text, #bodyContent, main, [role=main], article, #pcs"
_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)
_FORMATTING = re.compile(rb"<(/?)(?:a|b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u)[\s>]", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_DEEPEST = 180
_UNCLOSED = 3000
_DEEPEST_PARSED = 5000
"""The parser's time grows with the square of the depth: this takes it a tenth of a second."""
_LOOK_EVERY = 4096
_LANDMARK_CHARACTERS = 1500


def parse(raw: bytes, path: str) -> Document:
    """Return the document of a page; `path` is where its relative links start."""
    raw = utf8(raw).translate(None, _CONTROLS)
    if _is_bomb(raw) or _depth(raw) > _DEEPEST_PARSED:
        return _plain(raw)
    tree = LexborHTMLParser(raw)
    base = tree.css_first("base[href]")
    walker = Walker(Resolver(path, (base.attributes.get("href") if base is not None else None) or ""))
    root = _article(tree)
    if root is not None:
        walker.walk(root)
        walker.flush()
        if not walker.out:
            for hidden in root.css("noscript"):
                walker.walk(hidden)
                walker.flush()
    return walker.document(tree)


def utf8(raw: bytes) -> bytes:
    """Return a page in UTF-8, whatever it was written in."""
    for mark, encoding in (
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16"),
    ):
        if raw.startswith(mark):
            return raw[len(mark) :] if encoding == "utf-8" else raw.decode(encoding, "replace").encode()
    try:
        raw.decode()
    except UnicodeDecodeError:
        declared = _CHARSET.search(raw[:4096])
        name = declared[1].decode() if declared else "cp1252"
        try:
            encoding = codecs.lookup(name).name
        except LookupError:
            encoding = "cp1252"
        return raw.decode(encoding if encoding != "utf-8" else "cp1252", "replace").encode()
    return raw


def _is_bomb(raw: bytes) -> bool:
    """Return whether unclosed formatting would make the parser rebuild it for ever."""
    if raw.count(b"<") - 2 * raw.count(b"</") <= _UNCLOSED:
        return False
    marks = _FORMATTING.findall(raw)
    return len(marks) - 2 * marks.count(b"/") > _UNCLOSED // 3


def _depth(raw: bytes) -> int:
    """Return how deep a page nests at least: what is open somewhere and closed at its end."""
    opened, most = 0, 0
    for start in range(0, len(raw), _LOOK_EVERY):
        part = raw[start : start + _LOOK_EVERY]
        opened += part.count(b"<") - 2 * part.count(b"</")
        most = max(most, opened)
    return most - opened


def _plain(raw: bytes) -> Document:
    """Return a page that is not worth a tree as bare text."""
    text = strip_invisible(" ".join(_TAG.sub(" ", raw.decode(errors="replace")).split()))
    content = (Block("paragraph", escape_markdown(text), 0),) if text else ()
    return without_sections(content, dropped={"markup": len(raw)})


def _article(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the element that holds the article: a landmark only if the text is really in it."""
    body = tree.body
    if body is None:
        return None
    found = tree.css(_LANDMARKS)
    by_id = {node.id: node for node in found}
    articles = [node for node in found if node.tag == "article"]
    others = [node for node in found if node.tag != "article"]
    best = by_id.get("mw-content-text") or by_id.get("bodyContent") or next(iter(others or articles), None)
    if best is None or (not others and len(articles) > 1):
        return body
    size = len(best.text())
    if best.id == "mw-content-text" or size >= _LANDMARK_CHARACTERS:
        return best
    noise = sum(len(node.text()) for node in body.css("script, style"))
    return best if size * 5 >= len(body.text()) - noise else body


class Walker:
    """Walks a tree once. `out` takes finished blocks, `buffer` the inline pieces of the block being made."""

    def __init__(self, resolve: Resolver) -> None:
        self.resolve = resolve
        self.out: list[Block] = []
        self.buffer: list[str] = []
        self.outline = Outline()
        self.links: list[Link] = []
        self.facts: list[tuple[str, str]] = []
        self.dropped: Counter[str] = Counter()
        self.description = ""
        self.anchor = ""
        self.in_link = False
        self.in_table = False
        self.nested = False
        self.anchor_characters = 0
        self._depth = 0

    def walk(self, node: LexborNode) -> None:
        """Walk over the children of a node."""
        self._depth += 1
        if self._depth > _DEEPEST:
            self.buffer.append(node.text(separator=" "))
        else:
            child = node.first_child
            while child is not None:
                tag = child.tag
                if tag == "-text":
                    text = child.text_content or ""
                    if self.buffer or not text.isspace():
                        self.buffer.append(text)
                elif tag in SKIPPED_TAGS:
                    if tag == "script":
                        inline.script(self, child)
                elif tag is not None and tag[0] != "-":
                    attributes = child.attributes
                    if not attributes or not self._handled_by_attributes(child, tag, attributes):
                        handler = _HANDLERS.get(tag)
                        if handler is None:
                            self.walk(child)
                        else:
                            handler(self, child, attributes)
                child = child.next
        self._depth -= 1

    def _handled_by_attributes(self, node: LexborNode, tag: str, attributes: Attributes) -> bool:
        """Deal with what class, id or style decide; return whether the element is done with."""
        classes = attributes.get("class")
        if classes and (kind := traits(classes)) and self._handled_by_class(node, tag, attributes, kind):
            return True
        name = attributes.get("id")
        if name:
            if name in SKIPPED_IDS or name.startswith("cite_ref"):
                return True
            if (name == "question" or name.startswith("answer")) and blocks.stack_exchange(
                self, node, name, attributes
            ):
                return True
            if not is_numbered(name):
                self.anchor = name
        return self.is_hidden(node, attributes)

    def _handled_by_class(self, node: LexborNode, tag: str, attributes: Attributes, kind: int) -> bool:
        # The formula comes before everything: MediaWiki hides its source with display:none.
        if kind & Trait.FORMULA:
            inline.formula(self, node, attributes)
        elif kind & Trait.DESCRIPTION:
            self.description = visible_line(node.text())
        elif kind & Trait.SKIPPED:
            self.dropped["navigation"] += 1
        elif kind & Trait.CITATION and tag in {"sup", "span"}:
            self.dropped["citations"] += 1
        elif kind & Trait.REFERENCES and tag in {"div", "ol", "ul", "section"}:
            self.dropped["references"] += 1
            self.outline.prune()
        elif kind & Trait.HATNOTE:
            self.flush()
            self.walk(node)
            self.flush("hatnote")
        elif kind & Trait.FIGURE and tag != "table" and not self.nested:
            blocks.figure(self, node, attributes)
        else:
            return False
        return True

    def is_hidden(self, node: LexborNode, attributes: Attributes) -> bool:
        """Return whether an element is invisible; the sections of mobile pages only seem to be."""
        style = attributes.get("style")
        hidden = (
            (style and hides(style))
            or ("hidden" in attributes and attributes["hidden"] != "until-found")
            or attributes.get("aria-hidden") == "true"
        )
        if not hidden or "data-mw-section-id" in attributes or attributes.get("role") == "tabpanel":
            return False
        self.dropped["hidden"] += len(node.text())
        return True

    def skips(self, node: LexborNode, attributes: Attributes) -> bool:
        """Return whether an element that a handler meets itself is furniture or hidden."""
        if not attributes:
            return False
        classes = attributes.get("class")
        if classes and traits(classes) & Trait.SKIPPED:
            return True
        return self.is_hidden(node, attributes)

    def take(self) -> str:
        """Return the inline buffer as one text, blanks folded."""
        text = " ".join("".join(self.buffer).split())
        self.buffer.clear()
        if inline.LINE_BREAK in text:
            lines = [strip_invisible(line.strip()) for line in text.split(inline.LINE_BREAK)]
            return "\n".join(line for line in lines if line)
        return strip_invisible(text)

    def flush(self, kind: BlockKind = "paragraph") -> None:
        """End the block being made."""
        if self.buffer:
            self.emit(kind, escape_markdown(self.take()))

    def emit(self, kind: BlockKind, text: str, anchor: str = "") -> None:
        """Add a finished block; one that is mostly links to places on the same page is a table of contents."""
        if not text:
            return
        self.anchor = ""
        if not self.nested:
            inside, self.anchor_characters = self.anchor_characters, 0
            if kind in {"list", "paragraph"} and inside > 20 and inside * 5 > len(text) * 3:  # noqa: PLR2004
                self.dropped["contents"] += 1
                return
        self.out.append(Block(kind, text, self.outline.current, anchor))

    def open_section(self, title: str, level: int, name: str) -> None:
        """Start a section with its heading."""
        self.outline.open(title, level, name, len(self.out))
        self.emit("heading", f"{'#' * level} {title}")

    def captured(self, node: LexborNode) -> list[Block]:
        """Walk a node into blocks of its own."""
        out, buffer, nested = self.out, self.buffer, self.nested
        self.out, self.buffer, self.nested = [], [], True
        self.walk(node)
        self.flush()
        found, self.out, self.buffer, self.nested = self.out, out, buffer, nested
        return found

    def line(self, node: LexborNode) -> str:
        """Walk a node and return it as one line."""
        child = node.first_child
        if child is None or (child.tag == "-text" and child.next is None):
            return strip_invisible(" ".join((child.text_content or "").split())) if child is not None else ""
        return "; ".join(blocks.one_line(block) for block in self.captured(node))

    def link(self, kind: LinkKind, target: str, fragment: str, text: str) -> None:
        """Remember a link."""
        self.links.append(Link(kind, target, fragment, text, self.outline.current))

    def document(self, tree: LexborHTMLParser) -> Document:
        """Return what was found."""
        attributes = tree.root.attributes if tree.root is not None else {}
        title = tree.css_first("title")
        name = self.outline.title or (visible_line(title.text()) if title is not None else "")
        content, sections, moved = self.outline.finish(self.out)
        links = tuple(link._replace(section=moved[link.section]) for link in self.links)
        return Document(
            title=name,
            description=self.description,
            language=attributes.get("lang") or "",
            blocks=content,
            sections=sections,
            links=links,
            facts=tuple(self.facts),
            is_disambiguation=tree.css_first("#disambigbox, .disambigbox, .dmbox-disambig, .disambig") is not None,
            dropped=dict(self.dropped),
        )


_HANDLERS: dict[str, Handler] = {
    **inline.HANDLERS,
    **blocks.HANDLERS,
    "table": tables.table,
}
