from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import tokens
from support.archives import write_zim
from support.stdio_server import StdioServer


def say(server: StdioServer, query: str = "", **arguments: Any) -> str:
    result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": query, **arguments}})
    return str(result["content"][0]["text"])


@pytest.fixture(scope="module")
def one(isles_zim: Path) -> Iterator[StdioServer]:
    """A server in simple mode on one archive."""
    with StdioServer(isles_zim) as server:
        yield server


@pytest.fixture(scope="module")
def two(isles_zim: Path, town_zim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioServer]:
    """The same on two."""
    shelf = tmp_path_factory.mktemp("two")
    for archive in (isles_zim, town_zim):
        shutil.copy(archive, shelf / archive.name)
    with StdioServer(shelf) as server:
        yield server


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Who founded Ravenport?", "The town was founded in 1743"),
        ("list available ZIM files", "1 archive:\n- isles_en_all_2026-01.zim"),
        (
            "search for herring in isles_en_all.zim",
            "results for 'herring' in isles_en_all_2026-01.zim:\n\n1. **Herring**",
        ),
        ("get article Ada Quill", "# Ada Quill\n\nTitle: Ada Quill"),
        ("show structure of Ravenport", "- History\n- Trade"),
        ("browse namespace C with limit 2", "entries in namespace C:\n- "),
        ("search all files for herring", "results for 'herring'"),
        ("walk namespace M", "entries in namespace M:\n- "),
        ("find article titled Zurich", "- Zürich (exact) — isles_en_all_2026-01.zim: Zürich"),
        ("articles related to Alderwick", "Source: Alderwick — isles_en_all_2026-01.zim"),
        ("summary of Ravenport", "Ravenport is a harbour town on the east coast of the Isles."),
        ("history of Ravenport", "The town was founded in 1743"),
        ("the Trade section of Ravenport", "Its merchants sell dried herring"),
        ("what does Alderwick link to?", "Source: Alderwick"),
        ("suggestions for raven", "- Ravenport — isles_en_all_2026-01.zim: Ravenport"),
        ("get articles Herring and C++", "Herring is a fish."),
        ("show the main page", "# Ravenport"),
        ("how many articles are there?", "isles_en_all_2026-01.zim:\n- title: Test"),
        ("server health", "The server is healthy."),
        ("random article", "\n\nSource: "),
        ("Zuerich", "Zürich is a city of banks."),
        ("quetzalcoatl", "Nothing was found for 'quetzalcoatl' in isles_en_all_2026-01.zim."),
    ],
)
def test_a_plain_request_is_understood(one: StdioServer, query: str, expected: str) -> None:
    assert expected in say(one, query)


def test_an_answer_starts_with_the_passage_and_names_its_source(one: StdioServer) -> None:
    lines = say(one, "Who founded Ravenport?").split("\n")
    source = next(line for line in lines if line.startswith("Source: "))

    assert lines[0].startswith("The town was founded in 1743")
    assert source.startswith("Source: Ravenport › History")
    assert source.endswith("— isles_en_all_2026-01.zim — zim://isles_en_all_2026-01/entry/Ravenport")


def test_a_corrected_word_is_said(one: StdioServer) -> None:
    assert say(one, "what is photosinthesis").endswith("(Read as: photosinthesis → photosynthesis)")


def test_all_archives_answer_and_say_so(isles_zim: Path, tmp_path: Path) -> None:
    shutil.copy(isles_zim, tmp_path / isles_zim.name)
    write_zim(tmp_path / "lights.zim", {"Ravenport": "<h1>Ravenport</h1><p>Ravenport has a lighthouse of granite.</p>"})
    with StdioServer(tmp_path) as server:
        shown = say(server, "what is Ravenport?")

    assert "isles_en_all_2026-01.zim" in shown
    assert "Ravenport has a lighthouse of granite.\nSource: Ravenport — lights.zim" in shown


def test_an_archive_named_in_the_query_is_the_one_asked(two: StdioServer) -> None:
    shown = say(two, "what is Ravenport in towns_en_all.zim?")

    assert "Source: Ravenport — towns_en_all_2026-01.zim" in shown
    assert "isles" not in shown


def test_a_wrong_archive_is_an_error(two: StdioServer) -> None:
    error = two.call("zim_query", query="Ravenport", zim_file_path="nowhere.zim")

    assert error["operation"] == "archive_not_found"


def test_a_question_to_a_broken_archive_is_an_error(zims: Path) -> None:
    with StdioServer(zims / "damaged/not_a_zim.zim") as server:
        error = server.call("zim_query", query="coffee", zim_file_path="not_a_zim")

    assert "cannot be opened: not a ZIM file" in error["message"]


def test_a_question_to_an_archive_with_a_broken_index_is_answered_without_it(zims: Path) -> None:
    with StdioServer(zims / "damaged/zeroed_index_aborts_search.zim") as server:
        assert "zim://zeroed_index_aborts_search/entry/" in say(server, "what is a foreign key constraint?")


def test_what_needs_one_archive_asks_for_it(two: StdioServer) -> None:
    assert two.call("zim_query", query="browse namespace C")["operation"] == "archive_not_found"


@pytest.mark.parametrize("budget", [100, 200, "small"])
def test_an_answer_stays_within_the_budget(one: StdioServer, budget: int | str) -> None:
    shown = say(one, "harbour town herring", compact_budget=budget)

    assert 0 < tokens.estimate(shown) <= (500 if budget == "small" else budget)


@pytest.mark.parametrize("budget", [10, "tiny", -5])
def test_a_wrong_budget_is_an_error(one: StdioServer, budget: int | str) -> None:
    assert one.call("zim_query", query="x", compact_budget=budget)["status"] == "error"


def test_a_briefing_is_structured(one: StdioServer) -> None:
    briefing = one.call("zim_query", query="who founded Ravenport?", synthesize=True)

    assert briefing["citations"][0]["path"] == "Ravenport"
    assert briefing["archives_searched"] == ["isles_en_all_2026-01.zim"]


@pytest.mark.parametrize("budget", [300, "small"])
def test_a_whole_briefing_stays_within_the_budget(zims: Path, budget: int | str) -> None:
    with StdioServer(zims / "built/wiki_real_pub.zim") as server:
        shown = say(server, "history of jazz music", synthesize=True, compact_budget=budget)

    assert json.loads(shown)["citations"]
    assert tokens.estimate(shown) <= (500 if budget == "small" else budget)


def test_a_list_goes_on_from_an_offset(one: StdioServer) -> None:
    first = say(one, "search for harbour", limit=2)
    second = say(one, "search for harbour", limit=2, offset=2)

    assert "[offset=2 continues; cursor=" in first
    assert "\n3. **" in second


def test_an_article_goes_on_from_an_offset(one: StdioServer) -> None:
    first = say(one, "get article Ravenport", max_content_length=100)

    assert "[content_offset=" in first
    offset = int(first.rpartition("content_offset=")[2].partition(" ")[0])
    assert "shipwright" in say(one, "get article Ravenport", content_offset=offset, max_content_length=5000)


LISTS = [
    "list available ZIM files",
    "search for harbour",
    "get article Ravenport",
    "show structure of Ravenport",
    "browse namespace C",
    "walk namespace M",
    "find article titled Zurich",
    "articles related to Alderwick",
    "summary of Ravenport",
    "history of Ravenport",
    "what does Alderwick link to?",
    "suggestions for r",
    "get articles Herring, Ravenport, Alderwick and C++",
    "difference between Ravenport and Alderwick",
    "show the main page",
    "metadata",
    "server health",
    "random article",
    "quetzalcoatl",
]


@pytest.mark.parametrize("query", LISTS)
def test_everything_that_is_said_stays_within_the_budget(one: StdioServer, query: str) -> None:
    assert tokens.estimate(say(one, query, compact_budget=100)) <= 100


@pytest.mark.parametrize(
    "query", ["search for town", "browse namespace C", "walk namespace C", "suggestions for r", "links of Alderwick"]
)
def test_a_list_is_the_same_whole_and_in_pages(one: StdioServer, query: str) -> None:
    def rows(text: str) -> list[str]:
        return re.findall(r"^(?:- |\d+\. ).*", text, re.MULTILINE)

    def pages(**follow_up: Any) -> list[str]:
        shown = say(one, query, limit=2)
        found = rows(shown)
        while "cursor=" in shown:
            offset, cursor = re.findall(r"^\[offset=(\d+) continues; cursor=(\S+)\]$", shown, re.MULTILINE)[0]
            given = {"offset": int(offset), "cursor": cursor, "limit": 2, "query": query}
            shown = say(one, **{name: value or given[name] for name, value in follow_up.items()})
            found += rows(shown)
        return found

    whole = rows(say(one, query, limit=100))

    assert pages(query=None, limit=None, offset=None) == whole
    assert pages(query="next page", cursor=None) == whole
    assert pages(query="next page") == whole


def test_the_next_page_of_an_article_goes_on_where_it_ended(one: StdioServer) -> None:
    first = say(one, "get article Ravenport", max_content_length=100)
    offset = int(first.rpartition("content_offset=")[2].partition(" ")[0])

    assert say(one, "next page") == say(one, "get article Ravenport", max_content_length=100, content_offset=offset)


def test_a_section_goes_on_from_an_offset(zims: Path) -> None:
    query = "Geography section of Canton of St. Gallen"
    with StdioServer(zims / "built/wiki_real_pub.zim") as server:
        whole, _, source = say(server, query).rpartition("\n\nSource: ")
        text = ""
        page = say(server, query, max_content_length=200)
        while "[content_offset=" in page:
            text += page.partition("\n\n[content_offset=")[0]
            page = say(server, "next page")

    assert text + page.rpartition("\n\nSource: ")[0] == whole
    assert source.startswith("Canton of St. Gallen › Geography — wiki_real_pub.zim")


def test_without_a_page_before_it_the_next_page_is_an_error(isles_zim: Path) -> None:
    with StdioServer(isles_zim) as server:
        assert server.call("zim_query", query="next page")["operation"] == "invalid_arguments"


def test_a_cursor_is_refused_with_another_query(one: StdioServer) -> None:
    shown = say(one, "search for town", limit=1)
    cursor = shown.rpartition("cursor=")[2].strip("]")

    assert one.call("zim_query", query="search for herring", cursor=cursor)["operation"] == "invalid_cursor"
    assert say(one, "next page", cursor=cursor) == say(one, "search for town", limit=1, offset=1)


def test_a_query_or_a_cursor_is_needed(one: StdioServer) -> None:
    assert "query: required" in one.call("zim_query")["message"]


def test_without_compact_an_article_comes_whole(zims: Path) -> None:
    with StdioServer(zims / "built/wiki_real_pub.zim") as server:
        short = say(server, "get article Jean/Hans Arp")
        whole = say(server, "get article Jean/Hans Arp", compact=False)

    assert "[content_offset=" in short
    assert "[content_offset=" not in whole
    assert len(whole) > len(short)


def test_things_that_are_compared_each_have_their_passage(one: StdioServer) -> None:
    shown = say(one, "difference between Ravenport and Alderwick")

    assert "zim://isles_en_all_2026-01/entry/Ravenport" in shown
    assert "zim://isles_en_all_2026-01/entry/Alderwick" in shown


def test_several_archives_are_described_together(two: StdioServer) -> None:
    assert say(two, "how many articles are there?").startswith("2 archives:\n- isles_en_all_2026-01.zim: Test, eng")


@pytest.mark.parametrize("query", ["what is Ravenport in towns", "what is Ravenport, in the Towns archive?"])
def test_an_archive_is_named_by_the_start_of_its_name(two: StdioServer, query: str) -> None:
    assert "isles" not in say(two, query)


def test_an_archive_that_is_not_there_is_an_error(two: StdioServer) -> None:
    assert two.call("zim_query", query="Ravenport in nowhere.zim")["operation"] == "archive_not_found"


def test_the_description_names_the_archives_and_stays_small(zims: Path, tmp_path: Path) -> None:
    for name in ("se_coffee", "wiki_real_pub"):
        shutil.copy(zims / f"built/{name}.zim", tmp_path)
    with StdioServer(tmp_path) as server:
        (tool,) = server.request("tools/list")["tools"]

    assert tool["description"].endswith("Archives: Coffee Stack Exchange; Wikipedia sample.")
    assert tool["inputSchema"]["required"] == ["query"]
    assert tokens.estimate(json.dumps(tool, ensure_ascii=False, separators=(",", ":"))) <= 500


def test_an_archive_can_be_given_by_its_title(zims: Path, tmp_path: Path) -> None:
    for name in ("se_coffee", "wiki_real_pub"):
        shutil.copy(zims / f"built/{name}.zim", tmp_path)
    with StdioServer(tmp_path) as server:
        assert "zim://se_coffee/" in say(server, "what is espresso?", zim_file_path="Coffee Stack Exchange")


def test_the_picture_of_an_article_is_sent(zims: Path) -> None:
    with StdioServer(zims / "built/devdocs_python.zim") as server:
        shown = server.request(
            "tools/call", {"name": "zim_query", "arguments": {"query": "picture of howto/logging.html"}}
        )["content"]

    assert json.loads(shown[0]["text"])["path"] == "_images/logging_flow.png"
    assert shown[1]["type"] == "image"


def test_an_article_without_a_picture_says_so(one: StdioServer) -> None:
    assert say(one, "picture of Ravenport").startswith("The article has no picture in this archive.")


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("outline of Nowhere", "(No article is called 'Nowhere'."),
        ("summary of Ravenprot", "(Read as: summary of the article Ravenprot. Or ask: "),
    ],
)
def test_a_guess_is_said_in_a_line(one: StdioServer, query: str, note: str) -> None:
    assert say(one, query).split("\n")[-1].startswith(note)


def test_words_that_another_archive_has_are_not_put_right(isles_zim: Path, town_zim: Path, tmp_path: Path) -> None:
    for archive in (isles_zim, town_zim):
        shutil.copy(archive, tmp_path / archive.name)
    with StdioServer(tmp_path) as server:
        assert "Read as" not in say(server, "what is photosynthesis?")
