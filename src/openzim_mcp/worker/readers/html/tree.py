"""From the bytes of a page to a tree, with what a parser takes too long for removed first."""

from __future__ import annotations

from selectolax.lexbor import LexborHTMLParser

from openzim_mcp.worker.readers.html.nesting import (
    has_endless_formatting,
    limit_attributes,
    limit_nesting,
    limit_options,
    may_nest_deep,
)
from openzim_mcp.worker.readers.text import to_utf8

_CONTROL_BYTES = bytes(code for code in range(32) if code not in {9, 10, 12, 13}) + b"\x7f"


def clean_markup(raw: bytes) -> bytes:
    """Return a page in UTF-8, without control characters."""
    return to_utf8(raw).translate(None, _CONTROL_BYTES)


def limit_markup(markup: bytes) -> bytes | None:
    """Return clean markup that is parsed in time; None if it leaves so much formatting open that none is."""
    markup = limit_options(limit_attributes(markup))
    if not may_nest_deep(markup):
        return markup
    return None if has_endless_formatting(markup) else limit_nesting(markup)


def parse_tree(raw: bytes) -> LexborHTMLParser | None:
    """Return the tree of a page; None if it has too much formatting to be parsed."""
    markup = limit_markup(clean_markup(raw))
    return None if markup is None else LexborHTMLParser(markup)
