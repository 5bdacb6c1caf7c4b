"""The entries of an archive: look-ups by number, path and title, and their content."""

from __future__ import annotations

import bisect
import contextlib
import struct
from functools import cached_property
from typing import TYPE_CHECKING

from openzim_mcp import errors
from openzim_mcp.calls.archive import EntryRow
from openzim_mcp.worker.zim.entry import (
    MAX_REDIRECTS,
    Item,
    Page,
    follow_redirects,
    get_entry,
    get_number,
    make_match,
    read_mime_type,
    read_redirects,
    read_title,
)
from openzim_mcp.worker.zim.open_file import OpenFile

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from libzim.reader import Entry as ZimEntry

    from openzim_mcp.worker.zim.entry import TitleMatch

_MAX_RANDOM_TRIES = 50
_BESIDE_CONTENT = ("M", "W", "X")
"""The namespaces of archives since 2021 that hold metadata, well-known entries and indexes."""
_ARTICLE_LIST = "listing/titleOrdered/v1"


class Entries(OpenFile):
    """A file whose entries can be read, by number, path or title."""

    @property
    def main_path(self) -> str | None:
        """The path of the main page, redirects followed; None if there is none, or a redirect without target."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            if self._zim.has_main_entry:
                return str(follow_redirects(self._zim.main_entry).path)
        return None

    def random_path(self) -> str:
        """Return the path of a random article; an entry that leads nowhere is left for another."""
        for _ in range(_MAX_RANDOM_TRIES):
            with self._translated_errors():
                entry = self._zim.get_random_entry()
            with contextlib.suppress(RuntimeError, ValueError, LookupError):
                return str(follow_redirects(entry).path)
        raise errors.RedirectLoop(
            f"Random entries of {self.name!r} redirect in a circle, or more than {MAX_REDIRECTS} times.",
            hint="Search for an article, or browse.",
        )

    def front_articles(self) -> frozenset[int]:
        """Return the numbers of the entries that the archive lists as its articles; empty if it has no such list."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            for number in self.namespaces.get("X", range(0)):
                entry = get_entry(self._zim, number)
                if entry.path == _ARTICLE_LIST and not entry.is_redirect:
                    content = bytes(entry.get_item().content)
                    return frozenset(number for (number,) in struct.iter_unpack("<I", content))
        return frozenset()

    @cached_property
    def article_titles(self) -> list[tuple[str, str]]:
        """Path and title of every entry of the content that is not a redirect."""
        return list(self._read_article_titles())

    def _read_article_titles(self) -> Iterator[tuple[str, str]]:
        for number in self.content:
            with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
                entry = get_entry(self._zim, number)
                if not entry.is_redirect:
                    yield str(entry.path), read_title(entry)

    def path_by_id(self, number: int) -> str:
        """Return the path of the entry with that number."""
        with self._translated_errors():
            return str(get_entry(self._zim, number).path)

    def title_by_id(self, number: int) -> str:
        """Return the title of the entry with that number."""
        with self._translated_errors():
            return str(get_entry(self._zim, number).title)

    def match_by_id(self, number: int) -> TitleMatch | None:
        """Return the entry with that number, and its target; None if it has none."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            return make_match(get_entry(self._zim, number))
        return None

    def entry_by_id(self, number: int) -> EntryRow:
        """Return the entry with that number; if it is damaged, `error` says so."""
        path = title = f"#{number}"
        try:
            with self._translated_errors():
                entry = get_entry(self._zim, number)
                path, title = self._full_path(entry), read_title(entry)
                if not entry.is_redirect:
                    return EntryRow(path, title, entry.get_item().mimetype)
                target = follow_redirects(entry)
                return EntryRow(path, title, target.get_item().mimetype, redirect_to=target.path)
        except errors.ArchiveUnusable:
            return EntryRow(path, title, None, error="this entry is damaged, or redirects in a circle or to nothing")

    def find_entry(self, path: str) -> Item | None:
        """Return the item at exactly that path, redirects followed, or None."""
        with self._translated_errors():
            entry = self._entry_at(path)
            return self._item(entry) if entry else None

    def find_entries(self, paths: Iterable[str]) -> list[Item]:
        """Return the items at some paths, without those that cannot be read."""
        items = []
        for path in paths:
            with contextlib.suppress(errors.OpenZimMcpArchiveError):
                item = self.find_entry(path)
                if item:
                    items.append(item)
        return items

    def find_by_title(self, title: str) -> Item | None:
        """Return the item with exactly that title, redirects followed, or None."""
        with self._translated_errors():
            if not self._zim.has_entry_by_title(title):
                return None
            return self._item(self._zim.get_entry_by_title(title))

    def look_up(self, *, title: str | None = None, path: str | None = None) -> TitleMatch | None:
        """Return the entry with exactly that title or path, and its target; None also if it has no target."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            if title is not None:
                entry = self._zim.get_entry_by_title(title) if self._zim.has_entry_by_title(title) else None
            else:
                entry = self._zim.get_entry_by_path(path) if self._zim.has_entry_by_path(path) else None
            if entry is not None:
                return make_match(entry)
        return None

    def _entry_at(self, path: str) -> ZimEntry | None:
        """Return the entry at a path; `M/Title` and the like are beside the content, where libzim finds no paths."""
        if self._zim.has_entry_by_path(path):
            return self._zim.get_entry_by_path(path)
        letter, _, name = path.partition("/")
        ids = self.namespaces.get(letter) if self.has_new_scheme and name and letter in _BESIDE_CONTENT else None
        if not ids:
            return None
        number = ids[0] + bisect.bisect_left(ids, name.encode(), key=lambda number: self.path_by_id(number).encode())
        return get_entry(self._zim, number) if number in ids and self.path_by_id(number) == name else None

    def _full_path(self, entry: ZimEntry) -> str:
        """Return the path by which an entry is read: beside the content, with its namespace."""
        number = get_number(entry)
        letters = _BESIDE_CONTENT if self.has_new_scheme else ()
        letter = next((letter for letter in letters if number in self.namespaces.get(letter, ())), None)
        return f"{letter}/{entry.path}" if letter else str(entry.path)

    def _item(self, entry: ZimEntry) -> Item:
        try:
            target = follow_redirects(entry)
        except ValueError as error:
            raise errors.RedirectLoop(
                f"{entry.path!r} in {self.name!r} redirects in a circle, or more than {MAX_REDIRECTS} times.",
                hint="The archive was made so; search for the article by another title.",
            ) from error
        return Item(self._full_path(target), read_title(target), read_mime_type(target), target.get_item().size)

    def read_content(self, path: str, start: int = 0, stop: int | None = None) -> bytes:
        """Return the content at the path of an `Item`, or a range of it."""
        with self._translated_errors():
            entry = self._entry_at(path) or self._zim.get_entry_by_path(path)
            return bytes(entry.get_item().content[start:stop])

    def read_page(self, number: int, max_bytes: int) -> Page | None:
        """Return the entry with that number and its content; None if it is damaged, a redirect, or larger."""
        with contextlib.suppress(errors.OpenZimMcpArchiveError), self._translated_errors():
            entry = get_entry(self._zim, number)
            if not entry.is_redirect and (item := entry.get_item()).size <= max_bytes:
                return Page(str(entry.path), bytes(item.content))
        return None

    def read_if_present(self, path: str) -> bytes | None:
        """Return the content at a path, redirects followed; None if there is no entry."""
        item = self.find_entry(path)
        return self.read_content(item.path) if item else None

    def number_of(self, path: str) -> int | None:
        """Return the number of the entry at the path of an `Item`; None if there is none."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            entry = self._entry_at(path)
            return None if entry is None else get_number(entry)
        return None

    def target_number(self, path: str) -> int | None:
        """Return the number of the entry at a path, redirects followed; None if there is none."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            if self._zim.has_entry_by_path(path):
                return get_number(follow_redirects(self._zim.get_entry_by_path(path)))
        return None

    def title_of(self, path: str) -> str:
        """Return the title of the entry at a path."""
        with self._translated_errors():
            return str(self._zim.get_entry_by_path(path).title)

    def mime_type_of(self, path: str) -> str:
        """Return the type of the content at a path; empty if it cannot be read."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            return read_mime_type(follow_redirects(self._zim.get_entry_by_path(path)))
        return ""

    def redirects(self) -> Iterator[tuple[int, int]]:
        """Yield the numbers of all redirects and of the entries that they lead to; damaged ones are left out."""
        return read_redirects(self._zim)
