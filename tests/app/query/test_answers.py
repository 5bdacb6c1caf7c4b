from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp import tokens
from support.stdio_server import StdioServer

LIBRARY = (
    "built/wiki_real_pub",
    "built/dictionary_pub",
    "built/gutenberg_pub",
    "built/se_coffee",
    "built/devdocs_python",
    "real/wikipedia_en_100_mini_2022-10",
)


@pytest.fixture(scope="module")
def library(zims: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioServer]:
    """A server in simple mode on archives of several kinds."""
    directory = tmp_path_factory.mktemp("library")
    for name in LIBRARY:
        shutil.copy(zims / f"{name}.zim", directory)
    with StdioServer(directory) as server:
        yield server


def ask(server: StdioServer, query: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
    result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": query, **arguments}})
    return str(result["content"][0]["text"]), result.get("_meta", {})


@pytest.mark.parametrize(
    ("question", "answer", "source"),
    [
        ("why do heart attacks happen?", "blood flow", "Myocardial"),
        ("Good morning! could you please tell me how heavy a hippo is? thanks", "1,500 kg", "Hippopotamus"),
        ("how many poeple fit in anfeild stadum", "53,394", "Anfield"),
        ("finish the verse: through all the employments of life", "Each Neighbour abuses his Brother", "Beggar"),
        ("what does lukewarm mean?", "moderately warm", "lukewarm"),
        ("how do i get coffee stains out of a shirt", "alcohol", "se_coffee"),
        ("python shallow copy versus deepcopy difference", "compound object", "library/copy"),
        ("first sentence of alice in wonderland please", "very tired of sitting by her sister", "Alice"),
    ],
    ids=["cause", "greeting", "typos", "line-of-a-book", "word", "how-to", "comparison", "first-line"],
)
def test_question_of_a_person_is_answered(library: StdioServer, question: str, answer: str, source: str) -> None:
    text, meta = ask(library, question)

    assert answer in text
    assert source in text
    assert meta["openzim/answered"] is True


def test_unknown_word_is_named(library: StdioServer) -> None:
    text, meta = ask(library, "What did the scientist Zorblax Quimby discover?")

    assert text.startswith("Not found here: no archive has the word 'zorblax'.")
    assert meta["openzim/answered"] is False
    assert 0 <= meta["openzim/confidence"] < 0.5
    assert len(meta["openzim/sources"]) <= 2


@pytest.mark.parametrize(
    "question",
    ["whats my wifi password i forgot it again", "is it going to rain in perth tomorrow", "how do you make shakshuka"],
)
def test_question_without_an_answer_is_refused_in_few_tokens(library: StdioServer, question: str) -> None:
    text, meta = ask(library, question)

    assert text.startswith("Not found here: ")
    assert tokens.estimate(text) <= 150
    assert text.count("\nSource: ") == len(meta["openzim/sources"]) <= 2


def test_sources_of_an_answer_can_be_opened(library: StdioServer) -> None:
    text, meta = ask(library, "how heavy is a hippo?")
    source = meta["openzim/sources"][0]

    assert source["archive"] == "wikipedia_en_100_mini_2022-10.zim"
    assert source["title"] == "Hippopotamus"
    assert source["uri"] in text
    assert library.request("resources/read", {"uri": source["uri"]})["contents"]


def test_briefing_says_whether_it_answers(library: StdioServer) -> None:
    result = library.request(
        "tools/call", {"name": "zim_query", "arguments": {"query": "how heavy is a hippo?", "synthesize": True}}
    )

    assert result["structuredContent"]["answered"] is True
    assert 0.5 < result["structuredContent"]["confidence"] <= 1


def test_answers_can_be_stricter(zims: Path, open_server: Callable[..., StdioServer]) -> None:
    question = "who invented those chalk signs people drew on walls to show where free wifi was"
    archive = zims / "built/se_coffee.zim"

    lenient, _ = ask(open_server(archive, CONTENT__ANSWERS="lenient"), question)
    strict, _ = ask(open_server(archive, CONTENT__ANSWERS="strict"), question)

    assert strict.startswith("Not found here: ")
    assert len(lenient) >= len(strict)


def test_dictionary_has_no_say_in_what_a_title_means(library: StdioServer) -> None:
    text, _ = ask(library, "summary of Frankenstein")

    assert "dictionary_pub" not in text


def test_comparison_says_whether_it_answers(library: StdioServer) -> None:
    text, meta = ask(library, "difference between espresso and drip coffee")

    assert "espresso" in text.lower()
    assert isinstance(meta["openzim/answered"], bool)
