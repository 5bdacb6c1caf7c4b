"""Titles of a large archive by the range of their paths, where paths are titles: a few reads instead of hundreds.

The title index merges the postings of all titles with a word, and reads a record for each result. Paths are sorted:
those that start alike stand beside each other.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from openzim_mcp.text import edit_distance, title_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openzim_mcp.worker.zim import Archive, TitleMatch

MAX_MATCHES = 12
_MIN_ENTRIES = 100_000
"""In a smaller archive the title index is asked, which also finds words in the middle of titles."""
_MAX_SCANNED_TITLES = 200
"""How many titles beside each other are compared with one that has a typo: a page or two of the file."""


def has_title_ranges(archive: Archive) -> bool:
    """Return whether an archive is large, and its paths are titles."""
    return archive.entry_count >= _MIN_ENTRIES and archive.has_landmarks and archive.paths_are_titles


def titles_in_range(archive: Archive, spellings: Sequence[str], limit: int) -> list[TitleMatch]:
    """Return entries whose titles start with one of some spellings: those that are one, then the most important."""
    matches: dict[str, TitleMatch] = {}
    count = min(limit, MAX_MATCHES)
    for spelling in spellings:
        numbers = archive.entries_by_prefix(spelling.replace(" ", "_"))
        for number in (*numbers[:1], *archive.most_important(numbers[1:], count)):
            match = archive.match_by_id(number)
            if match:
                matches.setdefault(match.target, match)
    return list(matches.values())


def titles_with_typos(archive: Archive, prefixes: Sequence[str], key: str, max_edits: int) -> list[TitleMatch]:
    """Return entries whose titles start with one of some prefixes and are few edits from a key, the closest first."""
    found: dict[str, tuple[int, TitleMatch]] = {}
    for number in _numbers_in_ranges(archive, prefixes):
        edits = edit_distance(key, title_key(archive.name_by_id(number)), max_edits)
        match = archive.match_by_id(number) if edits <= max_edits else None
        if match:
            found.setdefault(match.target, (edits, match))
    return [match for _, match in sorted(found.values(), key=lambda row: row[0])]


def names_in_range(archive: Archive, prefix: str) -> Iterator[str]:
    """Yield the first titles, as their paths say them, that start with a prefix, given in lower case."""
    return map(archive.name_by_id, _numbers_in_ranges(archive, (prefix.capitalize(), prefix)))


def _numbers_in_ranges(archive: Archive, prefixes: Sequence[str]) -> Iterator[int]:
    for prefix in prefixes:
        numbers = archive.entries_by_prefix(prefix.replace(" ", "_"))
        yield from itertools.islice(numbers, _MAX_SCANNED_TITLES)
