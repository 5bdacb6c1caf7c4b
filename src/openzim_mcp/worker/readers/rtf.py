"""The reader of Rich Text Format: its text, without the formatting."""

from __future__ import annotations

import re

from openzim_mcp.text import escape_markdown, visible_line
from openzim_mcp.worker.document import Block, Document

_TOKEN = re.compile(rb"\\([a-z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-z])|([{}])|[\r\n]+|([^\\{}\r\n]+)")
_SKIPPED = frozenset(
    b"fonttbl colortbl stylesheet info pict header footer headerl headerr footerl footerr object themedata datastore "
    b"listtable listoverridetable rsidtbl generator xmlnstbl latentstyles".split()
)
_BREAKS = {b"par": "\n", b"line": "\n", b"sect": "\n", b"page": "\n", b"row": "\n", b"tab": " ", b"cell": " | "}
_CHARACTERS = {
    b"emdash": "\u2014", b"endash": "\u2013", b"lquote": "\u2018", b"rquote": "\u2019", b"ldblquote": "\u201c",
    b"rdblquote": "\u201d", b"bullet": "\u2022",
}  # fmt: skip


def read_rtf(raw: bytes, _path: str = "") -> Document:
    """Return the paragraphs of an RTF file."""
    lines = (visible_line(line) for line in _extract(raw).split("\n"))
    return Document.without_sections(tuple(Block("paragraph", escape_markdown(line), 0) for line in lines if line))


def _extract(raw: bytes) -> str:
    out: list[str] = []
    skipping = [False]
    ignorable = False
    fallback = 0
    for word, number, code, symbol, brace, text in _TOKEN.findall(raw):
        if brace == b"{":
            skipping.append(skipping[-1])
        elif brace == b"}":
            skipping = skipping[:-1] or [False]
        elif symbol == b"*":
            ignorable = True
            continue
        elif word:
            skipping[-1] = skipping[-1] or ignorable or word in _SKIPPED
            if word == b"u" and not skipping[-1]:
                out.append(chr(int(number or 0) % 0x10000))
                fallback = 1
            elif not skipping[-1]:
                out.append(_BREAKS.get(word) or _CHARACTERS.get(word, ""))
        elif not skipping[-1]:
            piece = bytes([int(code, 16)]).decode("cp1252", "replace") if code else _plain(symbol, text)
            out.append(piece[fallback:] if fallback else piece)
            fallback = 0
        ignorable = False
    return "".join(out)


def _plain(symbol: bytes, text: bytes) -> str:
    return (
        {b"~": " ", b"_": "-", b"-": ""}.get(symbol, symbol.decode("cp1252", "replace"))
        if symbol
        else text.decode("cp1252", "replace")
    )
