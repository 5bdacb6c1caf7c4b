from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.content import tokens
from wire import Wire


def say(wire: Wire, query: str, **arguments: Any) -> str:
    result = wire.request("tools/call", {"name": "zim_query", "arguments": {"query": query, **arguments}})
    return str(result["content"][0]["text"])


@pytest.fixture(scope="module")
def one(isles_zim: Path) -> Iterator[Wire]:
    """A server in simple mode on one archive."""
    with Wire(isles_zim) as wire:
        yield wire


@pytest.fixture(scope="module")
def two(isles_zim: Path, town_zim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """The same on two."""
    shelf = tmp_path_factory.mktemp("two")
    for archive in (isles_zim, town_zim):
        shutil.copy(archive, shelf / archive.name)
    with Wire(shelf) as wire:
        yield wire


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("Who founded Ravenport?", "The town was founded in 1743"),
        ("list available ZIM files", "1 archives:\n- isles_en_all_2026-01.zim"),
        ("search for herring in isles_en_all.zim", "results for 'herring':\n\n1. **Herring**"),
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
        ("random article", "## Content"),
        ("Zuerich", "Zürich is a city of banks."),
        ("quetzalcoatl", "Nothing was found for 'quetzalcoatl' in isles_en_all_2026-01.zim."),
    ],
)
def test_a_plain_request_is_understood(one: Wire, query: str, expected: str) -> None:
    assert expected in say(one, query)


def test_an_answer_starts_with_the_passage_and_names_its_source(one: Wire) -> None:
    lines = say(one, "Who founded Ravenport?").split("\n")
    source = next(line for line in lines if line.startswith("Source: "))

    assert lines[0].startswith("The town was founded in 1743")
    assert source.startswith("Source: Ravenport › History")
    assert source.endswith("— isles_en_all_2026-01.zim — zim://isles_en_all_2026-01/entry/Ravenport")


def test_a_corrected_word_is_said(one: Wire) -> None:
    assert say(one, "what is photosinthesis").endswith("(Read as: photosinthesis → photosynthesis)")


def test_all_archives_answer_and_say_so(two: Wire) -> None:
    shown = say(two, "where is the harbour town Ravenport?")

    assert "isles_en_all_2026-01.zim" in shown
    assert "towns_en_all_2026-01.zim" in shown


def test_an_archive_named_in_the_query_is_the_one_asked(two: Wire) -> None:
    shown = say(two, "what is Ravenport in towns_en_all.zim?")

    assert "Source: Ravenport — towns_en_all_2026-01.zim" in shown
    assert "isles" not in shown


def test_a_wrong_archive_is_an_error(two: Wire) -> None:
    error = two.call("zim_query", query="Ravenport", zim_file_path="nowhere.zim")

    assert error["operation"] == "archive_not_found"


def test_a_question_to_a_broken_archive_is_an_error(zims: Path) -> None:
    with Wire(zims / "damaged/not_a_zim.zim") as wire:
        error = wire.call("zim_query", query="coffee", zim_file_path="not_a_zim")

    assert "cannot be opened: not a ZIM file" in error["message"]


def test_a_question_to_an_archive_with_a_broken_index_is_answered_without_it(zims: Path) -> None:
    with Wire(zims / "damaged/zeroed_index_aborts_search.zim") as wire:
        assert "zim://zeroed_index_aborts_search/entry/" in say(wire, "what is a foreign key constraint?")


def test_what_needs_one_archive_asks_for_it(two: Wire) -> None:
    assert two.call("zim_query", query="browse namespace C")["operation"] == "archive_not_found"


@pytest.mark.parametrize("budget", [100, 200, "small"])
def test_an_answer_stays_within_the_budget(one: Wire, budget: int | str) -> None:
    shown = say(one, "harbour town herring", compact_budget=budget)

    assert 0 < tokens.estimate(shown) <= (500 if budget == "small" else budget)


@pytest.mark.parametrize("budget", [10, "tiny", -5])
def test_a_wrong_budget_is_an_error(one: Wire, budget: int | str) -> None:
    assert one.call("zim_query", query="x", compact_budget=budget)["status"] == "error"


def test_a_briefing_is_structured(one: Wire) -> None:
    briefing = one.call("zim_query", query="who founded Ravenport?", synthesize=True)

    assert briefing["citations"][0]["path"] == "Ravenport"
    assert briefing["archives_searched"] == ["isles_en_all_2026-01.zim"]


def test_a_list_goes_on_from_an_offset(one: Wire) -> None:
    first = say(one, "search for harbour", limit=2)
    second = say(one, "search for harbour", limit=2, offset=2)

    assert "[offset=2 continues]" in first
    assert "\n3. **" in second


def test_an_article_goes_on_from_an_offset(one: Wire) -> None:
    first = say(one, "get article Ravenport", max_content_length=100)

    assert "[content_offset=" in first
    offset = int(first.rpartition("content_offset=")[2].partition(" ")[0])
    assert "shipwright" in say(one, "get article Ravenport", content_offset=offset, max_content_length=5000)
