"""`zim_query` follows what its own results show: URIs, URLs of the original site, lines with a source."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from openzim_mcp import tokens
from support.archives import ISLES, SHARED, TOWNS, write_zim
from support.stdio_server import StdioServer

RAVENPORT = "zim://isles/entry/Ravenport"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioServer]:
    """Two small archives in simple mode; Ravenport is in both, and fuller in the first."""
    directory = tmp_path_factory.mktemp("library")
    write_zim(directory / "isles.zim", ISLES, metadata={"Title": "The Isles", "Source": "https://isles.example/"})
    write_zim(directory / "towns.zim", TOWNS, metadata={"Title": "Towns"})
    with StdioServer(directory) as server:
        yield server


def ask(server: StdioServer, query: str, **arguments: Any) -> str:
    result = server.wait_for_response(server.start_call("zim_query", query=query, **arguments))["result"]
    return str(result["content"][0]["text"])


@pytest.mark.parametrize(
    ("query", "start"),
    [
        (RAVENPORT, "# Ravenport\n\nTitle: Ravenport\nPath: Ravenport\n"),
        (f"get article {RAVENPORT}", "# Ravenport\n\nTitle: Ravenport\nPath: Ravenport\n"),
        (f"Please open <{RAVENPORT}>.", "# Ravenport\n\nTitle: Ravenport\nPath: Ravenport\n"),
        (f"[Ravenport]({RAVENPORT})", "# Ravenport\n\nTitle: Ravenport\nPath: Ravenport\n"),
        (f"summary of {RAVENPORT}", "Ravenport is a harbour town on the east coast of the Isles."),
        (f"summarize {RAVENPORT}?", "Ravenport is a harbour town on the east coast of the Isles."),
        (f"Zusammenfassung von {RAVENPORT}", "Ravenport is a harbour town on the east coast of the Isles."),
        (f"outline of {RAVENPORT}", "- History\n- Trade"),
        (f"section History of {RAVENPORT}", "## History\n\nThe town was founded"),
        (f"the trade section of {RAVENPORT}", "## Trade\n\nIts merchants sell"),
        (f"Source: Ravenport › Trade — isles.zim — {RAVENPORT}", "## Trade\n\nIts merchants sell"),
        (f"Source: Ravenport — isles.zim — {RAVENPORT}", "# Ravenport\n"),
        (f"{RAVENPORT}#Trade", "# Ravenport\n\nTitle: Ravenport\nPath: Ravenport\nType: text/html\nSection: Trade\n"),
        (
            "get article Herring#nothing",
            "# Herring\n\nTitle: Herring\nPath: Herring\nType: text/html\nNote: the page has no",
        ),
        ("zim://isles/entry/Ada Quill", "# Ada Quill\n"),
        ("zim://isles/entry/I.Q.", "# I.Q.\n"),
        ("summary of zim://isles/entry/Mercury_(god)", "Mercury was a god of trade."),
        ("https://www.isles.example/wiki/Ravenport?x=1", "# Ravenport\n"),
        ("isles.example/Ravenport.html", "# Ravenport\n"),
        ("get article https://isles.example/Ada_Quill/", "# Ada Quill\n"),
        ("links in zim://isles/entry/Herring", "There are none."),
        ("zim://isles", "isles.zim"),
        ("zim://files", "2 archives"),
    ],
)
def test_cited_entry_is_read(library: StdioServer, query: str, start: str) -> None:
    assert ask(library, query).startswith(start)


def test_cited_articles_are_read_together(library: StdioServer) -> None:
    text = ask(library, "get articles zim://isles/entry/Herring, zim://towns/entry/Alderwick")

    assert "Herring is a fish." in text
    assert "Source: Alderwick — towns.zim" in text


def test_question_about_a_cited_entry_is_asked_in_its_archive(library: StdioServer) -> None:
    text = ask(library, f"When was {RAVENPORT} founded?")

    assert "1743" in text
    assert "towns.zim" not in text


def test_url_that_fits_no_archive_is_an_error(library: StdioServer) -> None:
    answer = library.call("zim_query", query="summary of https://elsewhere.example/wiki/Ravenport")

    assert answer["operation"] == "entry_not_found"
    assert answer["message"] == "No archive here has the page 'https://elsewhere.example/wiki/Ravenport'."


def test_question_may_mention_any_url(library: StdioServer) -> None:
    assert "1743" in ask(library, "I read https://elsewhere.example/x about it: when was Ravenport founded?")


def test_url_is_looked_for_in_the_named_archive(library: StdioServer) -> None:
    answer = library.call("zim_query", query="https://isles.example/Ravenport", zim_file_path="towns")

    assert answer["operation"] == "entry_not_found"


def test_more_continues_a_cited_article(library: StdioServer) -> None:
    first = ask(library, RAVENPORT, max_content_length=100)
    second = ask(library, "more")

    offset = int(first.partition("[content_offset=")[2].partition(" ")[0])
    assert second == ask(library, RAVENPORT, max_content_length=100, content_offset=offset)
    assert second.startswith("# Ravenport")


def test_section_that_is_missing_is_an_error(library: StdioServer) -> None:
    answer = library.call("zim_query", query=f"section Weather of {RAVENPORT}")

    assert answer["operation"] == "section_not_found"
    assert [row["title"] for row in answer["available_sections"]] == ["Trade", "History"]


def test_title_in_several_archives_reads_the_fullest_and_names_the_others(library: StdioServer) -> None:
    text = ask(library, "get article Ravenport")

    assert "The town was founded in 1743" in text
    assert text.endswith(f"\n\nSource: Ravenport — isles.zim — {RAVENPORT}\n\n(Also in: towns.zim.)")


@pytest.mark.parametrize("budget", [100, 200, 500])
def test_cited_article_stays_inside_its_budget(library: StdioServer, budget: int) -> None:
    for query in (RAVENPORT, "get article Ravenport", f"{RAVENPORT}#Trade", f"summary of {RAVENPORT}"):
        assert tokens.estimate(ask(library, query, compact_budget=budget)) <= budget


def test_source_of_an_answer_can_be_opened() -> None:
    if not SHARED.is_dir():
        pytest.skip("the archives of ../shared/zims are missing")
    paths = ["real/devdocs_en_sqlite_2025-04.zim", "built/wiki_real_pub.zim", "built/se_coffee.zim"]
    with StdioServer(*(SHARED / path for path in paths)) as server:
        for question in ("how do I turn on WAL mode?", "who designed Python?", "how should I store coffee beans?"):
            lines = re.findall(r"^Source: .*$", ask(server, question), re.MULTILINE)
            assert lines
            for line in lines:
                uri = line.rpartition(" ")[2]
                assert ask(server, uri).startswith("# ")
                assert len(ask(server, f"summary of {uri}")) > 50
                assert f"— {uri}" in ask(server, line) or ask(server, line).startswith("# ")
