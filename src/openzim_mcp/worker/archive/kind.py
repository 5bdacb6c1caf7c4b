"""The kind of an archive, such as a dictionary or a book: by its tags, the types of its entries, name and scraper."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from openzim_mcp.worker.archive.type_counts import count_types

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openzim_mcp.calls.archive import ArchiveKind
    from openzim_mcp.worker.zim import Archive


class _Row(NamedTuple):
    kind: ArchiveKind
    pattern: re.Pattern[str]


def _row(kind: ArchiveKind, words: str) -> _Row:
    return _Row(kind, re.compile(rf"(?<![^\W\d_])(?:{words})(?![^\W\d_])"))


# The first row that fits the category, then the other tags; the types of the entries; then the first row that fits name
# and title, then the scraper.
_KINDS = (
    _row(
        "dictionary",
        "wiktionary|wordnet|dictionary|dictionaries|thesaurus|glossary|wörterbuch|dictionnaire|diccionario|dicionário|"
        "dizionario|woordenboek|словарь|викисловарь|قاموس|词典|辞書",
    ),
    _row("qa", "stack_?exchange|stackexchange|stackoverflow|superuser|serverfault|askubuntu|mathoverflow|sotoki|q&a"),
    _row("video", "ted|youtube|videos|ted2zim|youtube2zim|khan|kolibri|openedx"),
    _row("book", "gutenberg|wikisource|gutenberg2zim|books?|bücher|livres|libros|книги|викитека"),
    _row(
        "documentation",
        "devdocs|devdocs2zim|docs?|documentation|manuals?|handbook|reference|man ?pages?|faq|archlinux|arch ?wiki|"
        "handbuch|ハンドブック|手册|руководство|ifixit",
    ),
    _row(
        "wikipedia",
        r"wikipedia|encyclopa?edia|vikidia|википеди\w*|wikivoyage|wikimed|wikispecies|wikibooks|wikiversity|wikinews|"
        "mwoffliner",
    ),
    _row("map", "maps2zim|streetzim|openstreetmap|osm|maps?"),
    _row("site", "zimit|warc2zim"),
)
_CONTENT_TYPES: tuple[tuple[ArchiveKind, str], ...] = (
    ("map", "application/x-protobuf"),
    ("map", "application/vnd.mapbox-vector-tile"),
    ("video", "video/"),
    ("pdf", "application/pdf"),
    ("book", "application/epub"),
)
_MIN_FILES = 2
_MIN_SHARE_OF_PAGES = 0.4
"""A video has a page of its own, and there are pages that list videos."""
_kinds: WeakKeyDictionary[Archive, ArchiveKind] = WeakKeyDictionary()
_CATEGORY = re.compile(r"_category:(\w+)")


def archive_kind(archive: Archive) -> ArchiveKind:
    """Return the kind of an archive; `other` if nothing tells it."""
    if archive not in _kinds:
        _kinds[archive] = _read_kind(archive)
    return _kinds[archive]


def _read_kind(archive: Archive) -> ArchiveKind:
    names = f"{archive.metadata_text('Name')} {archive.metadata_text('Title')} {archive.name}"
    tags, scraper = archive.metadata_text("Tags").lower(), archive.metadata_text("Scraper").lower()
    return _find_kind(tags, names.lower(), scraper, archive.metadata_text("Counter"))


def _find_kind(tags: str, names: str, scraper: str, counter: str) -> ArchiveKind:
    category = _CATEGORY.search(tags)
    return (
        _kind_by_words(category[1] if category else "", tags)
        or _kind_by_types(count_types(counter))
        or _kind_by_words(names, scraper)
        or "other"
    )


def _kind_by_words(*texts: str) -> ArchiveKind | None:
    for text in texts:
        for row in _KINDS:
            if row.pattern.search(text.replace("_", " ")) or row.pattern.search(text):
                return row.kind
    return None


def _kind_by_types(counts: Mapping[str, int]) -> ArchiveKind | None:
    """Return what most of the content is, if there is more of it than of web pages around it."""
    for kind, start in _CONTENT_TYPES:
        count = sum(number for name, number in counts.items() if name.startswith(start))
        if count >= _MIN_FILES and count >= _MIN_SHARE_OF_PAGES * counts.get("text/html", 0):
            return kind
    return None
