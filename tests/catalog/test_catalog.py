from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from openzim_mcp import errors, files
from openzim_mcp.catalog import catalog
from openzim_mcp.catalog.catalog import CatalogEntry
from openzim_mcp.catalog.client import Client, Timeouts
from openzim_mcp.zimfile import ZimFile
from support.archives import write_zim
from support.kiwix import kiwix_serve, write_library_xml
from support.mirror import Fault, Mirror, serve_mirror

FEED = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:dc="http://purl.org/dc/terms/">
  <link rel="self" href="/catalog/v2/entries?count=3&start=0"/>
  <totalResults>{total}</totalResults>
  {entries}
</feed>"""
ENTRY = """<entry>
    <id>urn:uuid:33f4b8a0-8632-463c-ff33-862a9a6fb219</id>
    <title>Wiki &amp; more\x1b[31m</title>
    <updated>2026-01-05T00:00:00Z</updated>
    <summary>All of\nit</summary>
    <language>eng,fra</language>
    <name>{name}</name>
    <flavour>maxi</flavour>
    <category>wikipedia</category>
    <tags>a;_category:wikipedia</tags>
    <articleCount>645</articleCount>
    <author><name>Nobody</name></author>
    <link type="text/html" href="/wiki" />
    <link rel="http://opds-spec.org/acquisition/open-access" type="application/x-zim"
          href="https://lb.example/zim/{name}_maxi_2026-01.zim.meta4" length="60416" />
    <dc:issued>2026-01-04T00:00:00Z</dc:issued>
  </entry>"""
WIKI = CatalogEntry(
    id="33f4b8a08632463cff33862a9a6fb219",
    name="wiki_en_all",
    title="Wiki & more[31m",
    summary="All of it",
    languages=("eng", "fra"),
    category="wikipedia",
    flavour="maxi",
    date="2026-01-04",
    size=60416,
    articles=645,
    url="https://lb.example/zim/wiki_en_all_maxi_2026-01.zim.meta4",
)


def feed(*entries: str, total: int | None = None) -> str:
    return FEED.format(entries="\n".join(entries), total=len(entries) if total is None else total)


def opds_entry(number: int) -> str:
    unique = ENTRY.replace("33f4b8a0", f"{number:08x}")
    return unique.format(name=f"wiki{number}_en_all")


@pytest.fixture(autouse=True)
def _isolated_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def client() -> Iterator[Client]:
    with Client(Timeouts(connect_seconds=1, read_seconds=1)) as client:
        yield client


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serve_mirror(Mirror()) as mirror:
        yield mirror


PAGE = "/catalog/v2/entries?start={}&count=1000"


def test_opds_entry_is_parsed() -> None:
    entries, unreadable_count = catalog.parse_entries(feed(ENTRY.format(name="wiki_en_all")), "")

    assert entries == [WIKI]
    assert unreadable_count == 0
    assert (WIKI.file_name, WIKI.base_name, WIKI.edition) == (
        "wiki_en_all_maxi_2026-01.zim",
        "wiki_en_all_maxi",
        "2026-01",
    )


BROKEN = {
    "unclosed element": "<entry><title>Bad</entry>",
    "unquoted value": "<entry><link href=x></entry>",
    "truncated entry": "<entry><title>Bad</title>",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_broken_entry_does_not_affect_others(broken: str) -> None:
    entries, unreadable_count = catalog.parse_entries(feed(opds_entry(1), broken, opds_entry(2)), "")

    assert [entry.name for entry in entries] == ["wiki1_en_all", "wiki2_en_all"]
    assert unreadable_count == 1


@pytest.mark.parametrize(
    "href", ["file:///etc/x.zim", "https://x.example/..%2f..%2fx.zim", "https://x.example/x.exe", ""]
)
def test_entry_with_unsafe_url_has_no_file_name(href: str) -> None:
    text = ENTRY.format(name="wiki_en_all").replace(str(WIKI.url), href)

    ((entry,), _) = catalog.parse_entries(feed(text), "")

    assert entry.file_name is None
    assert entry.base_name == "wiki_en_all_maxi"


BOOKS = """<?xml version="1.0"?><library version="20110515">
  <book id="33f4b8a0-8632-463c-ff33-862a9a6fb219" path="a.zim" title="Wiki &amp; <more>" description="All of it"
    language="eng,fra" name="wiki_en_all" flavour="maxi" tags="_category:wikipedia;_ftindex:yes" date="2026-01-04"
    articleCount="645" size="59" url="/zim/wiki_en_all_maxi_2026-01.zim.meta4" />
  <book id="x" title="Only here" path="b.zim" />
</library>"""


def test_library_xml_is_parsed(tmp_path: Path, client: Client) -> None:
    (tmp_path / "library.xml").write_text(BOOKS.replace("<more>", "&lt;more>"))

    loaded = catalog.load_catalog(client, str(tmp_path / "library.xml"))

    url = "https://lb.example/zim/wiki_en_all_maxi_2026-01.zim.meta4"
    assert replace(loaded.entries[0], url=url) == replace(WIKI, title="Wiki & <more>")
    assert loaded.entries[1].file_name is None


def test_urls_in_a_library_xml_are_relative_to_it(mirror: Mirror, client: Client) -> None:
    url = mirror.add("/kiwix/library.xml", BOOKS.replace("<more>", "more").encode())

    loaded = catalog.load_catalog(client, url)

    assert loaded.entries[0].url == f"{mirror.url}/zim/wiki_en_all_maxi_2026-01.zim.meta4"


def test_large_catalog_is_downloaded_in_pages(mirror: Mirror, client: Client) -> None:
    mirror.add(PAGE.format(0), feed(*map(opds_entry, range(1000)), total=1500).encode())
    mirror.add(PAGE.format(1000), feed(*map(opds_entry, range(990, 1500)), total=1500).encode())

    loaded = catalog.load_catalog(client, mirror.url)

    assert len(loaded.entries) == 1500


def test_paging_stops_when_a_page_repeats(mirror: Mirror, client: Client) -> None:
    for start in (0, 1000, 2000):
        mirror.add(PAGE.format(start), feed(opds_entry(1), total=10**8).encode())

    assert len(catalog.load_catalog(client, mirror.url).entries) == 1
    assert len(mirror.requests) == 2


@pytest.mark.parametrize(
    ("library", "url"),
    [
        (catalog.KIWIX_LIBRARY_URL, f"{catalog.KIWIX_LIBRARY_URL}/entries"),
        ("http://ship:8080", "http://ship:8080/catalog/v2/entries"),
        ("http://ship/kiwix/", "http://ship/kiwix/catalog/v2/entries"),
        ("http://ship/catalog/v2/root.xml", "http://ship/catalog/v2/entries"),
        ("http://ship/catalog/v2/entries", "http://ship/catalog/v2/entries"),
        ("http://ship/library_zim.xml", "http://ship/library_zim.xml"),
    ],
)
def test_entries_url_accepts_server_catalog_and_file(library: str, url: str) -> None:
    assert catalog.entries_url(library) == url


def test_catalog_is_cached_for_an_hour(mirror: Mirror, client: Client) -> None:
    mirror.add(PAGE.format(0), feed(opds_entry(1)).encode())

    first = catalog.load_catalog(client, mirror.url)
    second = catalog.load_catalog(client, mirror.url)
    catalog.load_catalog(client, mirror.url, max_age_seconds=0)

    assert second == first
    assert len(mirror.requests) == 2


def test_cached_catalog_is_used_when_offline(mirror: Mirror, client: Client) -> None:
    mirror.add(PAGE.format(0), feed(opds_entry(1)).encode())
    catalog.load_catalog(client, mirror.url)
    mirror.faults[PAGE.format(0)] = Fault(status=503)

    loaded = catalog.load_catalog(client, mirror.url, max_age_seconds=0)

    assert len(loaded.entries) == 1
    assert "503" in str(loaded.stale_reason)


DAMAGED_CACHES = [
    b"",
    b"{",
    b"[]",
    b"{}",
    b'{"library": "\xff"}',
    b'{"library": "x", "entries": [1], "fetched_at": 1}',
    b'{"library": "x", "entries": [], "fetched_at": 9e9}',
]


@pytest.mark.parametrize("content", DAMAGED_CACHES)
def test_damaged_cache_is_replaced(mirror: Mirror, client: Client, content: bytes) -> None:
    mirror.add(PAGE.format(0), feed(opds_entry(1)).encode())
    catalog.load_catalog(client, mirror.url)
    (cache_file,) = Path(files.cache_directory()).iterdir()
    cache_file.write_bytes(content)

    assert len(catalog.load_catalog(client, mirror.url).entries) == 1
    assert len(mirror.requests) == 2


def test_catalog_loads_without_a_writable_cache(mirror: Mirror, client: Client, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a directory should be")
    mirror.add(PAGE.format(0), feed(opds_entry(1)).encode())

    assert len(catalog.load_catalog(client, mirror.url).entries) == 1


@pytest.mark.parametrize("content", [None, b"<html>Please log in</html>", b"", b"\xff\xfe\x00"])
def test_other_document_is_not_a_catalog(mirror: Mirror, client: Client, content: bytes | None) -> None:
    if content is not None:
        mirror.add(PAGE.format(0), content)

    with pytest.raises(errors.InvalidCatalog, match=f"127.0.0.1:{mirror.port}"):
        catalog.load_catalog(client, mirror.url)


def test_catalog_without_readable_entries_is_an_error(mirror: Mirror, client: Client) -> None:
    mirror.add(PAGE.format(0), feed("<entry><bad></entry>").encode())

    with pytest.raises(errors.InvalidCatalog, match="None of the 1 entries"):
        catalog.load_catalog(client, mirror.url)


@pytest.mark.parametrize("library", ["nothing.xml", ".", "http://[", "https:///x"])
def test_invalid_library_is_an_error(client: Client, library: str) -> None:
    with pytest.raises(errors.InvalidCatalog):
        catalog.load_catalog(client, library)


def test_kiwix_serve_catalog_is_parsed(tmp_path: Path, client: Client) -> None:
    metadata: dict[str, str | bytes] = {
        "Name": "towns_en_all",
        "Title": 'Towns & "cities" <b>',
        "Description": "Towns",
        "Language": "eng,deu",
        "Flavour": "nopic",
        "Tags": "_category:other;towns",
        "Date": "2026-01-04",
    }
    archive = write_zim(tmp_path / "towns_en_all_nopic_2026-01.zim", {"A": "<p>Town</p>"}, metadata=metadata)
    (tmp_path / "served").mkdir()
    library = write_library_xml(tmp_path / "served", [archive], "http://127.0.0.1:9/zim")

    with kiwix_serve(library) as url:
        loaded = catalog.load_catalog(client, url)
    from_file = catalog.load_catalog(client, str(library))

    expected = CatalogEntry(
        id=ZimFile([str(archive)]).header().uuid,
        name="towns_en_all",
        title='Towns & "cities" <b>',
        summary="Towns",
        languages=("eng", "deu"),
        category="other",
        flavour="nopic",
        date="2026-01-04",
        size=archive.stat().st_size // 1024 * 1024,
        articles=1,
        url="http://127.0.0.1:9/zim/towns_en_all_nopic_2026-01.zim.meta4",
    )
    assert loaded.entries == (expected,)
    assert from_file.entries == (expected,)
