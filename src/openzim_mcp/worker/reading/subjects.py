"""What an entry is about, and which entry of another archive is about the same."""

from __future__ import annotations

import contextlib
import sqlite3
from typing import TYPE_CHECKING

from openzim_mcp import errors, page_index
from openzim_mcp.calls.reading import LocatedEntry, LocateEntry
from openzim_mcp.calls.subjects import SameSubject, Subject, TranslatedEntry
from openzim_mcp.languages import two_letter_code, two_letter_codes
from openzim_mcp.text import find_words
from openzim_mcp.worker.document import Coordinates
from openzim_mcp.worker.geometry import distance_m
from openzim_mcp.worker.readers import is_page
from openzim_mcp.worker.readers.html import disambiguation
from openzim_mcp.worker.readers.html.links import LinkResolver
from openzim_mcp.worker.readers.html.tree import parse_tree
from openzim_mcp.worker.readers.subject import extract_coordinates, extract_item, extract_translations
from openzim_mcp.worker.reading import resolve
from openzim_mcp.worker.search import subject_index

if TYPE_CHECKING:
    from openzim_mcp.calls.subjects import FindSame, ReadSubject
    from openzim_mcp.worker.readers.subject import Translation
    from openzim_mcp.worker.zim import Archive, Item

_SAME_PLACE_M = 30_000
"""Articles of the same title that are further apart are about different places."""
_MIN_NAME_WORDS = 2
_MAX_TRANSLATIONS = 60


def read_subject(archive: Archive, call: ReadSubject) -> Subject:
    """Return what an entry is about."""
    return _subject_of(archive, resolve.require_entry(archive, call.path))


def _subject_of(archive: Archive, item: Item) -> Subject:
    raw = archive.read_content(item.path) if is_page(item.mime_type) else b""
    place = extract_coordinates(raw)
    return Subject(
        item.path,
        item.title,
        archive.file_name,
        languages=archive.languages,
        item=extract_item(raw),
        coordinates=(place.latitude, place.longitude) if place else None,
        translations=_find_translations(archive, item, extract_translations(raw)),
        has_title=bool(raw) and item.path != archive.main_path and not _lists_meanings(raw),
    )


def _lists_meanings(raw: bytes) -> bool:
    tree = parse_tree(raw) if disambiguation.MARK in raw else None
    return tree is not None and tree.css_first(disambiguation.SELECTOR) is not None


def _find_translations(archive: Archive, item: Item, translations: list[Translation]) -> list[TranslatedEntry]:
    """Return the translations of a page that are in the same archive, or have a URL by which another may have them."""
    links = LinkResolver(item.path)
    found = []
    for code, href in translations[:_MAX_TRANSLATIONS]:
        target = links.resolve(href)
        if target is None:
            continue
        entry = None if target[0] == "external" else resolve.find_link_target(archive, target[1])
        if target[0] == "external":
            found.append(TranslatedEntry(code, url=target[1]))
        elif entry is not None and entry.path != item.path:
            found.append(TranslatedEntry(code, path=entry.path, title=entry.title))
    return found


def find_same(archive: Archive, call: FindSame) -> SameSubject:
    """Return the entry about a subject: by its item of Wikidata, as a translation, or by its title."""
    subject = call.subject
    state = page_index.read_state(archive.identity) if subject.item is not None else None
    entry = _find_item(archive, subject.item) if subject.item is not None else None
    language = ""
    if entry is None:
        entry, language = _find_translation(archive, subject)
    if entry is None and call.by_title and subject.has_title:
        entry = _find_title(archive, subject)
    is_partial = entry is None and subject.item is not None and not (state and state.is_complete)
    codes = archive.languages.split(",")
    language = language or (two_letter_code(codes[0]) if len(codes) == 1 else "")
    return SameSubject(entry, language if entry else "", is_partial)


def _find_item(archive: Archive, item: int) -> LocatedEntry | None:
    """Return the entry about an item of Wikidata; None if there is none, or several."""
    numbers: list[int] = []
    with contextlib.suppress(sqlite3.Error, TypeError), page_index.opened(archive.identity) as database:
        numbers = subject_index.entries_of_item(database, item) if database is not None else []
    with contextlib.suppress(errors.OpenZimMcpArchiveError):
        entry = archive.find_entry(archive.path_by_id(numbers[0])) if len(numbers) == 1 else None
        return _located(entry) if entry else None
    return None


def _find_translation(archive: Archive, subject: Subject) -> tuple[LocatedEntry | None, str]:
    """Return the entry that a page names as its translation, and the language."""
    codes = two_letter_codes(archive.languages)
    for translation in subject.translations:
        code = two_letter_code(translation.language)
        if translation.url and (not codes or code in codes):
            entry = resolve.locate_entry(archive, LocateEntry(translation.url))
            if entry is not None:
                return entry, code
    return None, ""


def _find_title(archive: Archive, subject: Subject) -> LocatedEntry | None:
    """Return the entry of the same title, unless something tells that it is about something else."""
    with contextlib.suppress(errors.OpenZimMcpArchiveError):
        item = resolve.resolve_entry(archive, subject.title)
        if item is not None and is_page(item.mime_type):
            other = _subject_of(archive, item)
            return _located(item) if other.has_title and _may_be_same(subject, other) else None
    return None


def _may_be_same(subject: Subject, other: Subject) -> bool:
    """Return whether two entries of one title are about the same, as far as they tell.

    In another language a word may mean something else: there it takes a name of several words, or the same place.
    """
    if subject.item is not None and other.item is not None:
        return subject.item == other.item
    if subject.coordinates and other.coordinates:
        return distance_m(Coordinates(*subject.coordinates), Coordinates(*other.coordinates)) <= _SAME_PLACE_M
    return _share_language(subject, other) or _is_name(subject.title)


def _share_language(subject: Subject, other: Subject) -> bool:
    first, second = (set(two_letter_codes(row.languages)) for row in (subject, other))
    return bool(first & second) or not first or not second


def _is_name(title: str) -> bool:
    """Return whether a title is that of a person, a work or the like: several words, the last one capitalized too."""
    words = find_words(title.partition(" (")[0])
    return len(words) >= _MIN_NAME_WORDS and words[0][:1].isupper() and words[-1][:1].isupper()


def _located(item: Item) -> LocatedEntry:
    return LocatedEntry(item.path, item.title, item.size, item.mime_type)
