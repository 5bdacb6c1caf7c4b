"""The HTML reader: from the bytes of a page to a `Document`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from openzim_mcp.text import escape_markdown, strip_invisible, visible_line
from openzim_mcp.worker.document import Block, Document
from openzim_mcp.worker.readers.html import blocks, disambiguation, inline, notices, tables
from openzim_mcp.worker.readers.html.coordinates import find_coordinates
from openzim_mcp.worker.readers.html.links import LinkResolver
from openzim_mcp.worker.readers.html.styles import find_hiding_rules
from openzim_mcp.worker.readers.html.tree import clean_markup, limit_markup
from openzim_mcp.worker.readers.html.walker import Handlers, Walker

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.inline_marks import InlineMarks

_LANDMARKS = "#bodyContent, main, [role=main], article, #pcs"
_TAG = re.compile(r"<[^<>]*>?")
_MIN_LANDMARK_CHARS = 1500
_MIN_LANDMARK_SHARE = 0.2
_HANDLERS = Handlers(
    tags={**inline.TAG_HANDLERS, **blocks.TAG_HANDLERS, "table": tables.add_table},
    formula=inline.add_formula,
    figure=blocks.add_figure,
    struck=inline.add_struck,
    post=blocks.add_post,
)


def read_html(raw: bytes, path: str, marks: InlineMarks | None = None) -> Document:
    """Return the document of a page; relative links start at `path`. With `marks`, its texts have places of links."""
    clean = clean_markup(raw)
    limited = limit_markup(clean)
    if limited is None:
        return _read_without_tree(clean)
    size, raw = len(clean), limited
    tree = LexborHTMLParser(raw)
    # A query of the tree visits every element: it is made only if the bytes can have a match.
    base = tree.css_first("base[href]") if b"<base" in raw or b"<BASE" in raw else None
    links = LinkResolver(path, (base.attributes.get("href") if base is not None else None) or "")
    title = tree.head.css_first("title") if tree.head is not None else None
    walker = Walker(links, _HANDLERS, visible_line(title.text()) if title is not None else "", marks)
    if len(raw) < size:
        walker.dropped["markup"] = size - len(raw)
    root = tree.css_first("#mw-content-text") if b"mw-content-text" in raw else None
    if root is None:
        root = _find_article(tree)
    if root is not None:
        _walk_article(walker, tree, root, has_styles=b"<style" in raw)
    if notices.EBOOK_MARK in raw:
        walker.add_lead_facts(notices.mark_ebook_frame(walker.blocks))
    coordinates = find_coordinates(tree, raw)
    if coordinates is not None:
        walker.add_coordinates(coordinates)
    is_disambiguation = disambiguation.MARK in raw and tree.css_first(disambiguation.SELECTOR) is not None
    return walker.build_document(tree, is_disambiguation=is_disambiguation)


def _walk_article(walker: Walker, tree: LexborHTMLParser, root: LexborNode, *, has_styles: bool) -> None:
    """Walk the article; if nothing is visible, again with what its style sheets hide, then what replaces scripts."""
    if has_styles:
        rules = find_hiding_rules(sheet.text() for sheet in tree.css("style"))
        walker.hiding_rules = rules if rules.classes or rules.ids else None
    walker.walk(root)
    walker.flush()
    if not walker.blocks and walker.hiding_rules is not None:
        # A page that its own style hides as a whole is shown by a script.
        walker.hiding_rules = None
        walker.walk(root)
        walker.flush()
    if not walker.blocks:
        for fallback in root.css("noscript"):
            walker.walk(fallback)
            walker.flush()


def _read_without_tree(raw: bytes) -> Document:
    text = strip_invisible(" ".join(_TAG.sub(" ", raw.decode(errors="replace")).split()))
    paragraphs = (Block("paragraph", escape_markdown(text), 0),) if text else ()
    return Document.without_sections(paragraphs, dropped={"markup": len(raw)})


def _find_article(tree: LexborHTMLParser) -> LexborNode | None:
    """Return the element that holds the article: a landmark only if it has a good part of the text."""
    body = tree.body
    if body is None:
        return None
    landmarks = tree.css(_LANDMARKS)
    by_id = {node.id: node for node in landmarks}
    articles = [node for node in landmarks if node.tag == "article"]
    mains = [node for node in landmarks if node.tag != "article"]
    best = by_id.get("bodyContent") or next(iter(mains or articles), None)
    if best is None or (not mains and len(articles) > 1):
        return body
    size = len(best.text())
    if size >= _MIN_LANDMARK_CHARS:
        return best
    code = sum(len(node.text()) for node in body.css("script, style"))
    return best if size >= _MIN_LANDMARK_SHARE * (len(body.text()) - code) else body
