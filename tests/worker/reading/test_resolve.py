from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.reading import FindClosestTitle
from openzim_mcp.uris import entry_uri
from openzim_mcp.worker.reading.resolve import require_entry, resolve_entry
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
