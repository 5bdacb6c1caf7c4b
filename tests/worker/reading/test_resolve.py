from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.reading import FindClosestTitle, LocateEntry
from openzim_mcp.uris import entry_uri
from openzim_mcp.worker.reading.resolve import locate_entry, require_entry, require_place, resolve_entry
from openzim_mcp.worker.search.titles import find_closest_title
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


@pytest.mark.parametrize(
    ("archive", "requested", "path"),
    [
        ("built/wiki_real_pub", "Hermitian_matrix", "Hermitian_matrix"),
        ("built/wiki_real_pub", "Hermitian matrix", "Hermitian_matrix"),
        ("built/wiki_real_pub", "hermitian matrix", "Hermitian_matrix"),
        ("built/wiki_real_pub", "C/Hermitian_matrix", "Hermitian_matrix"),
        ("built/wiki_real_pub", "A/Hermitian_matrix", "Hermitian_matrix"),
        ("built/wiki_real_pub", "/Hermitian_matrix", "Hermitian_matrix"),
        ("built/wiki_real_pub", "./Hermitian_matrix#Properties", "Hermitian_matrix"),
        ("built/wiki_real_pub", "Python_%28programming_language%29", "Python_(programming_language)"),
        ("built/wiki_real_pub", "https://en.wikipedia.org/wiki/Hermitian_matrix", "Hermitian_matrix"),
        ("built/wiki_real_pub", "https://en.wikipedia.org/wiki/Hermitian_matrix#Properties", "Hermitian_matrix"),
        ("built/wiki_real_pub", "zim://wiki_real_pub/entry/Hermitian_matrix", "Hermitian_matrix"),
        (
            "built/wiki_real_pub",
            "zim://wiki_real_pub/entry/Python_%28programming_language%29",
            "Python_(programming_language)",
        ),
        ("built/wiki_real_pub", "ZIM://wiki_real_pub/entry/Hermitian%20matrix", "Hermitian_matrix"),
        ("built/devdocs_python", "module/json", "library/json.html"),
        ("built/se_coffee", "questions/1", "questions/1/how-should-i-store-whole-bean-coffee"),
        (
            "built/se_coffee",
            "How should I store whole bean coffee?",
            "questions/1/how-should-i-store-whole-bean-coffee",
        ),
        ("built/zimit_debian", "https://www.debian.org/doc/", "www.debian.org/doc/"),
        ("built/nasty_pub", "redirects/chain1", "content/table_span.html"),
        ("real/wikipedia_en_100_mini_2022-10", "United_States", "A/United_States"),
        ("real/wikipedia_en_100_mini_2022-10", "C/United_States", "A/United_States"),
        ("real/wikipedia_en_100_mini_2022-10", "A/USA", "A/United_States"),
        ("real/wikipedia_en_100_mini_2022-10", "united states", "A/United_States"),
        ("real/wikipedia_ady_all_nopic_2026-02", "НэкӀубгъо шъхьаӀ", "НэкӀубгъо_шъхьаӀ"),
    ],
)
def test_entry_is_found_in_any_spelling(zims: Path, archive: str, requested: str, path: str) -> None:
    item = resolve_entry(Archive("a", [str(zims / f"{archive}.zim")]), requested)

    assert item is not None
    assert item.path == path


@pytest.mark.parametrize(
    ("archive", "url", "path"),
    [
        ("built/wiki_real_pub", "http://en.m.wikipedia.org/wiki/Hermitian_matrix?oldid=1#History", "Hermitian_matrix"),
        ("built/wiki_real_pub", "https://en.wikipedia.org/w/index.php?title=Hermitian_matrix", "Hermitian_matrix"),
        ("built/wiki_real_pub", "en.wikipedia.org/wiki/hermitian_matrix/", "Hermitian_matrix"),
        ("built/wiki_real_pub", "https://de.wikipedia.org/wiki/Hermitian_matrix", None),
        ("built/wiki_real_pub", "https://en.wikipedia.org", "Main_Page"),
        ("real/wikipedia_en_100_mini_2022-10", "https://en.wikipedia.org/wiki/", "A/index"),
        ("real/wikipedia_en_100_mini_2022-10", "https://en.wikipedia.org/wiki/United_States", "A/United_States"),
        ("real/wikipedia_ay_all_nopic_2017-03", "https://ay.wikipedia.org/wiki/Bolivia", "A/Wuliwya.html"),
        (
            "built/se_coffee",
            "https://coffee.stackexchange.com/questions/1",
            "questions/1/how-should-i-store-whole-bean-coffee",
        ),
        ("built/devdocs_python", "https://docs.python.org/3/library/json.html", "library/json.html"),
        ("built/devdocs_python", "docs.python.org/3.11/library/json", "library/json.html"),
        ("real/devdocs_en_sqlite_2025-04", "https://www.sqlite.org/pragma.html#pragma_journal_mode", "pragma"),
        ("real/devdocs_en_sqlite_2025-04", "https://devdocs.io/sqlite/pragma", "pragma"),
        ("real/devdocs_en_sqlite_2025-04", "https://devdocs.io/python/pragma", None),
        ("built/zimit_debian", "debian.org/doc/index.html", "www.debian.org/doc/"),
        ("built/zimit_debian", "http://www.debian.org/doc", "www.debian.org/doc/"),
        ("built/zimit_debian", "https://www.debian.org/search?q=apt&page=2", "www.debian.org/search?q=apt&page=2"),
        (
            "built/zimit_debian",
            "https://xn--bcher-kva.example.org/%C3%BCber%20uns?x=&",
            "bücher.example.org/über uns?x=&",
        ),
        (
            "built/nonlatin_pub",
            "https://debian-handbook.info/browse/ar-MA/stable/sect.role-of-distributions.html",
            "ar-MA/1.5._دور_التوزيعة",
        ),
        (
            "real/example",
            "https://en.wikibooks.org/wiki/FreedomBox_for_Communities/Offline_Wikipedia",
            "FreedomBox for Communities_Offline Wikipedia - Wikibooks, open books for an open world.html",
        ),
        ("built/dictionary_pub", "https://example.org/dog", None),
    ],
)
def test_page_is_found_by_its_original_url(zims: Path, archive: str, url: str, path: str | None) -> None:
    entry = locate_entry(Archive(Path(archive).name, [str(zims / f"{archive}.zim")]), LocateEntry(url))

    assert (entry and entry.path) == path


def test_url_of_another_site_is_an_error_that_names_the_site(zims: Path) -> None:
    archive = Archive("wiki", [str(zims / "built/wiki_real_pub.zim")])

    with pytest.raises(
        errors.EntryNotFound, match=r"'wiki' has no page 'https://de.wikipedia.org/wiki/Dog'."
    ) as caught:
        require_entry(archive, "https://de.wikipedia.org/wiki/Dog")

    assert caught.value.hint == "Its pages are of en.wikipedia.org."


def test_url_is_read_where_the_site_is_unknown(towns: Archive) -> None:
    assert require_entry(towns, "https://towns.example/wiki/Ravenport").path == "Ravenport"


@pytest.mark.parametrize(
    ("requested", "path", "fragment"),
    [
        ("page#part", "page", "part"),
        ("page#part%20two", "page", "part two"),
        ("c#", "c#", ""),
        ("c#.html#part", "c#.html", "part"),
        ("zim://odd/entry/c%23.html#part", "c#.html", "part"),
        ("zim://odd/entry/c#.html", "c#.html", ""),
        ("zim://odd/entry/page#part", "page", "part"),
        ("page#", "page", ""),
    ],
)
def test_fragment_is_split_off_unless_a_path_has_it(odd: Archive, requested: str, path: str, fragment: str) -> None:
    item, found = require_place(odd, requested)

    assert (item.path, found) == (path, fragment)


@pytest.fixture(scope="module")
def odd(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    pages = dict.fromkeys(("page", "c#", "c#.html"), "<p>x</p>")
    return Archive("odd", [str(write_zim(tmp_path_factory.mktemp("odd") / "odd.zim", pages))])


def test_uris_lead_to_their_entries(tmp_path: Path) -> None:
    paths = [
        "東\u3000京",
        "a\u00a0b",
        "C#",
        "C",
        "what?",
        "what",
        "100%",
        "100%25",
        "line\u2028break",
        "\u200bx",
        " y",
        "a/b",
    ]
    archive = Archive("odd", [str(write_zim(tmp_path / "odd.zim", {path: f"<p>{path}</p>" for path in paths}))])

    entries = [resolve_entry(archive, entry_uri("odd", path)) for path in paths]

    assert [entry and entry.path for entry in entries] == paths


def test_archive_without_index_finds_exact_titles(zims: Path) -> None:
    archive = Archive("a", [str(zims / "built/noindex.zim")])
    entry = archive.entry_by_id(5)

    assert resolve_entry(archive, entry.title) is not None
    assert find_closest_title(archive, FindClosestTitle("zzzzzz")).path is None


@pytest.mark.parametrize("requested", ["redirects/long00", "redirects/long10"])
def test_long_redirect_chain_is_an_error(zims: Path, requested: str) -> None:
    archive = Archive("nasty", [str(zims / "built/nasty_pub.zim")])

    with pytest.raises(errors.RedirectLoop, match="in a circle, or more than 10 times"):
        resolve_entry(archive, requested)


def test_redirect_loop_is_an_error(zims: Path) -> None:
    archive = Archive("poor", [str(zims / "real/poor.zim")])
    looping = [entry.path for entry in map(archive.entry_by_id, archive.namespaces["C"]) if entry.error]

    for path in looping:
        with pytest.raises(errors.RedirectLoop):
            resolve_entry(archive, path)


@pytest.mark.parametrize(
    "requested", ["", " ", "..", "../../etc/passwd", "\x00", "x" * 1900, "%", "zim://", "https://"]
)
def test_odd_requests_find_nothing(towns: Archive, requested: str) -> None:
    with pytest.raises(errors.EntryNotFound):
        require_entry(towns, requested)
