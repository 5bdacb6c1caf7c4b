"""Calls about what an entry is about, and where else there is something about it."""

from __future__ import annotations

import msgspec

from openzim_mcp.calls import Call, Struct
from openzim_mcp.calls.reading import EntryCall, EntryResult, LocatedEntry


class TranslatedEntry(Struct, frozen=True):
    """A page in another language: an entry of the same archive, or else a URL on its site."""

    language: str
    url: str = ""
    path: str = ""
    title: str = ""


class Subject(EntryResult, frozen=True, kw_only=True):
    """What an entry is about: an item of Wikidata, a place; its language, and its translations.

    `has_title` if its title tells what it is about: not that of a main page, or of a list of meanings.
    """

    languages: str
    item: int | None = None
    coordinates: tuple[float, float] | None = None
    translations: list[TranslatedEntry] = msgspec.field(default_factory=list)
    has_title: bool = True


class ReadSubject(EntryCall[Subject], frozen=True):
    """Read what an entry is about."""

    function = "reading.subjects:read_subject"


class SameSubject(Struct, frozen=True):
    """The entry of an archive about a subject, if there is one, and its language."""

    entry: LocatedEntry | None = None
    language: str = ""
    is_partial: bool = False
    """Whether one may be found later; such a result is not kept."""


class FindSame(Call[SameSubject], frozen=True):
    """Find the entry of another archive about a subject: by its item, a translation of it, or its title."""

    function = "reading.subjects:find_same"
    cached = True
    subject: Subject
    by_title: bool = True
