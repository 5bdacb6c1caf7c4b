"""MathML as a line: fractions, powers, roots and matrices keep what their layout says; and as elements for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.calls.page import MATH_ATTRIBUTES, MATH_TAGS, MathElement
from openzim_mcp.text import visible_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from selectolax.lexbor import LexborNode

_MAX_DEPTH = 40
_MAX_ELEMENTS = 2000
_LEFT_OUT = frozenset({"annotation", "annotation-xml", "mphantom", "none", "mprescripts"})


def mathml_line(node: LexborNode, depth: int = 0) -> str:
    """Return an element of MathML as a line; no number joins another."""
    if depth > _MAX_DEPTH:
        return visible_line(node.text(separator=" "))
    children = [child for child in node.iter() if child.tag not in _LEFT_OUT]
    if not children:
        return visible_line(node.text()) if node.first_child is not None else ""
    parts = [mathml_line(child, depth + 1) for child in children]
    layout = _LAYOUTS.get(node.tag or "")
    return layout(parts) if layout else _join(parts)


def _join(parts: Iterable[str]) -> str:
    line = ""
    for part in parts:
        line += f" {part}" if line[-1:].isdecimal() and part[:1].isdecimal() else part
    return line


def _group(part: str) -> str:
    return part if part.replace(".", "").isalnum() else f"({part})"


def _row_joiner(*separators: str) -> Callable[[list[str]], str]:
    """Return a layout that joins groups by separators; what follows the last of them is joined too."""

    def join_row(parts: list[str]) -> str:
        groups = list(map(_group, parts))
        shown = "".join(f"{separator}{group}" for separator, group in zip(separators, groups[1:], strict=False))
        return _join([groups[0] + shown, *groups[len(separators) + 1 :]])

    return join_row


_LAYOUTS: dict[str, Callable[[list[str]], str]] = {
    "mfrac": _row_joiner("/"),
    "msup": _row_joiner("^"),
    "msub": _row_joiner("_"),
    "mover": _row_joiner("^"),
    "munder": _row_joiner("_"),
    "msubsup": _row_joiner("_", "^"),
    "munderover": _row_joiner("_", "^"),
    "msqrt": lambda parts: f"sqrt({_join(parts)})",
    "mroot": lambda parts: f"root({', '.join(reversed(parts))})",
    "mfenced": lambda parts: f"({', '.join(parts)})",
    "mtable": "; ".join,
    "mtr": ", ".join,
    "semantics": lambda parts: parts[0],
}


def mathml_tree(node: LexborNode) -> MathElement | None:
    """Return MathML as elements, without those that a formula does not need; None if it is too large."""
    tree = _MathTree()
    root = tree.build(node, 0)
    return root if root is not None and tree.size <= _MAX_ELEMENTS else None


class _MathTree:
    def __init__(self) -> None:
        self.size = 0

    def build(self, node: LexborNode, depth: int) -> MathElement | None:
        self.size += 1
        tag = node.tag or ""
        if self.size > _MAX_ELEMENTS or depth > _MAX_DEPTH or tag not in MATH_TAGS:
            return None
        attributes = {name: value for name, value in node.attributes.items() if value in MATH_ATTRIBUTES.get(name, ())}
        elements = [child for child in node.iter() if child.tag not in _LEFT_OUT]
        children = [child for child in (self.build(element, depth + 1) for element in elements) if child is not None]
        if len(children) < len(elements):
            # With an unknown element left out, the others would stand in the wrong places.
            self.size = _MAX_ELEMENTS + 1
        text = "" if elements else visible_line(node.text())
        return MathElement(tag, text, {str(k): str(v) for k, v in attributes.items()}, children)
