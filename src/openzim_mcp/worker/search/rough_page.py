"""A web page in the few passages that have most words of a query, cut out of its bytes: enough to rank it.

A document costs twenty times as much, as all of the page is parsed for it.
"""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from openzim_mcp.text import normalize
from openzim_mcp.worker.document import Passage, Section
from openzim_mcp.worker.search.preview import find_windows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.worker.search.preview import Window
    from openzim_mcp.worker.search.query import Term

_MAX_PASSAGES = 4
_MARGIN_BYTES = 400
"""How far around the words a passage may reach to start and end with a block."""
_MAX_HEADING_BYTES = 400
_BLOCK_TAG = re.compile(rb"</?(?:p|li|tr|h[1-6]|dd|dt|div|table|section|blockquote|pre)\b[^>]*>")
_HEADING_TAG = re.compile(rb"<h[1-6]\b[^>]*>")
_TAG = re.compile(r"<[^>]*>?")


class RoughPage:
    """The passages of a page with most of some terms, normalized, each in a section with the heading above it."""

    is_link_list = False

    def __init__(self, raw: bytes, terms: Sequence[Term]) -> None:
        lowered = raw.lower()
        self.sections = [Section("", "", 0, None, 0, 0, 0)]
        self.passages = []
        for window in find_windows(lowered, terms, _MAX_PASSAGES):
            heading = _heading_before(lowered, window.start)
            if heading:
                self.sections.append(Section("", heading, 2, None, 0, 0, 0))
            section = len(self.sections) - 1 if heading else 0
            self.passages.append(Passage(section, "", _to_text(_cut_passage(lowered, window))))


def _cut_passage(content: bytes, window: Window) -> bytes:
    """Return a window with the rest of its first and last block, if these are not too long."""
    start, stop = max(0, window.start - _MARGIN_BYTES), window.stop + _MARGIN_BYTES
    starts = [tag.end() for tag in _BLOCK_TAG.finditer(content, start, window.start)]
    ends = _BLOCK_TAG.search(content, window.stop, stop)
    return content[starts[-1] if starts else start : ends.start() if ends else stop]


def _heading_before(content: bytes, position: int) -> str:
    at = content.rfind(b"<h", 0, position)
    while at > 0:
        tag = _HEADING_TAG.match(content, at)
        if tag:
            end = content.find(b"</h", tag.end(), tag.end() + _MAX_HEADING_BYTES)
            return _to_text(content[tag.end() : end]) if end > 0 else ""
        at = content.rfind(b"<h", 0, at)
    return ""


def _to_text(markup: bytes) -> str:
    text = _TAG.sub(" ", markup.decode(errors="replace"))
    return normalize(html.unescape(text) if "&" in text else text)
