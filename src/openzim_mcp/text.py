"""Text from archives and file names, made safe to show."""

from __future__ import annotations

import re

LINE = "\x04"
"""A line break inside a block being made; the bytes of a page never hold it."""
# Controls, bidi overrides and isolates, tag characters, fillers and other characters that only hide something.
# Single zero-width joiners shape Persian, Indic and emoji text and stay.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\ue000-\uf8ff"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff]+|[\u200c\u200d]{2,}"
)
# What would be read as Markdown structure, or as one of this server's own lines, at the start of a line.
_STRUCTURE = re.compile(r"#{1,6}\s|>|```|~~~|-{3,}|={3,}|\*{3,}|\||\[(?:content_)?offset=|Source: ")
_STARTS_STRUCTURE = frozenset("#>`~-=*|[S")
# The invisible characters that Python calls printable.
_DECEPTIVE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u3164\ufe00-\ufe0e\uffa0\U000e0100-\U000e01ef]")


def strip_invisible(text: str) -> str:
    """Return `text` without the characters that cannot be seen."""
    if text.isprintable() and (text.isascii() or not _DECEPTIVE.search(text)):
        return text
    return _INVISIBLE.sub("", text)


def escape_structure(text: str) -> str:
    """Return `text` so that no line of it can pass for structure that the page does not have."""
    return "\n".join(map(_escape_line, text.split("\n"))) if "\n" in text else _escape_line(text)


def _escape_line(line: str) -> str:
    return f"\\{line}" if line[:1] in _STARTS_STRUCTURE and _STRUCTURE.match(line) else line


def visible_line(text: str) -> str:
    """Return `text` on one line, without what cannot be seen."""
    return " ".join(strip_invisible(text).split())


def clean(text: str, limit: int = 4000) -> str:
    """Return the same, at most `limit` long."""
    line = visible_line(text[: 2 * limit].replace("\u0085", " "))
    return line if len(line) <= limit else line[: limit - 1] + "…"
