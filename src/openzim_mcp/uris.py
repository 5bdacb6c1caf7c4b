"""The `zim://` URIs of the list of archives, of an archive, of an entry and its text: made and parsed here only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

from openzim_mcp.text import escape_invisible

LIST_URI = "zim://files"
ARCHIVE_TEMPLATE = "zim://{name}"
ENTRY_TEMPLATE = "zim://{name}/entry/{path}"
TEXT_TEMPLATE = "zim://{name}/text/{path}"
_PREFIX = "zim://"
_WEB_URL = re.compile(r"(?:https?:)?//[^/\s]+", re.IGNORECASE)
_ENTRY = "/entry/"
_TEXT = "/text/"
_LIST_NAME = "files"
_SAFE_IN_NAME = "!$&'()*+,;="
_UNSAFE_IN_PATH = frozenset(' %#?"<>\\^`{|}')


@dataclass(frozen=True)
class ZimUri:
    """A parsed URI: of an entry if there is a `path`, else of an archive, or without a name of the list of archives.

    Name and path are as the client wrote them. Clients differ in what they escape, so each may be meant as it is.
    With `is_text` it is the URI of the entry's text.
    """

    name: str | None = None
    path: str | None = None
    is_text: bool = False

    @property
    def name_candidates(self) -> list[str]:
        """The archive names that may be meant, the unescaped one first."""
        return _unescaped_first(self.name or "")

    @property
    def path_candidates(self) -> list[str]:
        """The entry paths that may be meant, the unescaped one first."""
        return _unescaped_first(self.path or "")


def _unescaped_first(text: str) -> list[str]:
    return list(dict.fromkeys([unquote(text), text]))


def is_zim_uri(text: str) -> bool:
    """Return whether a text has the scheme of our URIs."""
    return text[: len(_PREFIX)].lower() == _PREFIX


def is_web_url(text: str) -> bool:
    """Return whether a text is a URL of the web, such as that of a page on the original site."""
    return bool(_WEB_URL.match(text.strip()))


def parse_uri(uri: str) -> ZimUri | None:
    """Return the parts of a URI, or None if it is not one of ours; a path may hold raw slashes, `?` and `#`."""
    if not is_zim_uri(uri):
        return None
    name, separator, rest = uri[len(_PREFIX) :].partition("/")
    for kind in (_ENTRY, _TEXT):
        if (separator + rest).startswith(kind):
            path = (separator + rest)[len(kind) :]
            return ZimUri(name, path, kind == _TEXT) if _is_archive_name(name) and path else None
    if rest.strip("/"):
        return None
    if name.casefold() == _LIST_NAME:
        return ZimUri()
    return ZimUri(name) if _is_archive_name(name) else None


def _is_archive_name(text: str) -> bool:
    return bool(text) and "/" not in unquote(text)


def name_in_uri(name: str) -> str:
    """Return the name of an archive for its URI: one that is called like the list of archives keeps its extension."""
    return f"{name}.zim" if name.casefold() == _LIST_NAME else unambiguous_name(name)


def unambiguous_name(name: str) -> str:
    """Return the name of an archive so that its end is not taken for the extension of another: `x.zim` of x.zim.zim."""
    return f"{name}.zim" if name.casefold().endswith(".zim") else name


def archive_uri(name: str) -> str:
    """Return the URI of an archive."""
    return _PREFIX + quote(name_in_uri(name), safe=_SAFE_IN_NAME)


def entry_uri(name: str, path: str) -> str:
    """Return the URI of an entry; letters of all scripts stay readable in its path."""
    return _PREFIX + quote(unambiguous_name(name), safe=_SAFE_IN_NAME) + _ENTRY + "".join(map(_escape_character, path))


def path_in_text(path: str) -> str:
    """Return a path for a line of text: escaped as in a URI if a part of it could not be seen; it can be read so."""
    return path if escape_invisible(path) == path else "".join(map(_escape_character, path))


def _escape_character(character: str) -> str:
    # What cannot be seen is lost when a person or a model copies the URI.
    is_visible = escape_invisible(character) == character
    return character if is_visible and character not in _UNSAFE_IN_PATH else quote(character, safe="", errors="replace")


def canonical_uri(uri: str) -> str:
    """Return what all ways to write a URI have in common; an archive and its entries have one canonical URI."""
    parsed = parse_uri(uri)
    if parsed is None:
        return uri
    return LIST_URI if parsed.name is None else archive_uri(unquote(parsed.name).removesuffix(".zim").casefold())
