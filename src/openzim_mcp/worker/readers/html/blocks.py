"""What stands on lines of its own: headings, lists, code, quotes, definitions, figures, questions and answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.text import strip_invisible
from openzim_mcp.worker.readers.html.boilerplate import is_numbered

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.document import Block
    from openzim_mcp.worker.readers.html.reader import Attributes, Handler, Walker

_BLOCKS = (
    "p div section article main header aside address center details summary form fieldset figcaption dt dd li "
    "thead tbody tfoot tr td th caption hr body html legend hgroup search"
).split()
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|mw-highlight-lang-|highlight-|brush:\s*)([\w+#.-]+)"
)
_NO_LANGUAGE = frozenset({"default", "notranslate", "none", "text", "plain", "highlight", "source", "content"})
_ITEM = re.compile(r"^ *(?:- |\d+\. )", re.MULTILINE)
_ORNAMENT = " ¶#§🔗\n"


def one_line(block: Block) -> str:
    """Return a block as part of a line."""
    text = block.text
    if block.kind == "list":
        text = _ITEM.sub("", text)
    elif block.kind == "code":
        text = f"`{' '.join(text.strip('`').split())}`"
    return text.replace("\n", "; ") if "\n" in text else text


def container(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Walk an element that only starts and ends lines."""
    walker.flush()
    walker.walk(node)
    walker.flush("hatnote" if attributes and attributes.get("role") == "note" else "paragraph")


def heading(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Open a section, or be a bold line where sections cannot be: in a cell or an item."""
    before = walker.anchor
    walker.flush()
    level = int(str(node.tag)[1])
    name = _anchor(walker, node, attributes, before)
    title = walker.line(node).replace("**", "").replace("`", "").strip(_ORNAMENT)
    if not title:
        return
    if walker.nested:
        walker.emit("paragraph", f"**{title}**")
    elif level == 1 and not walker.out and not walker.outline.title:
        walker.outline.title = title
    else:
        walker.open_section(title, level, name)


def _anchor(walker: Walker, node: LexborNode, attributes: Attributes, before: str) -> str:
    """Return the id of a heading: its own, one inside it, the last one before it, or one around it."""
    own = [attributes.get("id"), *(inner.id or inner.attributes.get("name") for inner in node.css("[id], a[name]"))]
    around: list[str | None] = []
    parent = node.parent
    while parent is not None and len(around) < 3:  # noqa: PLR2004
        around.append(parent.id)
        parent = parent.parent
    for name in [*own, before, *around]:
        if name and not is_numbered(name) and not walker.outline.knows(name):
            return name
    return ""


def listing(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Make a whole list one block; its lines are its items."""
    walker.flush()
    ordered = node.tag == "ol"
    start = attributes.get("start") if attributes else None
    number = int(start) if start and start.lstrip("-").isdigit() else 1
    lines: list[str] = []
    child = node.first_child
    while child is not None:
        if child.tag in {"ul", "ol", "menu"}:
            out, walker.out = walker.out, []
            listing(walker, child, child.attributes)
            found, walker.out = walker.out, out
            lines += [f"  {block.text.replace(chr(10), chr(10) + '  ')}" for block in found]
        elif child.tag and child.tag[0] != "-" and not walker.skips(child, child.attributes):
            item = walker.captured(child)
            if item:
                mark = f"{number}. " if ordered else "- "
                number += 1
                lines.append(_item(mark, item))
        child = child.next
    walker.emit("list", "\n".join(lines))


def _item(mark: str, blocks: list[Block]) -> str:
    pad = "\n" + " " * len(mark)
    return mark + pad.join(block.text.replace("\n", pad) for block in blocks)


def definitions(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Write terms bold, or as code where they are signatures, and what they mean below them."""
    walker.flush()
    for child in node.iter():
        if child.tag == "div":
            definitions(walker, child, child.attributes)
        elif child.tag == "dt" and not walker.skips(child, child.attributes):
            _term(walker, child)
        elif child.tag == "dd" and not walker.skips(child, child.attributes):
            for block in walker.captured(child):
                text = f": {block.text}" if block.kind == "paragraph" else block.text
                walker.out.append(block._replace(text=text, section=walker.outline.current))


def _term(walker: Walker, node: LexborNode) -> None:
    attributes = node.attributes
    if "sig" in (attributes.get("class") or ""):
        for ornament in node.css(".headerlink, .viewcode-link"):
            ornament.decompose()
        text = strip_invisible(" ".join(node.text().split())).strip(_ORNAMENT).removesuffix("[source]").strip()
        term = f"`{text.replace('`', '')}`"
    else:
        text = walker.line(node).replace("**", "").strip(_ORNAMENT)
        term = f"**{text}**"
    if text:
        walker.emit("definition", term, attributes.get("id") or "")


def preformatted(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Keep code as it is, in a fence with its language."""
    walker.flush()
    pieces = []
    for inner in node.traverse(include_text=True):
        if inner.tag == "-text":
            pieces.append(inner.text_content or "")
        elif inner.tag == "br":
            pieces.append("\n")
    text = "\n".join(strip_invisible(line) if not line.isascii() else line for line in "".join(pieces).split("\n"))
    text = text.strip("\n").rstrip()
    fence = "```"
    while fence in text:
        fence += "`"
    if text:
        walker.emit("code", f"{fence}{_language(node)}\n{text}\n{fence}")


def _language(node: LexborNode) -> str:
    inner = node.css_first("code")
    candidates = [node, node.parent, node.parent.parent if node.parent is not None else None, inner]
    for candidate in candidates:
        if candidate is None:
            continue
        attributes = candidate.attributes
        found = _LANGUAGE.search(attributes.get("class") or "")
        name = attributes.get("data-language") or (found[1] if found else "")
        if name and name not in _NO_LANGUAGE and name.isascii():
            return name
    return ""


def quote(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Mark every line of a quotation."""
    walker.flush()
    found = walker.captured(node)
    walker.emit("quote", "\n>\n".join("> " + block.text.replace("\n", "\n> ") for block in found))


def figure(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Keep the caption of a picture."""
    walker.flush()
    caption = " ".join(one_line(block) for block in walker.captured(node) if block.kind != "table")
    if caption:
        walker.emit("figure", f"[Image: {caption}]")


def stack_exchange(walker: Walker, node: LexborNode, name: str, attributes: Attributes) -> bool:
    """Make sections of a question and its answers: the accepted one first, then by score."""
    classes = (attributes.get("class") or "").split()
    if name == "answers":
        answers = node.css("div[id^=answer-]")
        if not answers:
            return False
        for answer in sorted(answers, key=_rank):
            stack_exchange(walker, answer, answer.id or "", answer.attributes)
        return True
    if not {"question", "answer"} & set(classes):
        return False
    walker.flush()
    walker.open_section(_post_title(node, classes), 2, name)
    walker.walk(node)
    walker.flush()
    return True


def _score(node: LexborNode) -> int:
    votes = node.css_first(".js-vote-count, .vote-count-post")
    text = node.attributes.get("data-score") or (votes.text().strip() if votes is not None else "")
    return int(text) if text and text.lstrip("-").isdigit() else 0


def _rank(node: LexborNode) -> tuple[bool, int]:
    return "accepted" not in (node.attributes.get("class") or ""), -_score(node)


def _post_title(node: LexborNode, classes: list[str]) -> str:
    author = node.css_first(".s-user-card--link, .user-details a, .author a")
    title = "Question" if "question" in classes else "Answer"
    if author is not None:
        title += f" by {strip_invisible(' '.join(author.text().split()))}"
    accepted = ", accepted" if any(name.startswith("accepted") for name in classes) else ""
    return f"{title} (score {_score(node)}{accepted})"


HANDLERS: dict[str, Handler] = {
    **dict.fromkeys(_BLOCKS, container),
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6"), heading),
    **dict.fromkeys(("ul", "ol", "menu"), listing),
    "dl": definitions,
    "pre": preformatted,
    "blockquote": quote,
    "figure": figure,
}
