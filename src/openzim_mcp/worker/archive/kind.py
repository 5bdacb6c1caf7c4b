"""The kind of an archive, such as a dictionary or a book, known from its tags, name, title and scraper."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from openzim_mcp.calls.archive import ArchiveKind
    from openzim_mcp.worker.zim import Archive


class _Row(NamedTuple):
    kind: ArchiveKind
    pattern: re.Pattern[str]


def _row(kind: ArchiveKind, words: str) -> _Row:
    return _Row(kind, re.compile(rf"(?<![^\W\d_])(?:{words})(?![^\W\d_])"))


# The first row that fits the category, then the other tags, then name and title, then the scraper.
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
    _row("site", "zimit|warc2zim"),
)
_MAX_CACHED_KINDS = 256
_CATEGORY = re.compile(r"_category:(\w+)")


def archive_kind(archive: Archive) -> ArchiveKind:
    """Return the kind of an archive; `other` if nothing tells it."""
    names = f"{archive.metadata_text('Name')} {archive.metadata_text('Title')} {archive.name}"
    return _find_kind(archive.metadata_text("Tags").lower(), names.lower(), archive.metadata_text("Scraper").lower())


@lru_cache(_MAX_CACHED_KINDS)  # by texts: a cached archive would never be closed
def _find_kind(tags: str, names: str, scraper: str) -> ArchiveKind:
    category = _CATEGORY.search(tags)
    for text in (category[1] if category else "", tags, names, scraper):
        for row in _KINDS:
            if row.pattern.search(text.replace("_", " ")) or row.pattern.search(text):
                return row.kind
    return "other"
