"""The catalogue of a library: what archives there are, where to get them, how large they are."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import time
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from openzim_mcp import errors, files
from openzim_mcp.catalog import xml
from openzim_mcp.catalog.client import checked, file_name, host
from openzim_mcp.languages import three_letter_code
from openzim_mcp.library.names import split_date
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.catalog.client import Network

KIWIX = "https://opds.library.kiwix.org/catalog/v2"
FRESH_SECONDS = 3600
_ENTRIES = "/catalog/v2/entries"
_PAGE = 1000
_PAGES = 100
_PAGE_BYTES = 64 << 20
_FORMAT = 1
_KIB = 1024
_ACQUISITION = "http://opds-spec.org/acquisition"
_HTTP = re.compile(r"https?://", re.IGNORECASE)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TOTAL = re.compile(r"<(?:\w+:)?totalResults>\s*(\d{1,9})\s*<")
_ADDRESS_HINT = (
    "Give the address of a kiwix-serve or of a catalogue (http://…/catalog/v2), or the path of a library.xml."
)
_NOT_HEX = re.compile(r"[^0-9a-f]")


@dataclass(frozen=True)
class Entry:
    """One archive of a catalogue; its texts are safe to show.

    `size` is exact to a KiB only. Without a `url` it can be seen there and not downloaded.
    """

    id: str
    name: str
    title: str
    summary: str
    languages: tuple[str, ...]
    category: str
    flavour: str
    date: str
    size: int | None
    articles: int | None
    url: str | None

    @functools.cached_property
    def file(self) -> str | None:
        """The name that its file gets."""
        return file_name(self.url) if self.url else None

    @functools.cached_property
    def base(self) -> str:
        """The name of its file without date and extension: what all editions of it have in common."""
        if self.file:
            return split_date(self.file.removesuffix(".zim"))[0]
        return "_".join(filter(None, (self.name, self.flavour)))

    @functools.cached_property
    def edition(self) -> str:
        """The date in the name of its file; the day it was made where there is none."""
        dated = split_date(self.file.removesuffix(".zim"))[1] if self.file else ""
        return dated or self.date


@dataclass(frozen=True)
class Catalogue:
    """All archives of a library, when they were asked for, and why that was not now where it should have been."""

    library: str
    entries: tuple[Entry, ...]
    fetched: float
    unreadable: int = 0
    stale: str | None = None

    @property
    def age(self) -> float:
        """Seconds since it was asked for."""
        return max(0.0, time.time() - self.fetched)


def load(network: Network, library: str = KIWIX, *, fresh_seconds: float = FRESH_SECONDS) -> Catalogue:
    """Return the catalogue of a library: a URL, or the path of a `library.xml`.

    What was asked for less than `fresh_seconds` ago is not asked for again, and what was asked for earlier still
    serves when the library cannot be reached.
    """
    if not _HTTP.match(library):
        return _from_file(library)
    if not checked(library):
        raise errors.InvalidCatalog(f"{safe_line(library, 200)!r} is no address.", hint=_ADDRESS_HINT)
    kept = _remembered(library)
    if kept and kept.age < fresh_seconds:
        return kept
    try:
        found = _ask(network, library)
    except errors.NetworkError as error:
        if kept is None:
            raise
        return replace(kept, stale=error.message)
    _remember(found)
    return found


def parse(text: str, base: str) -> tuple[list[Entry], int]:
    """Return the entries of an OPDS feed or a `library.xml`, and how many could not be read."""
    kind, make = ("book", _book) if re.search(r"<library[\s>]", text[:4000]) else ("entry", _entry)
    entries: list[Entry] = []
    unreadable = 0
    for piece in xml.pieces(text, kind):
        try:
            entries.append(make(xml.read(piece), base))
        except xml.Malformed:
            unreadable += 1
    return [entry for entry in entries if entry.name or entry.title], unreadable


def _entry(element: xml.Element, base: str) -> Entry:
    links = [link.attributes for link in element.all("link")]
    link = next((found for found in links if found.get("rel", "").startswith(_ACQUISITION)), {})
    return Entry(
        id=_identity(element.value("id")),
        name=safe_line(element.value("name"), 200),
        title=safe_line(element.value("title"), 200),
        summary=safe_line(element.value("summary", "content"), 400),
        languages=_languages(element.value("language", "dc:language")),
        category=safe_line(element.value("category"), 50),
        flavour=safe_line(element.value("flavour"), 50),
        date=_date(element.value("dc:issued", "updated")),
        size=_number(link.get("length", "")),
        articles=_number(element.value("articleCount")),
        url=checked(link.get("href", ""), base),
    )


def _book(element: xml.Element, base: str) -> Entry:
    given = element.attributes.get
    category = next((tag[10:] for tag in given("tags", "").split(";") if tag.startswith("_category:")), "")
    kib = _number(given("size", ""))
    return Entry(
        id=_identity(given("id", "")),
        name=safe_line(given("name", ""), 200),
        title=safe_line(given("title", ""), 200),
        summary=safe_line(given("description", ""), 400),
        languages=_languages(given("language", "")),
        category=safe_line(given("category", "") or category, 50),
        flavour=safe_line(given("flavour", ""), 50),
        date=_date(given("date", "")),
        size=None if kib is None else kib * _KIB,
        articles=_number(given("articleCount", "")),
        url=checked(given("url", ""), base) if given("url") else None,
    )


def _identity(text: str) -> str:
    """Return the UUID of an archive as its header has it."""
    return _NOT_HEX.sub("", text.lower().removeprefix("urn:uuid:"))[:32]


def _languages(text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(three_letter_code(part) for part in safe_line(text, 400).split(",") if part.strip()))


def _date(text: str) -> str:
    found = _DATE.match(text)
    return found[0] if found else ""


def _number(text: str) -> int | None:
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None  # noqa: PLR2004


def entries_url(library: str) -> str:
    """Return where the entries of a library are: of a server, its catalogue, or a file that ends in `.xml`."""
    url = library.split("#", maxsplit=1)[0].rstrip("/")
    url = url.removesuffix("/root.xml").removesuffix("/entries")
    if url.endswith(".xml") or "?" in url:
        return url
    return url + ("/entries" if url.endswith("/catalog/v2") else _ENTRIES)


def _ask(network: Network, library: str) -> Catalogue:
    entries: dict[str, Entry] = {}
    unreadable = 0
    for text in _pages(network, entries_url(library)):
        found, broken = parse(text, entries_url(library))
        unreadable += broken
        known = len(entries)
        entries |= {entry.id or f"{entry.base}/{entry.date}": entry for entry in found}
        if len(entries) == known:
            break
    if unreadable and not entries:
        raise errors.InvalidCatalog(f"None of the {unreadable} entries of {host(library)} can be read.")
    return Catalogue(library, tuple(entries.values()), time.time(), unreadable)


def _pages(network: Network, url: str) -> Iterator[str]:
    """Yield the documents of a catalogue: pages of a feed, or one `library.xml`."""
    if url.endswith(".xml") or "?" in url:
        yield _document(network, url)
        return
    for page in range(_PAGES):
        text = _document(network, f"{url}?start={page * _PAGE}&count={_PAGE}")
        yield text
        total = _TOTAL.search(text)
        if total is None or (page + 1) * _PAGE >= int(total[1]):
            return


def _document(network: Network, url: str) -> str:
    raw = network.read(url, _PAGE_BYTES)
    text = xml.decode(raw) if raw is not None else ""
    if not re.search(r"<(feed|library)[\s>]", text[:4000]):
        what = "has nothing at that address" if raw is None else "answers with something else than a catalogue"
        raise errors.InvalidCatalog(
            f"{host(url)} {what}.",
            hint=_ADDRESS_HINT,
        )
    return text


def _from_file(path: str) -> Catalogue:
    try:
        with open(path, "rb") as file:
            text = xml.decode(file.read(_PAGE_BYTES))
    except OSError as error:
        raise errors.InvalidCatalog(
            f"The library {safe_line(path, 200)!r} cannot be read: {error.strerror}.",
            hint=_ADDRESS_HINT,
        ) from None
    if not re.search(r"<(feed|library)[\s>]", text[:4000]):
        raise errors.InvalidCatalog(f"{safe_line(os.path.basename(path), 200)!r} is no library.xml.")
    entries, unreadable = parse(text, "")
    return Catalogue(path, tuple(entries), os.path.getmtime(path), unreadable)


def _kept_at(library: str) -> str:
    key = hashlib.sha256(library.encode()).hexdigest()[:16]
    return os.path.join(files.cache_directory(), f"catalogue-{key}.json")


def _remember(catalogue: Catalogue) -> None:
    """Keep a catalogue for the next time; where that is not possible, it is asked for again."""
    path = _kept_at(catalogue.library)
    with contextlib.suppress(OSError):
        files.write_atomic(path, json.dumps({"format": _FORMAT} | asdict(catalogue)))


def _remembered(library: str) -> Catalogue | None:
    try:
        with open(_kept_at(library), encoding="utf-8") as file:
            kept: dict[str, Any] = json.load(file)
        if kept.pop("format") != _FORMAT or kept["library"] != library:
            return None
        entries = tuple(Entry(**{**entry, "languages": tuple(entry["languages"])}) for entry in kept.pop("entries"))
        return Catalogue(**kept, entries=entries)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
