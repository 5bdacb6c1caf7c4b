"""What is not HTML: text as it is, JSON made readable, a card for everything else."""

from __future__ import annotations

import json

from openzim_mcp.text import strip_invisible
from openzim_mcp.worker.document import Block, Document, without_sections

_TEXT = ("text/", "application/xml", "application/javascript", "application/x-javascript", "application/rtf")
_KINDS = {
    "application/pdf": "a PDF document",
    "application/epub+zip": "an e-book (EPUB)",
    "image/": "a picture",
    "video/": "a video",
    "audio/": "a sound recording",
    "font/": "a font",
}


def is_text(mime_type: str) -> bool:
    """Return whether content of a type can be read as text."""
    return mime_type.startswith(_TEXT) or "json" in mime_type


def parse(raw: bytes, mime_type: str, title: str) -> Document:
    """Return a document of something that is not HTML but text."""
    text = raw.decode(errors="replace")
    if "json" in mime_type:
        text = f"```json\n{_readable(text)}\n```"
    blocks = tuple(Block("lines", part, 0) for part in _visible(text).split("\n\n") if part.strip("\n"))
    return without_sections(blocks, title)


def card(mime_type: str, size: int) -> Document:
    """Return what to say of an entry that cannot be read as text."""
    what = next((words for start, words in _KINDS.items() if mime_type.startswith(start)), "a binary file")
    text = f"This entry is {what} ({mime_type}, {size} bytes). zim_get with binary=true fetches it."
    return without_sections((Block("paragraph", text, 0),))


def _visible(text: str) -> str:
    lines = text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join("\\" + line if line.startswith("[content_offset=") else strip_invisible(line) for line in lines)


def _readable(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False).replace("```", "'''")
    except (ValueError, RecursionError):
        return text.replace("```", "'''")
