"""Small PDFs, written by hand: text at given places, outlines, labels, encryption."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

FONTS = {"regular": b"Helvetica", "bold": b"Helvetica-Bold", "code": b"Courier"}
_PASSWORD_PADDING = bytes.fromhex("28BF4E5E4E758A4164004E56FFFA01082E2E00B6D0683E802F0CA9FE6453697A")
_PERMISSIONS = -4
_FILE_ID = b"0123456789abcdef"


@dataclass(frozen=True)
class Text:
    """A line of text: where it starts, in points from the lower left corner, and how it is set."""

    text: str
    x: float = 72
    y: float = 700
    size: float = 10
    font: str = "regular"


@dataclass
class PdfPage:
    """The lines of a page; `rotate` turns it, and its text is drawn so that it is upright then."""

    lines: list[Text] = field(default_factory=list)
    rotate: int = 0


def page(*paragraphs: Sequence[str], top: float = 700, head: str = "", foot: str = "") -> PdfPage:
    """A page with paragraphs, each a list of lines."""
    lines = [Text(head, y=760)] if head else []
    y = top
    for paragraph in paragraphs:
        for line in paragraph:
            lines.append(Text(line, y=y))
            y -= 12
        y -= 10
    return PdfPage([*lines, *([Text(foot, x=300, y=40)] if foot else [])])


def write_pdf(
    pages: Iterable[PdfPage],
    *,
    outline: Sequence[tuple[int, str, int]] = (),
    labels: bytes = b"",
    info: bytes = b"",
    password: str | None = None,
) -> bytes:
    """Return a PDF; an outline has rows of level, title and page from 1; `password` may be empty (owner only)."""
    objects: dict[int, bytes] = {}
    rows = list(pages)
    first_page = 10
    kids = b" ".join(b"%d 0 R" % (first_page + 2 * n) for n in range(len(rows)))
    fonts = b" ".join(
        b"/%s << /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>" % (n.encode(), f)
        for n, f in FONTS.items()
    )
    objects[2] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(rows))
    for number, row in enumerate(rows):
        at = first_page + 2 * number
        objects[at] = (
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate %d /Contents %d 0 R"
            b" /Resources << /Font << %s >> >> >>" % (row.rotate, at + 1, fonts)
        )
        objects[at + 1] = _stream(_content(row))
    outline_at = first_page + 2 * len(rows)
    objects |= _outline(outline, outline_at, first_page)
    extra = (b" /Outlines %d 0 R" % outline_at if outline else b"") + (b" /PageLabels %s" % labels if labels else b"")
    objects[1] = b"<< /Type /Catalog /Pages 2 0 R%s >>" % extra
    objects[3] = b"<< %s >>" % info
    return _assemble(objects, password)


def _content(page: PdfPage) -> bytes:
    turn = {0: b"1 0 0 1 0 0", 90: b"0 1 -1 0 612 0", 270: b"0 -1 1 0 0 792"}[page.rotate]
    lines = [
        b"/%s %g Tf 1 0 0 1 %g %g Tm (%s) Tj" % (line.font.encode(), line.size, line.x, line.y, _escape(line.text))
        for line in page.lines
    ]
    return b"q %s cm BT %s ET Q" % (turn, b"\n".join(lines))


def _escape(text: str) -> bytes:
    raw = text.encode("cp1252")
    return raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")


def _stream(data: bytes) -> bytes:
    packed = zlib.compress(data)
    return b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed)


def _outline(rows: Sequence[tuple[int, str, int]], at: int, first_page: int) -> dict[int, bytes]:
    """Return the objects of an outline of one level below another."""
    if not rows:
        return {}
    parents: list[int] = []
    stack: list[int] = []
    for number, (level, _, _) in enumerate(rows):
        del stack[level:]
        parents.append(stack[-1] if stack else -1)
        stack.append(number)
    objects = {at: _links(rows, parents, -1, at)}
    for number, (_, title, page) in enumerate(rows):
        siblings = [n for n, parent in enumerate(parents) if parent == parents[number]]
        position = siblings.index(number)
        near = b"".join(
            b" /%s %d 0 R" % (name, at + 1 + siblings[other])
            for name, other in ((b"Prev", position - 1), (b"Next", position + 1))
            if 0 <= other < len(siblings)
        )
        title_bytes = b"\xfe\xff" + title.encode("utf-16-be")
        objects[at + 1 + number] = b"<< /Title <%s> /Parent %d 0 R /Dest [%d 0 R /XYZ 0 780 0]%s %s >>" % (
            title_bytes.hex().encode(), at + 1 + parents[number], first_page + 2 * (page - 1), near,
            _links(rows, parents, number, at)[2:-2],
        )  # fmt: skip
    return objects


def _links(rows: Sequence[object], parents: Sequence[int], parent: int, at: int) -> bytes:
    children = [number for number in range(len(rows)) if parents[number] == parent]
    if not children:
        return b"<<>>"
    return b"<< /First %d 0 R /Last %d 0 R /Count %d >>" % (at + 1 + children[0], at + 1 + children[-1], len(children))


def _assemble(objects: dict[int, bytes], password: str | None) -> bytes:
    if password is not None:
        owner, user, key = _keys(password)
        objects = {number: _encrypt(number, body, key) for number, body in objects.items()}
        objects[4] = b"<< /Filter /Standard /V 1 /R 2 /O <%s> /U <%s> /P %d >>" % (
            owner.hex().encode(), user.hex().encode(), _PERMISSIONS,
        )  # fmt: skip
    out = bytearray(b"%PDF-1.4\n")
    offsets = {}
    for number, body in sorted(objects.items()):
        offsets[number] = len(out)
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number, offset in offsets.items():
        out += b"%d 1\n%010d 00000 n \n" % (number, offset)
    encrypt = b" /Encrypt 4 0 R" if password is not None else b""
    out += b"trailer << /Size %d /Root 1 0 R /Info 3 0 R /ID [<%s> <%s>]%s >>\nstartxref\n%d\n%%%%EOF" % (
        max(objects) + 1, _FILE_ID.hex().encode(), _FILE_ID.hex().encode(), encrypt, start,
    )  # fmt: skip
    return bytes(out)


def _keys(password: str) -> tuple[bytes, bytes, bytes]:
    """Return the owner entry, the user entry and the key of 40-bit encryption (PDF 1.1)."""
    padded = (password.encode() + _PASSWORD_PADDING)[:32]
    owner_key = hashlib.md5(b"owner" + _PASSWORD_PADDING[:27], usedforsecurity=False).digest()[:5]
    owner = _rc4(owner_key, padded)
    permissions = (_PERMISSIONS & 0xFFFFFFFF).to_bytes(4, "little")
    key = hashlib.md5(padded + owner + permissions + _FILE_ID, usedforsecurity=False).digest()[:5]
    return owner, _rc4(key, _PASSWORD_PADDING), key


def _encrypt(number: int, body: bytes, key: bytes) -> bytes:
    head, marker, rest = body.partition(b"stream\n")
    if not marker:
        return body
    data, _, _ = rest.rpartition(b"\nendstream")
    object_key = hashlib.md5(key + number.to_bytes(3, "little") + b"\0\0", usedforsecurity=False).digest()[:10]
    return head + marker + _rc4(object_key, data) + b"\nendstream"


def _rc4(key: bytes, data: bytes) -> bytes:
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) % 256
        state[i], state[j] = state[j], state[i]
    out = bytearray()
    i = j = 0
    for byte in data:
        i = (i + 1) % 256
        j = (j + state[i]) % 256
        state[i], state[j] = state[j], state[i]
        out.append(byte ^ state[(state[i] + state[j]) % 256])
    return bytes(out)
