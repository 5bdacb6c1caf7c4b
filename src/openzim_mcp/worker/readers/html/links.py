"""Where links lead: from an href on a page to a path in the archive."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from openzim_mcp.worker.document import LinkKind

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_EXTERNAL_SCHEMES = frozenset({"http", "https", "ftp", "geo"})
_IGNORED_SCHEMES = frozenset({"javascript", "mailto", "tel", "data", "blob", "vbscript", "about", "sms", "irc"})
_MEDIA_EXTENSIONS = frozenset(
    "png jpg jpeg gif svg webp avif bmp tif tiff ico mp3 ogg oga ogv opus wav flac mp4 webm mov m4a pdf epub djvu "
    "zip".split()
)
LinkTarget = tuple["LinkKind", str, str]
"""Kind, target and fragment of a link."""


class LinkResolver:
    """Resolves the hrefs of one page, each once."""

    def __init__(self, path: str, base: str = "") -> None:
        self._path = path
        self._folder = posixpath.dirname(path)
        if base and not _SCHEME.match(base) and not base.startswith("//"):
            start = "" if base.startswith("/") else self._folder
            self._folder = _join_path(start, unquote(base).rpartition("/")[0])
        self._resolved: dict[str, LinkTarget | None] = {}

    def resolve(self, href: str) -> LinkTarget | None:
        """Return where an href leads; None if that is neither in the archive nor on the web."""
        if href not in self._resolved:
            self._resolved[href] = self._resolve(href.strip())
        return self._resolved[href]

    def _resolve(self, href: str) -> LinkTarget | None:
        if not href:
            return None
        if href.startswith("#"):
            return "anchor", self._path, unquote(href[1:])
        if href.startswith("//"):
            return "external", f"https:{href}", ""
        scheme = _SCHEME.match(href)
        name = scheme[1].lower() if scheme else ""
        if name in _EXTERNAL_SCHEMES:
            return "external", href, ""
        if scheme and (name in _IGNORED_SCHEMES or href.startswith("//", scheme.end())):
            return None
        return self._resolve_path(href)

    def _resolve_path(self, href: str) -> LinkTarget:
        before_fragment, _, fragment = href.partition("#")
        location, question_mark, query = before_fragment.partition("?")
        start = "" if location.startswith("/") else self._folder
        # Archives store a query as it is written, as part of the path; only the location is decoded.
        target = (_join_path(start, unquote(location)) if location else self._path) + question_mark + query
        fragment = unquote(fragment)
        if target == self._path and fragment:
            return "anchor", target, fragment
        extension = location.rpartition(".")[2].lower()
        return ("media" if extension in _MEDIA_EXTENSIONS else "internal"), target, fragment


def _join_path(folder: str, location: str) -> str:
    parts = [part for part in folder.split("/") if part]
    for part in location.lstrip("/").split("/"):
        if part == "..":
            del parts[-1:]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)
