"""Handlers of elements inside a line: links, emphasis, code, formulas, superscripts and subscripts, images."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.text import strip_invisible, visible_line
from openzim_mcp.worker.document import Formula
from openzim_mcp.worker.readers.html.blocks import BLOCK_TAGS, add_preformatted, code_text
from openzim_mcp.worker.readers.html.mathml import mathml_line, mathml_tree
from openzim_mcp.worker.readers.html.walker import LINE_BREAK

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.document import Link
    from openzim_mcp.worker.readers.html.walker import Attributes, Handler, Walker

_SUPERSCRIPTS = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")  # noqa: RUF001
_SUBSCRIPTS = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")  # noqa: RUF001
_TEX_STYLE = re.compile(r"^\{\\(?:displaystyle|textstyle)\s*(.*?)\s*\}$", re.DOTALL)
_STRUCK = "~~"
_PERMALINKS = frozenset({"¶", "#", "§", "🔗"})


def walk_link(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Keep the text of a link in the line, and the link itself in the list of links."""
    href = attributes.get("href")
    walker.add_anchor(attributes.get("name"), "a")
    if href is None:
        walker.walk(node)
        return
    link = walker.resolve_link(href)
    if link is None or walker.is_in_link:
        walker.walk(node)
        return
    start, block_count = len(walker.buffer), len(walker.blocks)
    walker.is_in_link = True
    walker.walk(node)
    walker.is_in_link = False
    is_inline = len(walker.blocks) == block_count
    text = walker.without_marks(" ".join("".join(walker.buffer[start:]).split())) if is_inline else ""
    kind, target, fragment = link
    if kind == "anchor":
        if text in _PERMALINKS:
            del walker.buffer[start:]
        walker.same_page_link_chars += len(text)
    walker.add_link(kind, target, fragment, strip_invisible(text.replace(LINE_BREAK, " ")))
    if walker.marks is not None:
        walker.marks.enclose_link(walker.links[-1], walker.buffer, start, walker.blocks, block_count)


def _emphasis_handler(mark: str) -> Handler:
    def add_emphasis(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
        """Put marks around the text; blanks at its ends stay outside, as Markdown requires."""
        start, block_count = len(walker.buffer), len(walker.blocks)
        walker.walk(node)
        if len(walker.blocks) != block_count:
            return
        text = "".join(walker.buffer[start:])
        core = text.strip()
        if core and LINE_BREAK not in core and not core.startswith("*") and not core.endswith("*"):
            before, _, after = text.partition(core)
            walker.buffer[start:] = [before, mark, core, mark, after]

    return add_emphasis


def add_struck(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Mark deleted text; of deleted blocks only the paragraphs are kept."""
    if any(child.tag in BLOCK_TAGS for child in node.iter()):
        walker.flush()
        for block in walker.walk_into_blocks(node):
            if block.kind == "paragraph":
                walker.add_block("paragraph", _strike(block.text, "\n"))
        return
    start, block_count = len(walker.buffer), len(walker.blocks)
    walker.walk(node)
    text = "".join(walker.buffer[start:])
    core = text.strip()
    if core and len(walker.blocks) == block_count:
        before, _, after = text.partition(core)
        walker.buffer[start:] = [before, _strike(core, LINE_BREAK), after]


def _strike(text: str, line_break: str) -> str:
    lines = (line.strip() for line in text.replace(_STRUCK, "").split(line_break))
    return line_break.join(f"{_STRUCK}{line}{_STRUCK}" for line in lines if line)


def walk_inserted(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Walk inserted text; a blank keeps it apart from the text that it replaces."""
    if walker.buffer and "".join(walker.buffer[-2:]).endswith(_STRUCK):
        walker.buffer.append(" ")
    walker.walk(node)


def add_superscript(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Write a superscript so that 10⁶ does not become 106."""
    core = _take_inner_text(walker, node)
    raised = core.translate(_SUPERSCRIPTS)
    if not _has_ascii_letters_or_digits(raised):
        walker.buffer.append(raised)
    elif core.isalpha() and len(core) > 1:
        walker.buffer.append(core)  # such as the "th" of 5th
    else:
        walker.buffer.append(f"^{core}" if core.isalnum() else f"^({core})")


def add_subscript(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
    """Write a subscript so that H₂O does not become H2O."""
    core = _take_inner_text(walker, node)
    lowered = core.translate(_SUBSCRIPTS)
    walker.buffer.append(f"_{core}" if _has_ascii_letters_or_digits(lowered) else lowered)


def _take_inner_text(walker: Walker, node: LexborNode) -> str:
    start = len(walker.buffer)
    walker.walk(node)
    text = walker.without_marks("".join(walker.buffer[start:]))
    del walker.buffer[start:]
    return text.strip()


def _has_ascii_letters_or_digits(text: str) -> bool:
    return any(c.isascii() and c.isalnum() for c in text)


def add_code(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Write code in backticks; its links are kept, its markup is not."""
    text = code_text(walker, node)
    if not text.strip():
        return
    if not walker.is_in_link:
        for element in node.css("a[href]"):
            link = walker.resolve_link(element.attributes.get("href") or "")
            if link:
                walker.add_link(*link, element.text().strip())
    if "\n" in text.strip() and not walker.is_nested and not walker.buffer:
        add_preformatted(walker, node, attributes)
        return
    line = " ".join(text.split())
    walker.buffer.append(f"`` {line} ``" if "`" in line else f"`{line}`")


def add_formula(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Write the TeX of a formula, which may be an annotation or an alternative text; without one, its MathML."""
    annotation = node.css_first('annotation[encoding="application/x-tex"]')
    math = node if node.tag == "math" else node.css_first("math")
    image = node if node.tag == "img" else node.css_first("img")
    tex = (
        (annotation.text() if annotation is not None else "")
        or (math.attributes.get("alttext") if math is not None else "")
        or (image.attributes.get("alt") if image is not None else "")
        or attributes.get("alt")
        or (mathml_line(math) if math is not None else node.text())
    )
    _add_tex(walker, tex or "", math)


def _add_tex(walker: Walker, tex: str, math: LexborNode | None = None) -> None:
    tex = visible_line(tex)
    styled = _TEX_STYLE.match(tex)
    tex = styled[1] if styled else tex
    if not tex:
        return
    start = len(walker.buffer)
    walker.buffer.append(tex if tex.startswith(("$", "\\(", "\\[")) else f"${tex}$")
    if walker.marks is not None:
        walker.marks.enclose(Formula(tex, mathml_tree(math) if math is not None else None), walker.buffer, start)


def add_script_formula(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Write the formula that MathJax keeps in a script; every other script is dropped."""
    if (attributes.get("type") or "").startswith("math/tex"):
        _add_tex(walker, node.text())


def add_image(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Add the link to an image of the archive; an image of a formula is text."""
    classes = attributes.get("class") or ""
    if "formula" in classes or "tex" in classes.split() or classes.startswith("math"):
        add_formula(walker, node, attributes)
        return
    source, text = attributes.get("src") or attributes.get("data-src") or "", attributes.get("alt") or ""
    link = _add_media_link(walker, source, text)
    if link and walker.marks is not None:
        walker.marks.add_media("image", link, attributes, walker.buffer)


def add_media(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Add the links to the files of a video or a sound."""
    sources = [attributes.get("src"), *(source.attributes.get("src") for source in node.css("source"))]
    links = [link for source in filter(None, sources) if (link := _add_media_link(walker, source, ""))]
    if links and walker.marks is not None:
        walker.marks.add_media("audio" if node.tag == "audio" else "video", links[0], attributes, walker.buffer)


def _add_media_link(walker: Walker, source: str, text: str) -> Link | None:
    # Files on the web, such as tracking pixels, and data: URLs are not part of the archive.
    link = walker.resolve_link(source)
    if not link or link[0] == "external":
        return None
    walker.add_link("media", link[1], "", strip_invisible(text))
    return walker.links[-1]


def add_line_break(walker: Walker, _node: LexborNode, _attributes: Attributes) -> None:
    """End a line inside a block."""
    walker.buffer.append(LINE_BREAK)


def _enclosing_handler(before: str, after: str) -> Handler:
    def enclose(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
        walker.buffer.append(before)
        walker.walk(node)
        walker.buffer.append(after)

    return enclose


TAG_HANDLERS: dict[str, Handler] = {
    "a": walk_link,
    "br": add_line_break,
    "img": add_image,
    "video": add_media,
    "audio": add_media,
    "math": add_formula,
    "script": add_script_formula,
    "sup": add_superscript,
    "sub": add_subscript,
    "ins": walk_inserted,
    **dict.fromkeys(("del", "s", "strike"), add_struck),
    "q": _enclosing_handler("“", "”"),
    "rt": _enclosing_handler("(", ")"),
    **dict.fromkeys(("b", "strong"), _emphasis_handler("**")),
    **dict.fromkeys(("i", "em", "dfn", "cite", "var"), _emphasis_handler("*")),
    **dict.fromkeys(("code", "tt", "kbd", "samp"), add_code),
}
