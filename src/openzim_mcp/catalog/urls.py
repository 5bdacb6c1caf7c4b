"""Addresses and file names from strangers: what may be asked for, and what a file may be called."""

from __future__ import annotations

import re
from urllib.parse import unquote, urljoin, urlsplit

_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+@,()=~-]{0,190}\.zim")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)\.", re.IGNORECASE)
_LONGEST = 2000
METALINK = ".meta4"


def checked(url: str, base: str = "") -> str | None:
    """Return an address if it is one of the web, made absolute; None for any other."""
    url = url.strip()
    try:
        absolute = urljoin(base, url) if base else url
        parts = urlsplit(absolute)
        sound = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    printable = absolute.isprintable() and " " not in absolute and len(absolute) <= _LONGEST
    return absolute if sound and printable else None


def file_name(url: str) -> str | None:
    """Return the name that a file of this address gets; None where the address has no safe one."""
    name = unquote(urlsplit(url).path.rpartition("/")[2]).removesuffix(METALINK)
    return name if is_file_name(name) else None


def is_file_name(name: str) -> bool:
    """Return whether a file may be called so: a bare name that ends in `.zim`, on every system."""
    return bool(_FILE.fullmatch(name)) and not _RESERVED.match(name) and ".." not in name
