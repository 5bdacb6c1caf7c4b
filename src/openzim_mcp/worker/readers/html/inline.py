"""What stands inside a line: links, emphasis, code, formulas, indices."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from openzim_mcp.text import strip_invisible, visible_line
from openzim_mcp.worker.readers.html.blocks import preformatted

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

    from openzim_mcp.worker.readers.html.reader import Attributes, Handler, Walker

_RAISED = str.maketrans("0123456789+-−=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁼⁽⁾ⁿⁱ")  # noqa: RUF001
_LOWERED = str.maketrans("0123456789+-−=()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₌₍₎")  # noqa: RUF001
_STYLE = re.compile(r"^\{\\(?:displaystyle|textstyle)\s*(.*?)\s*\}$", re.DOTALL)
LINE_BREAK = "\x04"
"""A line break inside a block being made; the bytes of a page never hold it."""
_PERMALINKS = frozenset({"¶", "#", "§", "🔗"})


def anchor(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Keep the text of a link in the line, and the link itself beside the text."""
    href = attributes.get("href")
    if href is None:
        walker.anchor = attributes.get("name") or walker.anchor
        walker.walk(node)
        return
    found = walker.resolve(href)
    if found is None or walker.in_link:
        walker.walk(node)
        return
    at, blocks = len(walker.buffer), len(walker.out)
    walker.in_link = True
    walker.walk(node)
    walker.in_link = False
    text = " ".join("".join(walker.buffer[at:]).split()) if len(walker.out) == blocks else ""
    kind, target, fragment = found
    if kind == "anchor":
        if text in _PERMALINKS:
            del walker.buffer[at:]
        walker.anchor_characters += len(text)
    walker.link(kind, target, fragment, strip_invisible(text.replace(LINE_BREAK, " ")))


def _emphasis(mark: str) -> Handler:
    def emphasis(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
        """Put marks around the text, with its outer blanks outside of them."""
        at, blocks = len(walker.buffer), len(walker.out)
        walker.walk(node)
        if len(walker.out) != blocks:
            return
        text = "".join(walker.buffer[at:])
        core = text.strip()
        if core and LINE_BREAK not in core and not core.startswith("*") and not core.endswith("*"):
            before, _, after = text.partition(core)
            walker.buffer[at:] = [before, mark, core, mark, after]

    return emphasis


def _index(raised: bool) -> Handler:  # noqa: FBT001
    def index(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
        """Write an index so that 10⁶ is not 106."""
        at = len(walker.buffer)
        walker.walk(node)
        text = "".join(walker.buffer[at:])
        core = text.strip()
        shown = core.translate(_RAISED if raised else _LOWERED)
        if any(c.isascii() and c.isalnum() for c in shown):
            if raised and core.isalpha() and len(core) > 1:
                shown = core
            elif raised:
                shown = f"^{core}" if core.isalnum() else f"^({core})"
            else:
                shown = f"_{core}"
        walker.buffer[at:] = [shown]

    return index


def code(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Put code in backticks; its links count, its markup does not."""
    text = node.text()
    if not text.strip():
        return
    if not walker.in_link:
        for link in node.css("a[href]"):
            found = walker.resolve(link.attributes.get("href") or "")
            if found:
                walker.link(*found, link.text().strip())
    if "\n" in text.strip() and not walker.nested and not walker.buffer:
        preformatted(walker, node, attributes)
        return
    line = " ".join(text.split())
    walker.buffer.append(f"`` {line} ``" if "`" in line else f"`{line}`")


def formula(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Write the TeX of a formula, wherever its maker put it."""
    annotation = node.css_first('annotation[encoding="application/x-tex"]')
    math = node if node.tag == "math" else node.css_first("math")
    image = node if node.tag == "img" else node.css_first("img")
    tex = (
        (annotation.text() if annotation is not None else "")
        or (math.attributes.get("alttext") if math is not None else "")
        or (image.attributes.get("alt") if image is not None else "")
        or attributes.get("alt")
        or node.text()
    )
    _tex(walker, tex or "")


def _tex(walker: Walker, tex: str) -> None:
    tex = visible_line(tex)
    styled = _STYLE.match(tex)
    tex = styled[1] if styled else tex
    if tex:
        walker.buffer.append(tex if tex.startswith(("$", "\\(", "\\[")) else f"${tex}$")


def script(walker: Walker, node: LexborNode) -> None:
    """Take the formula that MathJax keeps in a script; drop every other script."""
    if (node.attributes.get("type") or "").startswith("math/tex"):
        _tex(walker, node.text())


def image(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Remember a picture of the archive; a formula that is a picture is text."""
    classes = attributes.get("class") or ""
    if "formula" in classes or "tex" in classes.split() or classes.startswith("math"):
        formula(walker, node, attributes)
        return
    _file(walker, attributes.get("src") or attributes.get("data-src") or "", attributes.get("alt") or "")


def media(walker: Walker, node: LexborNode, attributes: Attributes) -> None:
    """Remember the files of a video or a sound."""
    sources = [attributes.get("src"), *(source.attributes.get("src") for source in node.css("source"))]
    for source in filter(None, sources):
        _file(walker, source, "")


def _file(walker: Walker, source: str, text: str) -> None:
    """Remember a file of the archive; what is elsewhere, or written into the page itself, is none."""
    found = walker.resolve(source)
    if found and found[0] != "external":
        walker.link("media", found[1], "", strip_invisible(text))


def line_break(walker: Walker, _node: LexborNode, _attributes: Attributes) -> None:
    """End a line inside a block."""
    walker.buffer.append(LINE_BREAK)


def _around(before: str, after: str) -> Handler:
    def around(walker: Walker, node: LexborNode, _attributes: Attributes) -> None:
        walker.buffer.append(before)
        walker.walk(node)
        walker.buffer.append(after)

    return around


HANDLERS: dict[str, Handler] = {
    "a": anchor,
    "br": line_break,
    "img": image,
    "video": media,
    "audio": media,
    "math": formula,
    "sup": _index(raised=True),
    "sub": _index(raised=False),
    "q": _around("“", "”"),
    "rt": _around("(", ")"),
    **dict.fromkeys(("b", "strong"), _emphasis("**")),
    **dict.fromkeys(("i", "em", "dfn", "cite", "var"), _emphasis("*")),
    **dict.fromkeys(("code", "tt", "kbd", "samp"), code),
}
