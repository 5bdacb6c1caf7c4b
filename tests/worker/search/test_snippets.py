from __future__ import annotations

import pytest

from openzim_mcp.worker.search import query as queries
from openzim_mcp.worker.search.language import language_of
from openzim_mcp.worker.search.query import Wanted
from openzim_mcp.worker.search.snippets import snippet


def wanted(query: str, codes: str = "eng") -> Wanted:
    language = language_of(codes, query)
    terms = queries.weigh(language.content_words(query), lambda _: 1, 100)
    return Wanted(query, language, terms, {})


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
def test_words_of_the_query_are_bold(text: str, query: str, expected: str) -> None:
    assert snippet(text, wanted(query), 300) == expected


def test_the_part_that_matches_is_shown_from_the_start_of_its_sentence() -> None:
    shown = snippet(f"{FILLER}The town was founded by Ada. {FILLER}", wanted("who founded the town"), 120)

    assert shown.startswith("… The **town** was **founded** by Ada. Nothing")
    assert shown.endswith(" …")
    assert len(shown) < 120 + len("… **** **** …")


def test_of_two_places_the_one_with_more_words_is_shown() -> None:
    text = f"A town. {FILLER} The founder of the town was Ada. {FILLER}"

    assert "**founder**" in snippet(text, wanted("founder of the town"), 150)


def test_text_without_spaces_is_cut_between_characters() -> None:
    shown = snippet("字" * 500 + "软件包" + "字" * 500, wanted("软件包", "zho"), 100)

    assert "**软件包**" in shown
    assert len(shown) <= 110
