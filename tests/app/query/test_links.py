from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from openzim_mcp import tokens
from openzim_mcp.app.query.excerpts import Source
from openzim_mcp.app.query.links import add_links
from openzim_mcp.app.query.reply import Reply
from support.http_server import STATELESS_VERSION, HttpServer, McpClient, result_text
from support.stdio_server import StdioServer

BASE = "http://zim.example"
DOG = Source("wiki_2026-01.zim", "Dog", "Dog", "zim://wiki_2026-01/entry/Dog", "Early life", "Early_life")
CAT = Source("wiki_2026-01.zim", "A/Cat?", "Cat", "zim://wiki_2026-01/entry/A/Cat%3F")
QUESTIONS = [
    "how do I clean a french press",
    "why is coffee bitter",
    "how do I make cold brew coffee",
    "what is espresso",
    "how fine should I grind coffee",
    "what is the difference between arabica and robusta",
    "how much caffeine is in a cup of coffee",
    "what water temperature is best",
    "how long do roasted beans last",
    "why does my espresso taste sour",
]


def test_sources_have_urls_with_their_sections() -> None:
    reply = add_links(Reply("A dog.", cited=(DOG, CAT)), BASE)

    assert [source.url for source in reply.cited] == [
        "http://zim.example/read/wiki_2026-01/Dog#Early_life",
        "http://zim.example/read/wiki_2026-01/A/Cat%3F",
    ]


@pytest.mark.parametrize(("words", "count"), [(20, 0), (200, 1), (2000, 2)])
def test_text_has_links_that_are_worth_their_tokens(words: int, count: int) -> None:
    reply = Reply("word " * words, cited=(DOG, CAT), last_line="[offset=2 continues]")

    linked = add_links(reply, BASE)

    urls = ["http://zim.example/read/wiki_2026-01/Dog", "http://zim.example/read/wiki_2026-01/A/Cat%3F"][:count]
    assert linked.links == tuple(urls)
    assert linked.markdown.endswith("[offset=2 continues]")
    assert all(url in linked.markdown for url in urls)
    assert tokens.estimate(linked.markdown) <= tokens.estimate(reply.markdown) * 1.1


def test_links_keep_the_budget() -> None:
    reply = Reply("word " * 2000, cited=(DOG,))

    assert add_links(reply, BASE, max_tokens=int(tokens.estimate(reply.markdown) * 1.1)).links == ()


def test_reply_that_found_nothing_shows_no_links() -> None:
    assert add_links(Reply("Not found here. " * 100, cited=(DOG,), is_empty=True), BASE).links == ()


@pytest.fixture(scope="module")
def coffee_server(zims: Path) -> Iterator[HttpServer]:
    settings = {"PUBLIC_URL": "https://zim.example/"}
    with HttpServer((zims / "built" / "se_coffee.zim",), settings) as server:
        yield server


def test_typical_answers_grow_by_a_tenth_at_most(coffee_server: HttpServer, zims: Path) -> None:
    """Over HTTP sources have links; over stdio the same answers have none."""
    with McpClient(coffee_server.url, STATELESS_VERSION) as client:
        linked = [client.call("zim_query", query=question) for question in QUESTIONS]
    with StdioServer(zims / "built" / "se_coffee.zim") as server:
        calls = [{"name": "zim_query", "arguments": {"query": question}} for question in QUESTIONS]
        plain = [result_text(server.request("tools/call", call)) for call in calls]

    texts = [result_text(result) for result in linked]
    assert all(tokens.estimate(long) <= 1.1 * tokens.estimate(short) for long, short in zip(texts, plain, strict=True))
    assert sum("\nOpen: https://zim.example/read/se_coffee/" in text for text in texts) >= 5
    assert not any("zim.example" in text for text in plain)
    sources = [row for result in linked for row in result.get("_meta", {}).get("openzim/sources", [])]
    assert sources
    assert all(row["url"].startswith("https://zim.example/read/se_coffee/") for row in sources)


def test_links_use_the_address_of_the_request(town_zim: Path) -> None:
    with HttpServer((town_zim,)) as server, McpClient(server.url, STATELESS_VERSION) as client:
        result = client.call("zim_query", query="who founded Ravenport?")

    assert result["_meta"]["openzim/sources"][0]["url"] == f"{server.root}/read/towns_en_all_2026-01/Ravenport"
