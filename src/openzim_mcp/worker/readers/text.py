"""The reader of JSON, the encoding of texts, and the placeholder for types that have no reader."""

from __future__ import annotations

import codecs
import json
import re

from openzim_mcp.text import strip_invisible
from openzim_mcp.worker.document import Block, Document

_CHARSET = re.compile(rb"""charset\s*=\s*["']?\s*([\w-]+)""", re.IGNORECASE)
_CHARSET_SEARCH_BYTES = 4096
_FALLBACK_ENCODING = "cp1252"
_KINDS = {
    "application/pdf": "a PDF document",
    "application/epub+zip": "an e-book (EPUB)",
    "image/": "a picture",
    "video/": "a video",
    "audio/": "a sound recording",
    "font/": "a font",
}


def read_json(raw: bytes, _path: str = "") -> Document:
    """Return JSON as an indented code block."""
    text = _visible_lines(_indent_json(raw.decode(errors="replace")))
    return Document.without_sections((Block("code", f"```json\n{text}\n```", 0),))


def _visible_lines(text: str) -> str:
    return "\n".join(map(strip_invisible, text.split("\n")))


def placeholder(mime_type: str, size: int) -> Document:
    """Return a sentence about an entry that cannot be read as text."""
    kind = next((words for start, words in _KINDS.items() if mime_type.startswith(start)), "a binary file")
    text = f"This entry is {kind} ({mime_type}, {size} bytes). zim_get with binary=true fetches it."
    return Document.without_sections((Block("paragraph", text, 0),))


def to_utf8(raw: bytes) -> bytes:
    """Return text in UTF-8, by its byte order mark or the charset that it declares, else as Windows-1252."""
    if raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return raw.decode("utf-16", "replace").encode()
    if raw.startswith(codecs.BOM_UTF8):
        return raw.removeprefix(codecs.BOM_UTF8)
    try:
        raw.decode()
    except UnicodeDecodeError:
        return raw.decode(_declared_encoding(raw), "replace").encode()
    return raw


def _declared_encoding(raw: bytes) -> str:
    charset = _CHARSET.search(raw[:_CHARSET_SEARCH_BYTES])
    try:
        encoding = codecs.lookup(charset[1].decode()).name if charset else _FALLBACK_ENCODING
    except LookupError:
        return _FALLBACK_ENCODING
    # It is not UTF-8, whatever it declares.
    return _FALLBACK_ENCODING if encoding == "utf-8" else encoding


def _indent_json(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False).replace("```", "'''")
    except (ValueError, RecursionError):
        return text.replace("```", "'''")
