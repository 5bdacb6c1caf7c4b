"""A web page of an archive for a browser, without what would leave the archive.

Its scripts cannot run, as the page is served under a policy that forbids them. What a policy does not forbid is taken
out here: links to other sites, `<base>`, refreshes, and connections that a browser opens ahead of time.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from selectolax.lexbor import LexborHTMLParser

from openzim_mcp.worker.readers.html.nesting import has_endless_formatting, limit_nesting, may_nest_deep
from openzim_mcp.worker.readers.text import to_utf8

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_REMOVED = "script, base, meta[http-equiv], link, iframe, frame, frameset, object, embed, applet, portal, template"
_KEPT_LINKS = frozenset({"stylesheet", "icon"})
_ADDRESSES = {"href": "a, area, link, image, use", "src": "img, source, video, audio, track, input", "poster": "video"}
_URL_WITH_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|[/\\]{2}")
# What browsers take out of an address before they read it.
_IGNORED = re.compile(r"^[\x00-\x20]+|[\t\n\r]")
_DATA_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml)[;,]", re.IGNORECASE)


def rewrite_page(raw: bytes, root: str) -> bytes:
    """Return a page in UTF-8; paths from the root of the site start at `root`, which ends with a slash."""
    raw = to_utf8(raw)
    if may_nest_deep(raw):
        if has_endless_formatting(raw):
            return b"<p>This page cannot be shown as it is: its markup does not end."
        raw = limit_nesting(raw)
    tree = LexborHTMLParser(raw)
    for node in tree.css(_REMOVED):
        if node.tag != "link" or not _is_kept_link(node):
            node.decompose()
    for name, selector in _ADDRESSES.items():
        for node in tree.css(selector):
            _keep_inside(node, name, root)
    return (tree.html or "").encode(errors="replace")


def _is_kept_link(node: LexborNode) -> bool:
    rels = (node.attributes.get("rel") or "").lower().split()
    return bool(rels) and set(rels) <= _KEPT_LINKS | {"alternate", "shortcut"} and not _KEPT_LINKS.isdisjoint(rels)


def _keep_inside(node: LexborNode, name: str, root: str) -> None:
    """Take out an address that leaves the archive; the element stays, as text or without its picture."""
    attributes = node.attrs
    for other in ("ping", "target", "xlink:href", "srcset"):
        if other in node.attributes:
            del attributes[other]
    written = node.attributes.get(name)
    if written is None:
        return
    value = _IGNORED.sub("", written)
    if _URL_WITH_SCHEME.match(value):
        if name != "src" or not _DATA_PICTURE.match(value):
            del attributes[name]
    elif value.startswith("/"):
        attributes[name] = root + value.lstrip("/")
