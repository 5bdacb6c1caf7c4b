"""The reader of SVG pictures: their title, description and labels."""

from __future__ import annotations

import re

from openzim_mcp.text import escape_markdown, visible_line
from openzim_mcp.worker.document import Block, Document
from openzim_mcp.worker.readers.text import placeholder, to_utf8

_ELEMENT = re.compile(r"<(?:\w+:)?(title|desc|text)\b[^>]{0,2000}>(.*?)</(?:\w+:)?\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^<>]{0,2000}>")
_MAX_CHARS = 1 << 20
_MAX_LABELS = 500


def read_svg(raw: bytes, _path: str = "") -> Document:
    """Return what an SVG says: title, description, and the texts in the picture as a list."""
    text = to_utf8(raw).decode(errors="replace")[:_MAX_CHARS]
    rows = [(name.lower(), visible_line(_TAG.sub(" ", content))) for name, content in _ELEMENT.findall(text)]
    about = dict.fromkeys(value for name, value in rows if value and name != "text")
    labels = dict.fromkeys(value for name, value in rows if value and name == "text")
    blocks = [Block("paragraph", escape_markdown(value), 0) for value in about]
    if labels:
        blocks.append(Block("list", "\n".join(f"- {label}" for label in list(labels)[:_MAX_LABELS]), 0))
    if not blocks:
        return placeholder("image/svg+xml", len(raw))
    title = next((value for name, value in rows if name == "title" and value), "")
    document = Document.without_sections(tuple(blocks))
    return Document(title, "", "", document.blocks, document.sections, (), ())
