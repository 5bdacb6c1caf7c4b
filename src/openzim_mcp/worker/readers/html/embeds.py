"""What a page shows without containing it: where it refers to at once, subtitles of its video, documents in a frame."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl

from selectolax.lexbor import LexborHTMLParser

from openzim_mcp.text import visible_line
from openzim_mcp.worker.readers.html.links import LinkResolver

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD_BYTES = 16_384
_META = re.compile(rb"<meta\b[^>]{0,2000}>", re.IGNORECASE)
_REFRESH = re.compile(rb"http-equiv\s*=\s*[\"']?\s*refresh\b", re.IGNORECASE)
_CONTENT = re.compile(rb"content\s*=\s*(?:\"([^\"]*)\"|'([^']*)')", re.IGNORECASE | re.DOTALL)
_TARGET = re.compile(r"\s*(\d*)(?:\.\d*)?\s*[;,]?\s*(?:url\s*=\s*)?(.*)", re.IGNORECASE | re.DOTALL)
_FRAME_MARKS = (b"<iframe", b"<embed", b"<object")
_FRAMES = "iframe[src], embed[src], object[data]"
_DOCUMENT = re.compile(r"\.(?:pdf|epub)$", re.IGNORECASE)
_MAX_EMBEDS = 200
_LANGUAGE_CLASS = re.compile(r"\blang-([a-z]{2,3}(?:-[a-z]+)?)\b", re.IGNORECASE)
_DEFAULT_LANGUAGE = b"lang-default"


class Track(NamedTuple):
    """Subtitles of a video, where a page says they are; chapters are tracks too."""

    target: str
    language: str
    label: str
    is_chapters: bool = False


def find_refresh(raw: bytes) -> str | None:
    """Return where a page refers to at once (meta refresh); None if it does not, or only after a while."""
    head = raw[:_HEAD_BYTES]
    if b"efresh" not in head and b"EFRESH" not in head:
        return None
    for meta in _META.findall(head):
        content = _CONTENT.search(meta) if _REFRESH.search(meta) else None
        if content:
            text = html.unescape((content[1] or content[2] or b"").decode(errors="replace"))
            parts = _TARGET.fullmatch(text)
            target = parts[2].strip().strip("'\"").strip() if parts else ""
            return target if parts and target and not int(parts[1][:4] or 0) else None
    return None


def find_tracks(raw: bytes, path: str) -> list[Track]:
    """Return the subtitles and chapters of the videos on a page."""
    if b"<track" not in raw:
        return []
    links = LinkResolver(path)
    tracks = []
    for node in LexborHTMLParser(raw).css("track[src]")[:_MAX_EMBEDS]:
        attributes = node.attributes
        target = links.resolve(attributes.get("src") or "")
        kind = (attributes.get("kind") or "subtitles").lower()
        if target and target[0] != "external" and kind in {"subtitles", "captions", "chapters"}:
            language, label = attributes.get("srclang") or "", visible_line(attributes.get("label") or "")
            tracks.append(Track(target[1], language, label, kind == "chapters"))
    return tracks


def find_documents(raw: bytes, path: str) -> list[str]:
    """Return the paths of the PDF documents and e-books that a page shows in a frame, directly or by a viewer."""
    if not any(mark in raw for mark in _FRAME_MARKS):
        return []
    return list(dict.fromkeys(_framed_documents(raw, path)))


def _framed_documents(raw: bytes, path: str) -> Iterator[str]:
    for node in LexborHTMLParser(raw).css(_FRAMES)[:_MAX_EMBEDS]:
        source = node.attributes.get("src") or node.attributes.get("data") or ""
        location, _, query = source.partition("#")[0].partition("?")
        if _DOCUMENT.search(location):
            target = LinkResolver(path).resolve(location)
            if target and target[0] != "external":
                yield target[1]
        viewer = LinkResolver(path).resolve(location)
        for _, value in parse_qsl(query):
            # Such a path is relative to the viewer, or to the page.
            starts = (viewer[1] if viewer else path, path) if _DOCUMENT.search(value) else ()
            for start in starts:
                target = LinkResolver(start).resolve(value)
                if target and target[0] != "external":
                    yield target[1]


def keep_language(raw: bytes, language: str) -> bytes:
    """Return a page that has texts once per language (`class="title lang-fr"`) with those of one language only."""
    if _DEFAULT_LANGUAGE not in raw:
        return raw
    tree = LexborHTMLParser(raw)
    nodes = [
        (node, match[1].lower())
        for node in tree.css("[class*=lang-]")
        if (match := _LANGUAGE_CLASS.search(node.attributes.get("class") or ""))
    ]
    languages = {code.partition("-")[0] for _, code in nodes if code != "default"}
    for node, code in nodes:
        is_wanted = code.partition("-")[0] == language if language in languages else code == "default"
        if not is_wanted:
            node.decompose()
    return (tree.html or "").encode()
