"""Small EPUB books."""

from __future__ import annotations

import io
import zipfile

_CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>'


def write_epub(
    chapters: dict[str, str], *, toc: str = "", toc_kind: str = "ncx", extra: dict[str, bytes] | None = None
) -> bytes:
    """Return a book with chapters in files `OEBPS/NAME`; `toc` is the body of its table of contents."""
    items = "".join(f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters)
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    contents = {
        "ncx": '<item id="toc" href="toc.ncx" media-type="application/x-dtbncx+xml"/>',
        "nav": '<item id="toc" href="nav.xhtml" properties="nav" media-type="application/xhtml+xml"/>',
    }
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
        "<metadata><dc:title>Sea Stories</dc:title><dc:creator>Ada Quill</dc:creator><dc:language>en</dc:language></metadata>"
        f'<manifest>{items}{contents[toc_kind] if toc else ""}</manifest><spine toc="toc">{spine}</spine></package>'
    )
    files = {"META-INF/container.xml": _CONTAINER.encode(), "OEBPS/content.opf": package.encode()}
    files |= {f"OEBPS/{name}": f"<html><body>{body}</body></html>".encode() for name, body in chapters.items()}
    if toc and toc_kind == "ncx":
        files["OEBPS/toc.ncx"] = f"<!DOCTYPE ncx><ncx><navMap>{toc}</navMap></ncx>".encode()
    elif toc:
        nav = f'<html xmlns:epub="x"><body><nav epub:type="toc"><ol>{toc}</ol></nav></body></html>'
        files["OEBPS/nav.xhtml"] = nav.encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        for name, content in (files | (extra or {})).items():
            archive.writestr(name, content)
    return buffer.getvalue()
