"""One entry of libzim, and the values that are made of it."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from libzim.reader import Archive as ZimArchive
    from libzim.reader import Entry as ZimEntry

MAX_REDIRECTS = 10
MAX_TITLE_CHARS = 500
_MAX_TYPE_CHARS = 100


@dataclass(frozen=True)
class Item:
    """The path, title, type and size of an entry, without its content."""

    path: str
    title: str
    mime_type: str
    size: int


class Page(NamedTuple):
    """A page with its content."""

    path: str
    content: bytes


@dataclass(frozen=True)
class TitleMatch:
    """The title of an entry, and the path and title of its target: a redirect's, else its own."""

    title: str
    target: str
    target_title: str
    is_redirect: bool


def get_entry(zim: ZimArchive, number: int) -> ZimEntry:
    """Return the entry with that number."""
    return zim._get_entry_by_id(number)  # noqa: SLF001  libzim has no other way


def get_number(entry: ZimEntry) -> int:
    """Return the number of an entry."""
    return int(entry._index)  # noqa: SLF001  libzim has no other way


def follow_redirects(entry: ZimEntry) -> ZimEntry:
    """Return the entry that redirects lead to, or raise `ValueError`; libzim itself would follow a loop for ever."""
    for _ in range(MAX_REDIRECTS):
        if not entry.is_redirect:
            return entry
        entry = entry.get_redirect_entry()
    raise ValueError("redirects in a circle, or more than ten times")


def read_title(entry: ZimEntry) -> str:
    """Return the title of an entry, safe to show."""
    return safe_line(entry.title, MAX_TITLE_CHARS)


def read_mime_type(entry: ZimEntry) -> str:
    """Return the type of an entry that is not a redirect, without parameters."""
    return safe_line(str(entry.get_item().mimetype).partition(";")[0].lower(), _MAX_TYPE_CHARS)


def make_match(entry: ZimEntry) -> TitleMatch:
    """Return an entry and its target."""
    target = follow_redirects(entry)
    return TitleMatch(read_title(entry), target.path, read_title(target), bool(entry.is_redirect))


def read_redirects(zim: ZimArchive) -> Iterator[tuple[int, int]]:
    """Yield the numbers of all redirects and of the entries that they lead to; damaged ones are left out."""
    for number in range(zim.all_entry_count):
        with contextlib.suppress(RuntimeError, ValueError, LookupError):
            entry = get_entry(zim, number)
            if entry.is_redirect:
                yield number, get_number(entry.get_redirect_entry())
