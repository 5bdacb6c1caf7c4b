"""The archive of the demonstration answers plain questions."""

from __future__ import annotations

from collections.abc import Iterator

import founding_documents
import pytest

from support.stdio_server import StdioServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StdioServer]:
    target = tmp_path_factory.mktemp("library") / "founding-documents.zim"
    founding_documents.build_archive(target)
    with StdioServer(target.parent) as server:
        yield server


def ask(server: StdioServer, question: str) -> str:
    result = server.request("tools/call", {"name": "zim_query", "arguments": {"query": question}})
    return str(result["content"][0]["text"])


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("can the police search my house?", "unreasonable searches and seizures"),
        ("what does the fourth amendment say?", "unreasonable searches and seizures"),
        ("what is the second amendment about", "the right of the people to keep and bear Arms"),
        ("how old must the president be?", "the Age of thirty five Years"),
        ("how many senators does each state have?", "two Senators from each State"),
        ("how often can a president be elected?", "more than twice"),
    ],
)
def test_demo_archive_answers(server: StdioServer, question: str, answer: str) -> None:
    assert answer in ask(server, question)


def test_first_answer_is_the_article_that_is_named(server: StdioServer) -> None:
    assert ask(server, "what does the fourth amendment say?").startswith("The right of the people to be secure")


def test_demo_archive_says_what_it_does_not_have(server: StdioServer) -> None:
    assert ask(server, "how deep is the ocean?").startswith("Not found here: no archive has the word 'ocean'.")


def test_every_part_is_a_page() -> None:
    pages = founding_documents.read_pages()

    assert [page.title for page in pages[:2]] == ["Preamble", "Article I"]
    assert [page.title for page in pages[-2:]] == ["Amendment XXVII", "The Declaration of Independence"]
    assert sum(page.title.startswith("Amendment") for page in pages) == 27


def test_texts_have_their_source() -> None:
    assert "public domain" in (founding_documents.TEXTS / "README.md").read_text(encoding="utf-8")
