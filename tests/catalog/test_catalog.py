from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import platformdirs
import pytest

from openzim_mcp import errors
from openzim_mcp.catalog import catalog
from openzim_mcp.catalog.catalog import Entry
from openzim_mcp.catalog.client import Network, Patience
from openzim_mcp.zimfile import RawFile
from support.archives import write_zim
from support.kiwix import kiwix_serve, library_xml
from support.mirror import Fault, Mirror, serving

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
WIKI = Entry(
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


def entry(number: int) -> str:
    unique = ENTRY.replace("33f4b8a0", f"{number:08x}")
    return unique.format(name=f"wiki{number}_en_all")


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def network() -> Iterator[Network]:
    with Network(Patience(connect=1, silence=1)) as network:
        yield network


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    with serving(Mirror()) as mirror:
        yield mirror


PAGE = "/catalog/v2/entries?start={}&count=1000"


def test_an_entry_is_read() -> None:
    entries, unreadable = catalog.parse(feed(ENTRY.format(name="wiki_en_all")), "")

    assert entries == [WIKI]
    assert unreadable == 0
    assert (WIKI.file, WIKI.base, WIKI.edition) == ("wiki_en_all_maxi_2026-01.zim", "wiki_en_all_maxi", "2026-01")


BROKEN = {
    "an element that does not end": "<entry><title>Bad</entry>",
    "a value without quotes": "<entry><link href=x></entry>",
    "an entry cut off": "<entry><title>Bad</title>",
}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
def test_a_broken_entry_costs_only_itself(broken: str) -> None:
    entries, unreadable = catalog.parse(feed(entry(1), broken, entry(2)), "")

    assert [found.name for found in entries] == ["wiki1_en_all", "wiki2_en_all"]
    assert unreadable == 1


@pytest.mark.parametrize(
    "href", ["file:///etc/x.zim", "https://x.example/..%2f..%2fx.zim", "https://x.example/x.exe", ""]
)
def test_an_entry_with_a_bad_address_has_no_file(href: str) -> None:
    text = ENTRY.format(name="wiki_en_all").replace(str(WIKI.url), href)

    ((found,), _) = catalog.parse(feed(text), "")

    assert found.file is None
    assert found.base == "wiki_en_all_maxi"


BOOKS = """<?xml version="1.0"?><library version="20110515">
  <book id="33f4b8a0-8632-463c-ff33-862a9a6fb219" path="a.zim" title="Wiki &amp; <more>" description="All of it"
    language="eng,fra" name="wiki_en_all" flavour="maxi" tags="_category:wikipedia;_ftindex:yes" date="2026-01-04"
    articleCount="645" size="59" url="/zim/wiki_en_all_maxi_2026-01.zim.meta4" />
  <book id="x" title="Only here" path="b.zim" />
</library>"""


def test_a_library_xml_is_read(tmp_path: Path, network: Network) -> None:
    (tmp_path / "library.xml").write_text(BOOKS.replace("<more>", "&lt;more>"))

    found = catalog.load(network, str(tmp_path / "library.xml"))

    url = "https://lb.example/zim/wiki_en_all_maxi_2026-01.zim.meta4"
    assert replace(found.entries[0], url=url) == replace(WIKI, title="Wiki & <more>")
    assert found.entries[1].file is None


def test_a_library_xml_on_a_server_is_read_and_its_addresses_are_relative_to_it(
    mirror: Mirror, network: Network
) -> None:
    url = mirror.add("/kiwix/library.xml", BOOKS.replace("<more>", "more").encode())

    found = catalog.load(network, url)

    assert found.entries[0].url == f"{mirror.url}/zim/wiki_en_all_maxi_2026-01.zim.meta4"


def test_a_large_catalogue_comes_in_pages(mirror: Mirror, network: Network) -> None:
    mirror.add(PAGE.format(0), feed(*map(entry, range(1000)), total=1500).encode())
    mirror.add(PAGE.format(1000), feed(*map(entry, range(990, 1500)), total=1500).encode())

    found = catalog.load(network, mirror.url)

    assert len(found.entries) == 1500


def test_a_server_that_repeats_itself_is_asked_no_more(mirror: Mirror, network: Network) -> None:
    for start in (0, 1000, 2000):
        mirror.add(PAGE.format(start), feed(entry(1), total=10**8).encode())

    assert len(catalog.load(network, mirror.url).entries) == 1
    assert len(mirror.asked) == 2


@pytest.mark.parametrize(
    ("library", "url"),
    [
        (catalog.KIWIX, f"{catalog.KIWIX}/entries"),
        ("http://ship:8080", "http://ship:8080/catalog/v2/entries"),
        ("http://ship/kiwix/", "http://ship/kiwix/catalog/v2/entries"),
        ("http://ship/catalog/v2/root.xml", "http://ship/catalog/v2/entries"),
        ("http://ship/catalog/v2/entries", "http://ship/catalog/v2/entries"),
        ("http://ship/library_zim.xml", "http://ship/library_zim.xml"),
    ],
)
def test_a_library_may_be_named_by_its_server_or_its_catalogue(library: str, url: str) -> None:
    assert catalog.entries_url(library) == url


def test_a_catalogue_is_asked_for_once_an_hour(mirror: Mirror, network: Network) -> None:
    mirror.add(PAGE.format(0), feed(entry(1)).encode())

    first = catalog.load(network, mirror.url)
    second = catalog.load(network, mirror.url)
    catalog.load(network, mirror.url, fresh_seconds=0)

    assert second == first
    assert len(mirror.asked) == 2


def test_offline_the_last_catalogue_serves_and_says_so(mirror: Mirror, network: Network) -> None:
    mirror.add(PAGE.format(0), feed(entry(1)).encode())
    catalog.load(network, mirror.url)
    mirror.faults[PAGE.format(0)] = Fault(status=503)

    found = catalog.load(network, mirror.url, fresh_seconds=0)

    assert len(found.entries) == 1
    assert "503" in str(found.stale)


@pytest.mark.parametrize("content", ["", "{", "[]", "{}", json.dumps({"format": 1, "library": "x", "entries": [1]})])
def test_a_damaged_cache_is_made_anew(mirror: Mirror, network: Network, content: str) -> None:
    mirror.add(PAGE.format(0), feed(entry(1)).encode())
    catalog.load(network, mirror.url)
    (kept,) = Path(platformdirs.user_cache_dir("openzim-mcp", appauthor=False)).iterdir()
    kept.write_text(content)

    assert len(catalog.load(network, mirror.url).entries) == 1
    assert len(mirror.asked) == 2


def test_where_nothing_can_be_kept_the_catalogue_still_comes(mirror: Mirror, network: Network, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a directory should be")
    mirror.add(PAGE.format(0), feed(entry(1)).encode())

    assert len(catalog.load(network, mirror.url).entries) == 1


@pytest.mark.parametrize("content", [None, b"<html>Please log in</html>", b"", b"\xff\xfe\x00"])
def test_something_else_than_a_catalogue_is_said(mirror: Mirror, network: Network, content: bytes | None) -> None:
    if content is not None:
        mirror.add(PAGE.format(0), content)

    with pytest.raises(errors.InvalidCatalog, match=f"127.0.0.1:{mirror.port}"):
        catalog.load(network, mirror.url)


def test_a_catalogue_of_which_nothing_can_be_read_is_said(mirror: Mirror, network: Network) -> None:
    mirror.add(PAGE.format(0), feed("<entry><bad></entry>").encode())

    with pytest.raises(errors.InvalidCatalog, match="None of the 1 entries"):
        catalog.load(network, mirror.url)


@pytest.mark.parametrize("library", ["nothing.xml", ".", "http://[", "https:///x"])
def test_a_library_that_is_none_is_said(network: Network, library: str) -> None:
    with pytest.raises(errors.InvalidCatalog):
        catalog.load(network, library)


def test_the_catalogue_of_a_kiwix_serve_is_read(tmp_path: Path, network: Network) -> None:
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
    library = library_xml(tmp_path / "served", [archive], "http://127.0.0.1:9/zim")

    with kiwix_serve(library) as url:
        found = catalog.load(network, url)
    from_file = catalog.load(network, str(library))

    expected = Entry(
        id=RawFile([str(archive)]).header().uuid,
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
    assert found.entries == (expected,)
    assert from_file.entries == (expected,)
