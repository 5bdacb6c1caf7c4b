"""One open archive: its file and entries, with what finds them fast: sorted paths, importance, indexes."""

from __future__ import annotations

import contextlib
from functools import cached_property, partial
from typing import TYPE_CHECKING, NamedTuple

from openzim_mcp import errors
from openzim_mcp.text import safe_line
from openzim_mcp.worker.importance import MAX_LEVEL, ImportanceLevels
from openzim_mcp.worker.path_blocks import PathBlocks
from openzim_mcp.worker.search.index_blocks import NotReadable
from openzim_mcp.worker.search.index_postings import PostingIndex
from openzim_mcp.worker.sorted_paths import SortedPaths
from openzim_mcp.worker.zim.entries import Entries
from openzim_mcp.worker.zim.entry import MAX_TITLE_CHARS, TitleMatch, get_entry, get_number, read_redirects
from openzim_mcp.worker.zim.search_indexes import SearchIndexes
from openzim_mcp.zimfile import NotAZim, ZimFile, landmark_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from openzim_mcp.zimfile import Identity

_FULLTEXT_INDEX = "X/fulltext/xapian"
_SAMPLED_ENTRIES = 16
_MIN_LANDMARKED_ENTRIES = 40_000


class ClosedArchive(NamedTuple):
    """An archive that need not be open, and what opens it."""

    identity: Identity
    open: Callable[[], Archive]


class OtherTexts(NamedTuple):
    """Texts that are not in the index of an archive: how many there are, and how many of them have a word."""

    size: int
    frequency: Callable[[str], int]


class Archive(Entries):
    """An open archive, addressed by the number or the path of its entries."""

    def __init__(self, name: str, parts: Sequence[str]) -> None:
        super().__init__(name, parts)
        self.other_texts: OtherTexts | None = None
        """What is known of texts that the archive's own index does not have."""
        # These get libzim's archive: with `self`, they would be a cycle, and a closed archive would keep its memory.
        self._indexes = SearchIndexes(self._zim, self._translated_errors)
        self._importance = ImportanceLevels(self.identity, self.entry_count, partial(read_redirects, self._zim))
        with self._translated_errors():
            self._landmarks = self._read_landmarks()
        if self._landmarks:
            with contextlib.suppress(errors.ArchiveUnusable):
                _ = self.paths_are_titles  # read now, beside the landmarks

    @cached_property
    def _sampled_entries(self) -> list[tuple[str, str]]:
        """The paths and titles of a few entries."""
        numbers: Sequence[int] = [number for number in self._landmarks if number in self.content] or self.content
        numbers = numbers[:: max(1, len(numbers) // _SAMPLED_ENTRIES)]
        return [
            (self.path_by_id(number).removeprefix(self.content_prefix), self.title_by_id(number)) for number in numbers
        ]

    @cached_property
    def paths_are_titles(self) -> bool:
        """Whether most paths are titles with underscores, as in a wiki."""
        alike = [path.replace("_", " ") == title for path, title in self._sampled_entries]
        return sum(alike) * 2 > len(alike)

    @cached_property
    def path_separators(self) -> tuple[str, ...]:
        """What separates the words of a path that is a title."""
        return ("_", " ") if any(" " in path for path, _ in self._sampled_entries) else ("_",)

    @cached_property
    def _sorted_paths(self) -> SortedPaths:
        zim = self._zim

        def read_path(number: int) -> str:
            return str(get_entry(zim, number).path)

        if not self._landmarks:
            return SortedPaths(read_path, self.content)
        with contextlib.suppress(NotAZim):
            read_path = PathBlocks(ZimFile(self._parts, keeps_open=True), read_path, self.content_prefix).path
        return SortedPaths(read_path, self.content, self._landmarks)

    def _read_landmarks(self) -> dict[int, str]:
        """Return the paths of some entries of a large archive, by number; none if one of them is damaged."""
        if self.entry_count < _MIN_LANDMARKED_ENTRIES:
            return {}
        with contextlib.suppress(RuntimeError, ValueError, LookupError):
            return {number: str(get_entry(self._zim, number).path) for number in landmark_numbers(self.entry_count)}
        return {}

    @property
    def has_landmarks(self) -> bool:
        """Whether the archive is large, so that some of its paths are kept for bisections."""
        return bool(self._landmarks)

    def prefetch(self, paths: Iterable[str]) -> None:
        """Let the system read the start of some pages of a large archive at once, in few requests, where it can."""
        if not self._landmarks:
            return
        with contextlib.suppress(NotAZim), self._translated_errors():
            paths = [path for path in paths if path]
            file = ZimFile(self._parts)
            header = file.header()
            for path in paths:
                file.prefetch_records(header, self._sorted_paths.range_around(path))
            entries = (self._zim.get_entry_by_path(path) for path in paths if self._zim.has_entry_by_path(path))
            file.prefetch_content(header, [get_number(entry) for entry in entries])

    def name_by_id(self, number: int) -> str:
        """Return what the path of the entry with that number says, as a title."""
        return self.path_by_id(number).removeprefix(self.content_prefix).replace("_", " ")

    def name_of(self, path: str) -> str:
        """Return the title of the entry at a path, for comparing: from the path, where paths are titles."""
        if self.paths_are_titles:
            return path.removeprefix(self.content_prefix).replace("_", " ")
        return self.title_of(path)

    def match_article(self, path: str) -> TitleMatch | None:
        """Return an article that the full-text index has; where paths are titles, nothing is read."""
        if not self.paths_are_titles:
            return self.look_up(path=path)
        title = safe_line(self.name_of(path), MAX_TITLE_CHARS)
        return TitleMatch(title, path, title, is_redirect=False)

    def entries_by_prefix(self, prefix: str, within: range | None = None) -> range:
        """Return the numbers of the entries of the content whose paths start with a prefix, or of some of them."""
        with self._translated_errors():
            return self._sorted_paths.find_prefix(self.content_prefix + prefix, within)

    def importance(self, path: str) -> float:
        """Return how important an article is, 0 to 1, by the links and redirects that lead to it; 0 if not known."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            return self._importance.find(get_number(self._zim.get_entry_by_path(path))) / MAX_LEVEL
        return 0.0

    def most_important(self, numbers: range, count: int) -> list[int]:
        """Return the numbers of the most important of some entries; the first, if nothing is known of them."""
        return self._importance.find_highest(numbers, count)

    @property
    def has_fulltext_index(self) -> bool:
        """Whether full-text search can work."""
        return self._indexes.has_fulltext_index

    @property
    def has_title_index(self) -> bool:
        """Whether suggestions can work."""
        return self._indexes.has_title_index

    def suggest_paths(self, text: str, limit: int) -> list[str]:
        """Return the paths of entries with a title, or a word of it, that starts with the text. Asks an index."""
        return self._indexes.suggest_paths(text, limit)

    def search_paths(self, words: str, limit: int) -> list[str]:
        """Return the paths of articles that contain all the words, the best first. Asks an index."""
        return self._indexes.search_paths(words, limit)

    def probe_indexes(self, words: Sequence[str]) -> None:
        """Search each index for some words, so that a damaged one fails now."""
        self._indexes.probe(words)

    def frequency(self, words: str) -> int:
        """Return how many articles contain the words; for several words it is an estimate. Asks an index.

        If there are texts that this index does not have, they are counted for a single word.
        """
        count = self._indexes.frequency(words)
        return max(count, self.other_texts.frequency(words)) if self.other_texts and " " not in words else count

    @property
    def text_count(self) -> int:
        """How many texts the frequencies of words refer to."""
        articles = self.counts["articles"]
        return max(articles, self.other_texts.size) if self.other_texts else articles

    def read_fulltext_index(self, max_bytes: int) -> bytes:
        """Return the full-text index as it is in the archive; empty if there is none, or a larger one."""
        with contextlib.suppress(errors.ArchiveUnusable), self._translated_errors():
            entry = self._entry_at(_FULLTEXT_INDEX)
            item = entry.get_item() if entry else None
            return bytes(item.content) if item and item.size <= max_bytes else b""
        return b""

    @cached_property
    def posting_index(self) -> PostingIndex | None:
        """The full-text index, to read its lists of articles; None if it is of before 2021 or another format."""
        if not (self.has_fulltext_index and self.has_new_scheme):
            return None
        with contextlib.suppress(errors.ArchiveUnusable, NotAZim, NotReadable), self._translated_errors():
            entry = self._entry_at(_FULLTEXT_INDEX)
            file = ZimFile(self._parts, keeps_open=True)
            place = file.content_range(get_number(entry)) if entry else None
            return PostingIndex(lambda at, size: file.read(place.start + at, size)) if place else None
        return None
