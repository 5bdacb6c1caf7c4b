"""Where a link leads: from an href on a page to a path in the archive."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

if TYPE_CHECKING:
    from openzim_mcp.worker.document import LinkKind

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*):")
_WEB = frozenset({"http", "https", "ftp", "geo"})
_NOT_NAVIGABLE = frozenset({"javascript", "mailto", "tel", "data", "blob", "vbscript", "about", "sms", "irc"})
_MEDIA = frozenset(
    "png jpg jpeg gif svg webp avif bmp tif tiff ico mp3 ogg oga ogv opus wav flac mp4 webm mov m4a pdf epub djvu "
    "zip".split()
)
Target = tuple["LinkKind", str, str]


class Resolver:
    """Resolves the hrefs of one page, each once."""

    def __init__(self, path: str, base: str = "") -> None:
        self._path = path
        self._folder = posixpath.dirname(path)
        if base and not _SCHEME.match(base) and not base.startswith("//"):
            start = "" if base.startswith("/") else self._folder
            self._folder = _join(start, unquote(base).rpartition("/")[0])
        self._known: dict[str, Target | None] = {}

    def __call__(self, href: str) -> Target | None:
        """Return kind, target and fragment; None for what leads nowhere in an archive."""
        if href not in self._known:
            self._known[href] = self._resolve(href.strip())
        return self._known[href]

    def _resolve(self, href: str) -> Target | None:
        if not href:
            return None
        if href.startswith("#"):
            return "anchor", self._path, unquote(href[1:])
        if href.startswith("//"):
            return "external", f"https:{href}", ""
        scheme = _SCHEME.match(href)
        name = scheme[1].lower() if scheme else ""
        if name in _WEB:
            return "external", href, ""
        if scheme and (name in _NOT_NAVIGABLE or href.startswith("//", scheme.end())):
            return None
        return self._inside(href)

    def _inside(self, href: str) -> Target:
        address, _, fragment = href.partition("#")
        location, mark, query = address.partition("?")
        start = "" if location.startswith("/") else self._folder
        # A query is part of the path as it stands; only the location is decoded.
        target = (_join(start, unquote(location)) if location else self._path) + mark + query
        fragment = unquote(fragment)
        if target == self._path and fragment:
            return "anchor", target, fragment
        extension = location.rpartition(".")[2].lower()
        return ("media" if extension in _MEDIA else "internal"), target, fragment


def _join(folder: str, location: str) -> str:
    parts = [part for part in folder.split("/") if part]
    for part in location.lstrip("/").split("/"):
        if part == "..":
            del parts[-1:]
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def spellings(target: str) -> list[str]:
    """Return the paths that a resolved link may mean, the likeliest first."""
    without_query = target.partition("?")[0]
    found = [target, unquote(target), without_query, unquote(without_query)]
    return list(dict.fromkeys(path for path in found if path))
