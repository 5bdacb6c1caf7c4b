"""The `zim://` addresses: of the list of archives, of an archive, of an entry."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

FILES = "zim://files"
ARCHIVE = "zim://{name}"
ENTRY = "zim://{name}/entry/{path}"
_SCHEME = re.compile(r"zim://", re.IGNORECASE)
_LISTING = "files"
_UNESCAPED = "!$&'()*+,;="


@dataclass(frozen=True)
class Address:
    """What a URI names: an archive, an entry of it if there is a `path`, or, if there is neither, the list of them.

    Both are as the client wrote them: clients differ in what they escape.
    """

    name: str | None = None
    path: str | None = None

    @property
    def names(self) -> list[str]:
        """The names that may be meant."""
        return _spellings(self.name or "")

    @property
    def paths(self) -> list[str]:
        """The paths that may be meant."""
        return _spellings(self.path or "")


def _spellings(text: str) -> list[str]:
    return list(dict.fromkeys([unquote(text), text]))


def parse(uri: str) -> Address | None:
    """Return what a URI names, or None if it is none of ours; a path may hold raw slashes, `?` and `#`."""
    if not _SCHEME.match(uri):
        return None
    name, separator, path = uri[len("zim://") :].partition("/entry/")
    if separator:
        return Address(name, path) if _is_name(name) and path else None
    name = name.rstrip("/")
    if name.casefold() == _LISTING:
        return Address()
    return Address(name) if _is_name(name) else None


def _is_name(text: str) -> bool:
    return bool(text) and "/" not in unquote(text)


def short_name(name: str) -> str:
    """Return how an archive is called in an address: one named like the list of archives keeps its extension."""
    return f"{name}.zim" if name.casefold() == _LISTING else name


def of_archive(name: str) -> str:
    """Return the address of an archive."""
    return f"zim://{quote(short_name(name), safe=_UNESCAPED)}"


def key(uri: str) -> str:
    """Return what is the same for all spellings of an address, and for an archive and its entries."""
    address = parse(uri)
    if address is None:
        return uri
    return FILES if address.name is None else of_archive(unquote(address.name).removesuffix(".zim").casefold())
