"""The catalog of a library: which archives there are, where to download them, how large they are."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from openzim_mcp import errors, files
from openzim_mcp.catalog import xml
from openzim_mcp.catalog.client import display_host, file_name_from_url, safe_url
from openzim_mcp.languages import three_letter_code
from openzim_mcp.library.names import split_date
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openzim_mcp.catalog.client import Client

KIWIX_LIBRARY_URL = "https://opds.library.kiwix.org/catalog/v2"
MAX_AGE_SECONDS = 3600
_ENTRIES_PATH = "/catalog/v2/entries"
_ENTRIES_PER_PAGE = 1000
_MAX_PAGES = 100
_MAX_DOCUMENT_BYTES = 64 << 20
_DOCUMENT_START_CHARS = 4000
_UUID_HEX_CHARS = 32
_KIB = 1024
_ACQUISITION = "http://opds-spec.org/acquisition"
_CATEGORY_TAG = "_category:"
_HTTP_URL = re.compile(r"https?://", re.IGNORECASE)
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TOTAL_RESULTS = re.compile(r"<(?:\w+:)?totalResults>\s*(\d{1,9})\s*<")
_CATALOG_ROOT = re.compile(r"<(feed|library)[\s>]")
_LIBRARY_ROOT = re.compile(r"<library[\s>]")
_NOT_HEX = re.compile(r"[^0-9a-f]")
_LIBRARY_HINT = "Give the URL of a kiwix-serve or of a catalog (http://…/catalog/v2), or the path of a library.xml."


@dataclass(frozen=True)
class CatalogEntry:
    """An archive in a catalog; its texts are safe to show.

    `size` is rounded to KiB. Without a `url` the archive is listed but cannot be downloaded.
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
    def file_name(self) -> str | None:
        """The name of its file on disk."""
        return file_name_from_url(self.url) if self.url else None

    @functools.cached_property
    def base_name(self) -> str:
        """The name of its file without date and extension, which all its editions share."""
        if self.file_name:
            return split_date(self.file_name.removesuffix(".zim"))[0]
        return "_".join(filter(None, (self.name, self.flavour)))

    @functools.cached_property
    def edition(self) -> str:
        """The date in the name of its file, or the day it was made."""
        date = split_date(self.file_name.removesuffix(".zim"))[1] if self.file_name else ""
        return date or self.date


@dataclass(frozen=True)
class Catalog:
    """The archives of a library, as of `fetched_at`.

    `stale_reason` is set if the catalog is older than requested because the library cannot be reached.
    """

    library: str
    entries: tuple[CatalogEntry, ...]
    fetched_at: float
    unreadable_count: int = 0
    stale_reason: str | None = None

    @property
    def age_seconds(self) -> float:
        """Seconds since the catalog was fetched."""
        return max(0.0, time.time() - self.fetched_at)


def load_catalog(
    client: Client, library: str = KIWIX_LIBRARY_URL, *, max_age_seconds: float = MAX_AGE_SECONDS
) -> Catalog:
    """Return the catalog of a library, which is a URL or the path of a `library.xml`.

    A catalog from the cache is used if it is younger than `max_age_seconds`, or if the library cannot be reached.
    """
    if not _HTTP_URL.match(library):
        return _load_file(library)
    if not safe_url(library):
        raise errors.InvalidCatalog(f"{safe_line(library, 200)!r} is not a URL.", hint=_LIBRARY_HINT)
    cached = _load_from_cache(library)
    if cached and cached.age_seconds < max_age_seconds:
        return cached
    try:
        catalog = _download_catalog(client, library)
    except errors.NetworkError as error:
        if cached is None:
            raise
        return replace(cached, stale_reason=error.message)
    _save_to_cache(catalog)
    return catalog


def parse_entries(text: str, base_url: str) -> tuple[list[CatalogEntry], int]:
    """Return the entries of an OPDS feed or a `library.xml`, and how many could not be parsed."""
    is_library_xml = _LIBRARY_ROOT.search(text[:_DOCUMENT_START_CHARS])
    element_name, make_entry = ("book", _entry_from_book) if is_library_xml else ("entry", _entry_from_opds)
    entries: list[CatalogEntry] = []
    unreadable_count = 0
    for source in xml.split_elements(text, element_name):
        try:
            entries.append(make_entry(xml.parse_element(source), base_url))
        except xml.MalformedXml:
            unreadable_count += 1
    return [entry for entry in entries if entry.name or entry.title], unreadable_count


def _entry_from_opds(element: xml.Element, base_url: str) -> CatalogEntry:
    links = [link.attributes for link in element.children_by_name("link")]
    download_link = next((link for link in links if link.get("rel", "").startswith(_ACQUISITION)), {})
    return CatalogEntry(
        id=_normalize_uuid(element.child_text("id")),
        name=safe_line(element.child_text("name"), 200),
        title=safe_line(element.child_text("title"), 200),
        summary=safe_line(element.child_text("summary", "content"), 400),
        languages=_language_codes(element.child_text("language", "dc:language")),
        category=safe_line(element.child_text("category"), 50),
        flavour=safe_line(element.child_text("flavour"), 50),
        date=_date_part(element.child_text("dc:issued", "updated")),
        size=xml.parse_integer(download_link.get("length", "")),
        articles=xml.parse_integer(element.child_text("articleCount")),
        url=safe_url(download_link.get("href", ""), base_url),
    )


def _entry_from_book(element: xml.Element, base_url: str) -> CatalogEntry:
    """Return the entry of a `<book>` in a `library.xml`."""
    attributes = element.attributes
    tags = attributes.get("tags", "").split(";")
    category = next((tag.removeprefix(_CATEGORY_TAG) for tag in tags if tag.startswith(_CATEGORY_TAG)), "")
    size_kib = xml.parse_integer(attributes.get("size", ""))
    url = attributes.get("url")
    return CatalogEntry(
        id=_normalize_uuid(attributes.get("id", "")),
        name=safe_line(attributes.get("name", ""), 200),
        title=safe_line(attributes.get("title", ""), 200),
        summary=safe_line(attributes.get("description", ""), 400),
        languages=_language_codes(attributes.get("language", "")),
        category=safe_line(attributes.get("category", "") or category, 50),
        flavour=safe_line(attributes.get("flavour", ""), 50),
        date=_date_part(attributes.get("date", "")),
        size=None if size_kib is None else size_kib * _KIB,
        articles=xml.parse_integer(attributes.get("articleCount", "")),
        url=safe_url(url, base_url) if url else None,
    )


def _normalize_uuid(text: str) -> str:
    """Return a UUID as `zimfile` reads it from a header: hex digits only."""
    return _NOT_HEX.sub("", text.lower().removeprefix("urn:uuid:"))[:_UUID_HEX_CHARS]


def _language_codes(text: str) -> tuple[str, ...]:
    codes = (three_letter_code(code) for code in safe_line(text, 400).split(",") if code.strip())
    return tuple(dict.fromkeys(codes))


def _date_part(text: str) -> str:
    match = _ISO_DATE.match(text)
    return match[0] if match else ""


def entries_url(library: str) -> str:
    """Return the URL of a library's entries; the library may be a server, its catalog, or a URL ending in `.xml`."""
    url = library.split("#", maxsplit=1)[0].rstrip("/")
    url = url.removesuffix("/root.xml").removesuffix("/entries")
    if url.endswith(".xml") or "?" in url:
        return url
    return url + ("/entries" if url.endswith("/catalog/v2") else _ENTRIES_PATH)


def _download_catalog(client: Client, library: str) -> Catalog:
    entries: dict[str, CatalogEntry] = {}
    unreadable_count = 0
    for text in _download_pages(client, entries_url(library)):
        page_entries, page_unreadable = parse_entries(text, entries_url(library))
        unreadable_count += page_unreadable
        count_before = len(entries)
        entries |= {entry.id or f"{entry.base_name}/{entry.date}": entry for entry in page_entries}
        if len(entries) == count_before:
            break
    if unreadable_count and not entries:
        raise errors.InvalidCatalog(f"None of the {unreadable_count} entries of {display_host(library)} can be read.")
    return Catalog(library, tuple(entries.values()), time.time(), unreadable_count)


def _download_pages(client: Client, url: str) -> Iterator[str]:
    """Yield the pages of a feed, or one `library.xml`."""
    if url.endswith(".xml") or "?" in url:
        yield _download_page(client, url)
        return
    for page in range(_MAX_PAGES):
        text = _download_page(client, f"{url}?start={page * _ENTRIES_PER_PAGE}&count={_ENTRIES_PER_PAGE}")
        yield text
        total = _TOTAL_RESULTS.search(text)
        if total is None or (page + 1) * _ENTRIES_PER_PAGE >= int(total[1]):
            return


def _download_page(client: Client, url: str) -> str:
    content = client.get_document(url, _MAX_DOCUMENT_BYTES)
    if content is None:
        raise errors.InvalidCatalog(f"{display_host(url)} has no catalog at this URL.", hint=_LIBRARY_HINT)
    text = xml.decode_document(content)
    if not _CATALOG_ROOT.search(text[:_DOCUMENT_START_CHARS]):
        raise errors.InvalidCatalog(f"The response of {display_host(url)} is not a catalog.", hint=_LIBRARY_HINT)
    return text


def _load_file(path: str) -> Catalog:
    try:
        with open(path, "rb") as file:
            text = xml.decode_document(file.read(_MAX_DOCUMENT_BYTES))
    except OSError as error:
        raise errors.InvalidCatalog(
            f"The library {safe_line(path, 200)!r} cannot be read: {error.strerror}.", hint=_LIBRARY_HINT
        ) from None
    if not _CATALOG_ROOT.search(text[:_DOCUMENT_START_CHARS]):
        raise errors.InvalidCatalog(f"{safe_line(os.path.basename(path), 200)!r} is not a library.xml.")
    entries, unreadable_count = parse_entries(text, "")
    return Catalog(path, tuple(entries), os.path.getmtime(path), unreadable_count)


def _cache_path(library: str) -> str:
    key = hashlib.sha256(library.encode()).hexdigest()[:16]
    return os.path.join(files.cache_directory(), f"catalog-{key}.json")


def _save_to_cache(catalog: Catalog) -> None:
    with contextlib.suppress(OSError):
        files.write_atomic(_cache_path(catalog.library), msgspec.json.encode(catalog))


def _load_from_cache(library: str) -> Catalog | None:
    try:
        with open(_cache_path(library), "rb") as file:
            catalog = msgspec.json.decode(file.read(), type=Catalog)
    except (OSError, ValueError, msgspec.MsgspecError):
        return None
    return catalog if catalog.library == library else None
