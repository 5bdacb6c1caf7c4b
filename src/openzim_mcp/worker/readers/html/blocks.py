"""Handlers of elements that make blocks: headings, lists, code, quotes, definitions, figures, questions and answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.text import remove_mark, safe_line, strip_invisible
from openzim_mcp.worker.readers.html.boilerplate import is_generated_id
from openzim_mcp.worker.readers.html.walker import MAX_DEPTH

if TYPE_CHECKING:
    from collections.abc import Iterator

    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.document import Block, SectionKind
    from openzim_mcp.worker.readers.html.walker import Attributes, Handler, Walker

_CONTAINERS = (
    "p div section article main header aside address center details summary form fieldset figcaption dt dd li "
    "thead tbody tfoot tr td th caption hr body html legend hgroup search"
).split()
_CODE_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|mw-highlight-lang-|highlight-|brush:\s*)([\w+#.-]+)"
)
_NOT_LANGUAGES = frozenset({"default", "notranslate", "none", "text", "plain", "highlight", "source", "content"})
_PERMALINK_MARKS = " ¶#§🔗\n"
_MAX_ANCHOR_PARENTS = 3
_MARKUP_IN_CODE = "br, div, p, li, td, [class*=lineno], [class*=line-number], [style], [hidden], del, s, strike"
_MAX_INDENT_LEVEL = 12
"""Lists and quotations that are nested deeper are not indented further: a page would grow with its depth."""
_PLAIN_CODE_TAGS = frozenset({"-text", "-comment", "span", "a", "em", "b", "i", "var"})
_MAX_CODE_DEPTH = 40
_POST_LEVEL = 2
_MAX_POST_HEADER_CHARS = 300
_MAX_AUTHOR_CHARS = 60


def walk_container(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Walk an element that only starts and ends lines."""
    walker.flush()
    walker.walk(node)
    walker.flush("hatnote" if attributes and attributes.get("role") == "note" else "paragraph")


def add_heading(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Open a section, or add a bold line where sections cannot be: in a cell or an item."""
    anchor_before = walker.last_anchor
    walker.flush()
    level = max(int(str(node.tag)[1]), walker.min_heading_level)
    anchor = _heading_anchor(walker, node, attributes, anchor_before)
    line = walker.without_marks(walker.walk_into_line(node))
    title = remove_mark(remove_mark(line, "**"), "`").strip(_PERMALINK_MARKS)
    if not title:
        return
    if walker.is_nested:
        walker.add_block("paragraph", f"**{title}**")
    elif level == 1 and not walker.blocks and not walker.outline.title:
        walker.outline.title = title
    else:
        walker.open_section(title, level, anchor)


def _heading_anchor(walker: Walker, node: LexborNode, attributes: Attributes, anchor_before: str) -> str:
    """Return the id of a heading: its own, one inside it, the last one before it, or one around it."""
    for name in _anchor_candidates(node, attributes, anchor_before):
        if name and not is_generated_id(name) and not walker.outline.has_id(name):
            return name
    return ""


def _anchor_candidates(node: LexborNode, attributes: Attributes, anchor_before: str) -> Iterator[str | None]:
    yield attributes.get("id")
    for element in node.css("[id], a[name]"):
        yield element.id or element.attributes.get("name")
    yield anchor_before
    parent = node.parent
    for _ in range(_MAX_ANCHOR_PARENTS):
        if parent is None:
            return
        yield parent.id
        parent = parent.parent


def add_list(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Add a list as one block; its lines are its items."""
    walker.flush()
    is_ordered = node.tag == "ol"
    start = attributes.get("start") if attributes else None
    number = int(start) if start and start.lstrip("-").isdigit() else 1
    lines: list[str] = []
    child = node.first_child
    is_indented = walker.indent_level < _MAX_INDENT_LEVEL
    walker.indent_level += 1
    while child is not None:
        if child.tag in {"ul", "ol", "menu"} and walker.depth < MAX_DEPTH:
            lines += [_indent("  " if is_indented else "", block.text) for block in _sublist(walker, child)]
        elif child.tag and child.tag[0] != "-" and not walker.is_skipped(child, child.attributes):
            walker.add_anchor(child.id, "li")
            item = walker.walk_into_blocks(child)
            if item:
                marker = f"{number}. " if is_ordered else "- "
                lines.append(_list_item(marker, item) if is_indented else "\n".join(block.text for block in item))
                number += 1
        child = child.next
    walker.indent_level -= 1
    walker.add_block("list", "\n".join(lines))


def _sublist(walker: Walker, node: LexborNode) -> list[Block]:
    """Return a list that is a child of a list, without an item around it."""
    blocks, walker.blocks = walker.blocks, []
    walker.depth += 1
    add_list(walker, node, node.attributes)
    walker.depth -= 1
    inner, walker.blocks = walker.blocks, blocks
    return inner


def _list_item(marker: str, blocks: list[Block]) -> str:
    text = "\n".join(block.text for block in blocks)
    return marker + _indent(" " * len(marker), text)[len(marker) :]


def _indent(margin: str, text: str) -> str:
    return margin + text.replace("\n", f"\n{margin}")


def add_definitions(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Add terms in bold, or as code where they are signatures, and what they mean below them."""
    walker.flush()
    if walker.depth >= MAX_DEPTH:
        walker.walk(node)
        return
    walker.depth += 1
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            walker.buffer += [child.text_content or ""] if walker.buffer or child.text(strip=True) else []
        elif child.tag == "div":
            add_definitions(walker, child, child.attributes)
        elif child.tag not in {"dt", "dd"}:
            walker.walk_element(child, child.tag or "-")
        elif not walker.is_skipped(child, child.attributes):
            walker.flush()
            _add_definition(walker, child)
    walker.depth -= 1
    walker.flush()


def _add_definition(walker: Walker, node: LexborNode) -> None:
    if node.tag == "dt":
        _add_term(walker, node)
        return
    walker.add_anchor(node.id, "dd")
    for block in walker.walk_into_blocks(node):
        text = f": {block.text}" if block.kind == "paragraph" else block.text
        anchors = (*walker.take_anchors(), *block.anchors)
        walker.blocks.append(block._replace(text=text, section=walker.outline.current, anchors=anchors))


def _add_term(walker: Walker, node: LexborNode) -> None:
    attributes = node.attributes
    if "sig" in (attributes.get("class") or ""):
        for permalink in node.css(".headerlink, .viewcode-link"):
            permalink.decompose()
        text = (
            strip_invisible(" ".join(code_text(walker, node).split()))
            .strip(_PERMALINK_MARKS)
            .removesuffix("[source]")
            .strip()
        )
        term = f"`{text.replace('`', '')}`"
    else:
        text = remove_mark(walker.walk_into_line(node), "**").strip(_PERMALINK_MARKS)
        term = f"**{text}**"
    if text:
        walker.add_anchor(attributes.get("id"), "dt")
        walker.add_block("definition", term)


def add_preformatted(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Add code as it is, in a fence with its language."""
    walker.flush()
    lines = code_text(walker, node).split("\n")
    text = "\n".join(strip_invisible(line) if not line.isascii() else line for line in lines)
    text = text.strip("\n").rstrip()
    fence = "```"
    while fence in text:
        fence += "`"
    if text:
        walker.add_block("code", f"{fence}{_code_language(node)}\n{text}\n{fence}")


def code_text(walker: Walker, node: LexborNode) -> str:
    """Return code without line numbers and hidden text; elements that start a line do so here."""
    if _is_plain_code(node):
        return node.text()
    pieces: list[str] = []
    _add_code_pieces(walker, node, pieces, 0)
    return "".join(pieces)


def _is_plain_code(node: LexborNode) -> bool:
    if node.tag == "pre":
        return node.css_first(_MARKUP_IN_CODE) is None
    # A query would cost more than all the rest of a short piece of code; it has little markup, and seldom deeper.
    child = node.first_child
    while child is not None and child.tag in _PLAIN_CODE_TAGS:
        child = child.next
    return child is None


def _add_code_pieces(walker: Walker, node: LexborNode, pieces: list[str], depth: int) -> None:
    for child in node.iter(include_text=True):
        if child.tag == "-text":
            pieces.append(child.text_content or "")
        elif child.tag == "br":
            pieces.append("\n")
        elif depth >= _MAX_CODE_DEPTH:
            pieces.append(child.text())
        elif not walker.is_skipped(child, child.attributes):
            is_cell = child.tag in {"td", "th"}
            is_line = child.tag in BLOCK_TAGS and not is_cell
            if is_line and pieces and not pieces[-1].endswith("\n"):
                pieces.append("\n")
            _add_code_pieces(walker, child, pieces, depth + 1)
            if is_cell:
                pieces.append(" ")
            elif is_line and pieces and not pieces[-1].endswith("\n"):
                pieces.append("\n")


def _code_language(node: LexborNode) -> str:
    grandparent = node.parent.parent if node.parent is not None else None
    for element in (node, node.parent, grandparent, node.css_first("code")):
        if element is None:
            continue
        attributes = element.attributes
        match = _CODE_LANGUAGE.search(attributes.get("class") or "")
        name = attributes.get("data-language") or (match[1] if match else "")
        if name and name not in _NOT_LANGUAGES and name.isascii():
            return name
    return ""


def add_quote(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Add a quotation, every line of it marked."""
    walker.flush()
    mark = "> " if walker.indent_level < _MAX_INDENT_LEVEL else ""
    walker.indent_level += 1
    blocks = walker.walk_into_blocks(node)
    walker.indent_level -= 1
    walker.add_block("quote", f"\n{mark.strip()}\n".join(_indent(mark, block.text) for block in blocks))


def add_figure(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Add the caption of an image."""
    walker.flush()
    caption = " ".join(block.as_line() for block in walker.walk_into_blocks(node) if block.kind != "table")
    if caption:
        walker.add_block("figure", f"[Image: {caption}]")


def add_post(walker: Walker, node: LexborNode, name: str, attributes: Attributes) -> bool:
    """Add sections for a question or its answers (Stack Exchange): the accepted answer first, then by score."""
    classes = (attributes.get("class") or "").split()
    if name == "answers":
        answers = node.css("div[id^=answer-]")
        if not answers:
            return False
        for answer in sorted(answers, key=_answer_order):
            add_post(walker, answer, answer.id or "", answer.attributes)
        return True
    if not {"question", "answer"} & set(classes):
        return False
    walker.flush()
    if walker.outline.current == 0 and sum(len(block.text) for block in walker.blocks) <= _MAX_POST_HEADER_CHARS:
        # When it was asked, how often it was viewed.
        walker.blocks[:] = [block._replace(kind="notice") for block in walker.blocks]
    kind: SectionKind = "question" if "question" in classes else "answer"
    walker.open_section(_post_title(node, kind, classes), _POST_LEVEL, name, kind)
    walker.min_heading_level = _POST_LEVEL + 1
    walker.walk(node)
    walker.flush()
    walker.min_heading_level = 1
    return True


def _post_score(node: LexborNode) -> int:
    votes = node.css_first(".js-vote-count, .vote-count-post")
    text = node.attributes.get("data-score") or (votes.text().strip() if votes is not None else "")
    return int(text) if text and text.lstrip("-").isdigit() else 0


def _answer_order(node: LexborNode) -> tuple[bool, int]:
    return "accepted" not in (node.attributes.get("class") or ""), -_post_score(node)


def _post_title(node: LexborNode, kind: SectionKind, classes: list[str]) -> str:
    author = node.css_first(".s-user-card--link, .user-details a, .author a")
    title = kind.capitalize()
    if author is not None:
        title += f" by {safe_line(author.text(), _MAX_AUTHOR_CHARS)}"
    accepted = ", accepted" if any(name.startswith("accepted") for name in classes) else ""
    return f"{title} (score {_post_score(node)}{accepted})"


TAG_HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_CONTAINERS, walk_container),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), add_heading),
    **dict.fromkeys(("ul", "ol", "menu"), add_list),
    "dl": add_definitions,
    "pre": add_preformatted,
    "blockquote": add_quote,
    "figure": add_figure,
}
BLOCK_TAGS = frozenset(TAG_HANDLERS) | {"table"}
