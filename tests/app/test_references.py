"""Sources, titles, paths and URLs handed back to the tools as they stand, over several archives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from openzim_mcp import tokens
from support.archives import ISLES, SHARED, TOWNS, write_zim
from support.stdio_server import StdioServer

JOURNAL = "**PRAGMA** *schema.*journal_mode;"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioServer]:
    """Three small archives; Ravenport is in all, Herring in one."""
    directory = tmp_path_factory.mktemp("library")
    write_zim(directory / "isles_en_all_2026-01.zim", ISLES, metadata={"Title": "The Isles"})
    write_zim(directory / "isles_en_all_2025-01.zim", ISLES, metadata={"Title": "The Isles"})
    write_zim(directory / "towns_en_all_2026-01.zim", TOWNS, metadata={"Title": "Towns"})
    write_zim(directory / "town_mini.zim", {"Ravenport": "<p>A town.</p>"}, metadata={"Title": "Small"})
    with StdioServer("--mode", "advanced", directory) as server:
        yield server


@pytest.fixture(scope="module")
def real() -> Iterator[StdioServer]:
    """Several real archives, without the index of links: what it tells would depend on how far it is."""
    if not SHARED.is_dir():
        pytest.skip("the archives of ../shared/zims are missing")
    paths = ["real/devdocs_en_sqlite_2025-04.zim", "built/wiki_real_pub.zim", "built/devdocs_python.zim"]
    with StdioServer("--mode", "advanced", *(SHARED / path for path in paths)) as server:
        yield server


def read(server: StdioServer, reference: str, **arguments: Any) -> str:
    result = server.wait_for_response(server.start_call("zim_get", entry_path=reference, **arguments))["result"]
    return str(result["content"][0]["text"])


@pytest.mark.parametrize(
    "reference",
    ["zim://isles_en_all_2026-01/entry/Herring", "Herring", "herring", "Hering", "zim://isles_en_all/entry/Herring"],
)
def test_entry_is_read_without_naming_the_archive(library: StdioServer, reference: str) -> None:
    assert "Herring is a fish." in read(library, reference)
    assert library.call("zim_get", entry_path=reference, view="summary")["archive"] == "isles_en_all_2026-01.zim"
    assert library.call("zim_get_section", entry_path=reference, section_id="lead")["path"] == "Herring"
    assert library.call("zim_links", entry_path=reference)["path"] == "Herring"
    (row,) = library.call("zim_get", entry_paths=[reference])["results"]
    assert (row["success"], row["actual_path"]) == (True, "Herring")


def test_uri_is_shown_as_its_path(library: StdioServer) -> None:
    assert "\nPath: Herring\n" in read(library, "zim://isles_en_all_2026-01/entry/Herring")


def test_entry_of_several_archives_lists_them_fullest_first(library: StdioServer) -> None:
    answer = library.call("zim_get", entry_path="Ravenport")

    assert (answer["operation"], answer["message"]) == ("ambiguous_entry", "3 archives have 'Ravenport'.")
    assert answer["candidates"] == [
        {"title": "Ravenport", "uri": "zim://isles_en_all_2026-01/entry/Ravenport"},
        {"title": "Ravenport", "uri": "zim://towns_en_all_2026-01/entry/Ravenport"},
        {"title": "Ravenport", "uri": "zim://town_mini/entry/Ravenport"},
    ]
    assert "Ravenport is a harbour town." in read(library, answer["candidates"][1]["uri"])


def test_missing_entry_names_the_nearest_of_all_archives(library: StdioServer) -> None:
    answer = library.call("zim_get", entry_path="Lantern fish of the sea")
    (row,) = library.call("zim_get", entry_paths=["Lantern fish of the sea"])["results"]

    assert answer["operation"] == "entry_not_found"
    assert answer["did_you_mean"][0]["uri"].endswith("/entry/Lantern_fish")
    assert row["did_you_mean"] == answer["did_you_mean"]
    assert tokens.estimate(json.dumps(answer, ensure_ascii=False)) <= 150


def test_url_that_fits_no_archive_says_so(library: StdioServer, real: StdioServer) -> None:
    url = "https://example.org/wiki/Ravenport"

    for server in (library, real):
        answer = server.call("zim_get", entry_path=url)
        assert (answer["operation"], answer["message"]) == ("entry_not_found", f"No archive here has the page {url!r}.")


@pytest.mark.parametrize(
    ("reference", "start"),
    [
        ("https://www.sqlite.org/pragma.html#pragma_journal_mode", JOURNAL),
        ("zim://devdocs_en_sqlite_2025-04/entry/pragma#pragma_journal_mode", JOURNAL),
        ("pragma#pragma_journal_mode", JOURNAL),
        ("https://en.m.wikipedia.org/wiki/Hermitian_matrix?x=1#Properties", "## Properties"),
        ("https://docs.python.org/3/library/json.html#json.dumps", "`json.dumps("),
        ("library/json.html#basic-usage", "## Basic Usage"),
    ],
)
def test_fragment_reads_a_part_of_the_page(real: StdioServer, reference: str, start: str) -> None:
    text = read(real, reference)

    header, _, content = text.partition("\n\n## Content\n\n")
    assert content.startswith(start)
    assert "\nSection: " in header
    assert len(content) < 10_000
    (row,) = real.call("zim_get", entry_paths=[reference])["results"]
    assert row["content"].startswith(start)
    assert row["note"].startswith("Section: ")


def test_unknown_fragment_reads_the_article_and_says_so(real: StdioServer) -> None:
    text = read(real, "pragma#nothing_of_the_kind", max_content_length=500)

    assert "\nNote: the page has no part 'nothing_of_the_kind'; this is its start\n" in text
    assert "The PRAGMA statement is an SQL extension" in text


def test_pages_of_a_fragment_joined_are_the_part(real: StdioServer) -> None:
    reference, parts, offset = "pragma#pragma_journal_mode", [], 0
    while offset >= 0:
        page = read(real, reference, max_content_length=1000, content_offset=offset).partition("## Content\n\n")[2]
        body, mark, line = page.rpartition("\n\n[content_offset=")
        parts.append(body if mark else page)
        offset = int(line.partition(" ")[0]) if mark else -1

    assert "".join(parts) == read(real, reference).partition("## Content\n\n")[2]
    assert len(parts) > 2


def test_long_section_continues_by_content_offset(real: StdioServer) -> None:
    parts, offset, calls = [], 0, 0
    while offset is not None:
        section = real.call("zim_get_section", entry_path="pragma", section_id="pragfunc", content_offset=offset)
        offset, calls = section.get("next_offset"), calls + 1
        body, mark, line = section["content"].rpartition("\n\n[content_offset=")
        assert bool(mark) is section["truncated"] is (offset is not None)
        assert not mark or line == f"{offset} continues; {section['characters']} characters in all]"
        parts.append(body if mark else section["content"])

    assert len("".join(parts)) == section["characters"]
    assert calls > 2


@pytest.mark.parametrize(
    ("name", "archive"),
    [
        ("The Isles", "isles_en_all_2026-01.zim"),
        ("the isles", "isles_en_all_2026-01.zim"),
        ("isles", "isles_en_all_2026-01.zim"),
        ("towns_en", "towns_en_all_2026-01.zim"),
        ("zim://town_mini", "town_mini.zim"),
        ("town", "town_mini.zim"),
    ],
)
def test_archive_is_found_by_title_and_start_of_its_name(library: StdioServer, name: str, archive: str) -> None:
    assert library.call("zim_metadata", zim_file_path=name)["archive"] == archive


def test_name_that_several_archives_start_with_lists_those(library: StdioServer) -> None:
    answer = library.call("zim_metadata", zim_file_path="tow")

    assert answer["message"] == "2 archives have names that start with 'tow'."
    assert answer["available_archives"] == ["town_mini.zim", "towns_en_all_2026-01.zim"]


def test_search_without_an_archive_offers_to_search_all(library: StdioServer) -> None:
    answer = library.call("zim_search", query="herring")

    assert answer["operation"] == "archive_not_found"
    assert answer["hint"].startswith("cross_file=true")
    assert tokens.estimate(json.dumps(answer)) <= 150


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("zim_get", {"path": "Herring", "archive": "isles_en_all_2026-01.zim", "view": "summary"}),
        ("zim_get", {"uri": "zim://isles_en_all_2026-01/entry/Herring", "view": "toc"}),
        ("zim_get_section", {"path": "Herring", "section_id": "lead"}),
        ("zim_links", {"path": "Herring", "archive": "The Isles"}),
    ],
)
def test_arguments_are_accepted_as_results_name_them(
    library: StdioServer, tool: str, arguments: dict[str, Any]
) -> None:
    assert library.call(tool, **arguments)["path"] == "Herring"


def test_argument_given_twice_is_an_error(library: StdioServer) -> None:
    answer = library.call("zim_get", path="Herring", entry_path="Alderwick")

    assert answer["message"] == "path: unknown argument, did you mean entry_path?"


@pytest.mark.parametrize("view", ["full", "summary", "toc", "structure"])
@pytest.mark.parametrize("budget", [100, 150, 500])
def test_views_stay_inside_their_budget(real: StdioServer, view: str, budget: int) -> None:
    for path in ("Dog", "zim://devdocs_python/entry/library/stdtypes.html"):
        request = real.start_call("zim_get", entry_path=path, view=view, compact_budget=budget)
        (block,) = real.wait_for_response(request)["result"]["content"]
        assert tokens.estimate(block["text"]) <= budget


@pytest.mark.parametrize("view", ["full", "summary", "toc", "structure"])
@pytest.mark.parametrize("budget", [100, 500, 2000])
def test_batches_stay_inside_their_budget_and_use_it(real: StdioServer, view: str, budget: int) -> None:
    paths = ["Dog", "Nothing of the kind", "zim://devdocs_python/entry/library/json.html", "pragma", "Hermitian_matrix"]

    answer = real.call("zim_get", entry_paths=paths, view=view, compact_budget=budget)

    cost = tokens.estimate(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    assert cost <= budget
    assert len(answer["results"]) + answer.get("omitted", 0) == len(paths)
    if view == "full" and budget > 100:
        assert cost > 0.6 * budget
        assert answer["results"][0]["content"].startswith("The **domestic dog**")


def test_batch_has_the_view_that_is_asked_for(real: StdioServer) -> None:
    def rows(view: str) -> list[dict[str, Any]]:
        return list(real.call("zim_get", entry_paths=["Dog", "pragma"], view=view)["results"])

    assert rows("summary")[1]["content"].startswith("The PRAGMA statement is an SQL extension")
    assert set(rows("summary")[1]) == {"path", "success", "title", "actual_path", "mime_type", "content"}
    assert [entry["title"] for entry in rows("toc")[1]["toc"]] == ["PRAGMA command syntax", "PRAGMA functions"]
    assert rows("structure")[0]["headings"][0]["level"] == 2


@pytest.mark.parametrize("budget", [150, 500, 3000])
def test_section_stays_inside_its_budget(real: StdioServer, budget: int) -> None:
    answer = real.call("zim_get_section", entry_path="pragma", section_id="PRAGMA functions", compact_budget=budget)

    cost = tokens.estimate(json.dumps(answer, ensure_ascii=False, separators=(",", ":")))
    assert 0.6 * budget < cost <= budget
    assert answer["next_offset"] > 0
    line = f"[content_offset={answer['next_offset']} continues; {answer['characters']} characters in all]"
    assert answer["content"].endswith(line)


def test_article_without_links_is_related_by_its_words(real: StdioServer) -> None:
    page = real.call("zim_links", entry_path="Hermitian_matrix", direction="related")

    assert page["related"][0] == {"path": "LU_decomposition", "title": "LU decomposition", "mentions": 0}
    assert page["done"]


def test_one_wrong_letter_is_forgiven_in_a_short_title(library: StdioServer) -> None:
    assert "Herring is a fish." in read(library, "Herrink")
