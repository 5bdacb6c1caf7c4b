from __future__ import annotations

import pytest

from openzim_mcp.calls.search import Question
from openzim_mcp.worker.search.language import detect_language
from openzim_mcp.worker.search.query import ParsedQuery, weight_terms
from openzim_mcp.worker.search.snippets import make_snippet


def parsed(query: str, codes: str = "eng") -> ParsedQuery:
    language = detect_language(codes, query)
    terms = weight_terms(language.content_words(query), lambda _: 1, 100)
    return ParsedQuery(query, language, terms, {}, Question(query))


FILLER = "Nothing of interest is said here. " * 20


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        ("Ada Quill founded the town.", "who founded towns", "Ada Quill **founded** the **town**."),
        ("Über Zürich.", "zurich", "Über **Zürich**."),
        ("**Bold** and `code` are\nplain.", "code", "Bold and **code** are plain."),
        ("伪装软件包和元包是相似的", "软件包", "伪装**软件包**和元包是相似的"),
        ("C++ and C", "c++", "**C++** and C"),
        ("Nothing matches.", "zebra", "Nothing matches."),
    ],
)
def test_query_words_are_bold(text: str, query: str, expected: str) -> None:
    assert make_snippet(text, parsed(query), 300) == expected


def test_snippet_starts_with_the_matching_sentence() -> None:
    text = make_snippet(f"{FILLER}The town was founded by Ada. {FILLER}", parsed("who founded the town"), 120)

    assert text.startswith("… The **town** was **founded** by Ada. Nothing")
    assert text.endswith(" …")
    assert len(text) < 120 + len("… **** **** …")


def test_snippet_is_where_most_words_are() -> None:
    text = f"A town. {FILLER} The founder of the town was Ada. {FILLER}"

    assert "**founder**" in make_snippet(text, parsed("founder of the town"), 150)


def test_text_without_spaces_is_cut_between_characters() -> None:
    text = make_snippet("字" * 500 + "软件包" + "字" * 500, parsed("软件包", "zho"), 100)

    assert "**软件包**" in text
    assert len(text) <= 110
