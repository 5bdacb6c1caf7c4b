"""What styles hide or strike through: style attributes, and the simple rules of a page's own style sheets."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

_HIDING_STYLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*(?:[01]px|0(?:\.0\d*)?(?:px|pt|em|rem|%|\s*;|\s*$))"
    r"|(?<![\w-])opacity\s*:\s*0(?:\.0\d*)?\s*(?:;|!|$)|text-indent\s*:\s*-\d{3,}"
    r"|(?<![\w-])(?:left|right|top|bottom|margin-left|margin-top)\s*:\s*-\d{3,}(?:px|em|rem|vw|vh|%)"
    r"|translate[xy]?\(\s*-\d{3,}|(?:scale|scalex|scaley)\(\s*0\s*[,)]"
    r"|(?<![\w-])color\s*:\s*(?:transparent|rgba\([^)]*,\s*0(?:\.0+)?\s*\))"
    r"|clip\s*:\s*rect\(\s*[01](?:px)?[\s,)]|clip-path\s*:\s*inset\(\s*(?:50|100)%",
    re.IGNORECASE,
)
_NO_SIZE = re.compile(r"(?<![\w-])(?:max-)?height\s*:\s*0(?:px|em|rem|pt|%)?\s*(?:;|!|$)", re.IGNORECASE)
_KEEPS_SIZE = re.compile(r"padding|overflow\s*:\s*visible|min-height|border", re.IGNORECASE)
_STRIKING_STYLE = re.compile(r"text-decoration(?:-line)?\s*:[^;]*line-through", re.IGNORECASE)
_COLOR = re.compile(r"(?<![\w-])(color|background(?:-color)?)\s*:\s*([^;!]+)", re.IGNORECASE)
_WHITES = frozenset({"white", "#fff", "#ffffff", "#fefefe", "#fffffe", "rgb(255,255,255)", "rgba(255,255,255,1)"})
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)", re.DOTALL)
_RULE = re.compile(r"([^{}]*)\{([^{}]*)\}")
_SIMPLE_SELECTOR = re.compile(r"[\w-]*([.#][\w-]+)$")
_NAME_IN_SELECTOR = re.compile(r"[.#][\w-]+")
_SHOWING_STYLE = re.compile(r"display\s*:\s*(?!none)\w|visibility\s*:\s*visible|opacity\s*:\s*1|height\s*:\s*auto")
_MAX_STYLE_CHARS = 200_000


class HidingRules(NamedTuple):
    """The classes and ids that a page's style sheets hide."""

    classes: frozenset[str]
    ids: frozenset[str]


@lru_cache(maxsize=20_000)
def is_hiding_style(style: str) -> bool:
    """Return whether a style makes its element invisible."""
    if _HIDING_STYLE.search(style) is not None:
        return True
    if _NO_SIZE.search(style) and not _KEEPS_SIZE.search(style):
        return True
    color, background = _colors(style)
    return bool(color) and color == background


@lru_cache(maxsize=20_000)
def is_white_text(style: str) -> bool:
    """Return whether a style makes text white and gives it no background."""
    color, background = _colors(style)
    return color == "white" and not background


def sets_background(style: str) -> bool:
    """Return whether a style gives its element a background."""
    return "background" in style


def _colors(style: str) -> tuple[str, str]:
    colors = {"color": "", "background": ""}
    for name, value in _COLOR.findall(style):
        plain = "".join(value.lower().split())
        colors["color" if name.lower() == "color" else "background"] = "white" if plain in _WHITES else plain
    return colors["color"], colors["background"]


@lru_cache(maxsize=20_000)
def is_striking_style(style: str) -> bool:
    """Return whether a style strikes its text through."""
    return "line-through" in style and _STRIKING_STYLE.search(style) is not None


def find_hiding_rules(sheets: Iterable[str]) -> HidingRules:
    """Return what style sheets hide by a class or an id alone.

    A name that another rule shows is left out: its element is opened by a click. Rules for some screens only, or for
    paper, do not count.
    """
    hidden: set[str] = set()
    shown: set[str] = set()
    for selectors, style in _RULE.findall(_without_conditions("\n".join(sheets)[:_MAX_STYLE_CHARS])):
        if is_hiding_style(style) or is_white_text(style):
            simple = (_SIMPLE_SELECTOR.match(selector.strip()) for selector in selectors.split(","))
            hidden.update(selector[1] for selector in simple if selector)
        elif _SHOWING_STYLE.search(style):
            shown.update(_NAME_IN_SELECTOR.findall(selectors))
    names = hidden - shown
    return HidingRules(
        frozenset(name[1:] for name in names if name[0] == "."), frozenset(name[1:] for name in names if name[0] == "#")
    )


def _without_conditions(sheet: str) -> str:
    """Return a style sheet without the blocks of @media and the like."""
    sheet = _COMMENT.sub("", sheet)
    pieces: list[str] = []
    position = depth = 0
    for brace in re.finditer(r"[{}]", sheet):
        depth += 1 if brace[0] == "{" else -1
        if depth <= 0:
            rule = sheet[position : brace.end()]
            if not rule.lstrip().startswith("@"):
                pieces.append(rule)
            position, depth = brace.end(), 0
    return "".join(pieces)
