from __future__ import annotations

import pytest

from openzim_mcp.calls.search import Question
from openzim_mcp.worker.readers.html.reader import read_html
from openzim_mcp.worker.search.language import detect_language
from openzim_mcp.worker.search.query import ParsedQuery, weight_terms
from openzim_mcp.worker.search.ranking import Page, best_passage_per_article, rank_passages

BOX = '<table class="infobox"><tr><th>{}</th><td>fish</td></tr></table>'


def parsed(query: str) -> ParsedQuery:
    language = detect_language("eng", query)
    terms = weight_terms(language.content_words(query), lambda _: 5, 1000)
    return ParsedQuery(query, language, terms, {}, Question(query))


def page(path: str, body: str, prior: float = 0.5) -> Page:
    return Page(path, path, read_html(f"<h1>{path}</h1>{body}".encode(), path), prior)


def test_passages_do_not_cross_sections() -> None:
    long = "word " * 90
    document = page(
        "X", f"<p>{long}</p><p>{long}</p><h2>S</h2><p>Short.</p><p>Shorter.</p><ul><li>a</li></ul>"
    ).document

    assert [(passage.section, len(passage.text) > 400) for passage in document.passages] == [
        (0, True),
        (0, True),
        (1, False),
    ]
    assert document.passages[2].text == "Short.\nShorter.\n- a"


def test_long_list_is_split_between_lines() -> None:
    items = "".join(f"<li>item number {n} of a list that goes on and on</li>" for n in range(200))
    document = page("X", f"<ul>{items}</ul>").document

    assert all(len(passage.text) <= 600 for passage in document.passages)
    assert sum(passage.text.count("item number") for passage in document.passages) == 200


TOWN = (
    "<p>A town by the sea.</p><h2>History</h2><p>It was founded in 1743 by a shipwright.</p><h2>Trade</h2><p>Fish.</p>"
)


def test_passage_with_most_query_words_comes_first() -> None:
    best = rank_passages(
        [page("Ravenport", TOWN), page("Alderwick", "<p>A hill.</p>")], parsed("who founded Ravenport")
    )

    assert best[0].passage.text == "It was founded in 1743 by a shipwright."
    assert best[0].page.path == "Ravenport"


@pytest.mark.parametrize(
    ("feature", "better", "worse", "query"),
    [
        ("window", "<p>red fish.</p>", f"<p>red {'and so on ' * 40} fish.</p>", "red fish"),
        ("phrases", "<p>cold red fish here.</p>", "<p>fish that are not red or cold.</p>", "cold red fish"),
        ("heading", "<h2>Fish</h2><p>They swim.</p>", "<h2>Other</h2><p>They swim.</p>", "fish swim"),
        ("lead", "<p>fish.</p>", "<h2>Other</h2><p>fish.</p>", "fish"),
        ("local", "<p>fish fish fish.</p>", "<p>fish now now.</p>", "fish"),
        ("fact", BOX.format("Fish"), BOX.format("Cows"), "fish"),
        ("topic", "<p>red fish.</p>", "<p>red cows.</p>", "red fish"),
        ("shared_prefix", "<p>an unfriendly place.</p>", "<p>a large place.</p>", "unfriendliness"),
    ],
)
def test_each_feature_raises_the_score(feature: str, better: str, worse: str, query: str) -> None:
    ranked = {row.page.path: row for row in rank_passages([page("a", better), page("b", worse)], parsed(query))}

    assert getattr(ranked["a"].features, feature) > getattr(ranked["b"].features, feature)
    assert ranked["a"].score > ranked["b"].score


def test_article_score_counts_several_passages() -> None:
    pages = [page("one", "<p>fish</p>"), page("many", "<p>fish</p><h2>a</h2><p>fish</p><h2>b</h2><p>fish</p>")]

    articles = best_passage_per_article(rank_passages(pages, parsed("fish")))

    assert [best.page.path for best, _ in articles] == ["many", "one"]


def test_every_article_keeps_a_passage() -> None:
    crowd = "".join(f"<h2>{n}</h2><p>red fish {n}</p>" for n in range(300))

    ranked = rank_passages([page("crowd", crowd), page("lonely", "<p>a fish</p>")], parsed("red fish"))

    assert {row.page.path for row in ranked} == {"crowd", "lonely"}


def test_page_without_text_has_no_passage() -> None:
    assert rank_passages([page("x", "")], parsed("fish")) == []
