from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.worker.search.language import language_by_code
from openzim_mcp.worker.search.passage_index import using_words
from openzim_mcp.worker.search.query import Term
from openzim_mcp.worker.search.word_index import StemTokenizer, WordIndex
from openzim_mcp.worker.zim import Archive
from support.archives import build_index, write_zim

INFARCTION = """
<h1>Myocardial infarction</h1><p><b>Myocardial infarction</b> happens when blood stops flowing to the heart.</p>
<h2>Causes</h2><p>Smoking, obesity and high cholesterol.</p><ul><li>Stress</li></ul>
"""
PAGES = {
    "Myocardial_infarction": INFARCTION,
    "Attack_(chess)": "<h1>Attack (chess)</h1><p>A move that threatens a piece.</p>",
    "C++": "<h1>C++</h1><p>C++ is a programming language of AT&amp;T.</p>",
    "One": "<p>The <a href='Attack_(chess)'>gambit</a> is old.</p>",
    "Two": "<p>A <a href='Attack_(chess)'>gambit</a> wins time.</p>",
}


@pytest.fixture(params=["eng", "eng,fra"])
def index(tmp_path: Path, request: pytest.FixtureRequest) -> WordIndex:
    redirects = {"Heart attack": "Myocardial_infarction"}
    path = write_zim(tmp_path / "x.zim", PAGES, redirects=redirects, metadata={"Language": request.param})
    build_index(path)
    with using_words(Archive("x", [str(path)])) as opened:
        assert opened is not None
        return opened


def terms(text: str) -> list[Term]:
    return [Term(word.text, word.stem, 1, 1.0) for word in language_by_code("en").content_words(text)]


def find(index: WordIndex, text: str) -> list[str]:
    return [page.path for page in index.find_pages(terms(text), 10)]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("obese smokers", "Myocardial_infarction"),
        ("causes cholesterol", "Myocardial_infarction"),
        ("heart attack", "Myocardial_infarction"),
        ("gambit chess", "Attack_(chess)"),
        ("C++", "C++"),
        ("AT&T", "C++"),
    ],
)
def test_best_page_has_most_of_the_words(index: WordIndex, text: str, path: str) -> None:
    assert find(index, text)[0] == path


def test_page_may_lack_words(index: WordIndex) -> None:
    assert find(index, "threatening lemurs with smoking") == ["Attack_(chess)", "Myocardial_infarction"]


@pytest.mark.parametrize("text", ["lemur", 'x" OR "y', "* NEAR("])
def test_unknown_words_find_nothing(index: WordIndex, text: str) -> None:
    assert find(index, text) == []


def test_full_match_scores_about_one(index: WordIndex) -> None:
    (full,) = index.find_pages(terms("threatened pieces"), 10)
    (half,) = index.find_pages(terms("threatened lemurs"), 10)

    assert full.score > 0.8
    assert half.score < 0.6


def test_words_of_a_passage_are_told_from_those_of_its_title(index: WordIndex) -> None:
    (page,) = index.find_pages(terms("cholesterol"), 10)
    cholesterol, cause, infarct, blood = terms("cholesterol cause infarct blood")

    assert index.terms_in(page.passages[0], [cholesterol, cause, infarct, blood]) == {cholesterol, cause, infarct}
    assert index.terms_in_title(page.passages[0], [cholesterol, cause, infarct, blood]) == {infarct}


def test_page_is_read_without_parsing_it(index: WordIndex) -> None:
    page = index.read_page("Myocardial_infarction")

    assert page is not None
    assert page.title == "Myocardial infarction"
    assert [section.title for section in page.sections] == ["", "Causes"]
    assert [(passage.section, passage.text) for passage in page.passages] == [
        (0, "**Myocardial infarction** happens when blood stops flowing to the heart."),
        (1, "Smoking, obesity and high cholesterol.\n- Stress"),
    ]
    assert page.passage(1) is page.passages[1]


def test_unknown_page_is_none(index: WordIndex) -> None:
    assert index.read_page("Nothing") is None


def test_language_of_a_text_is_that_of_its_script() -> None:
    tokenize = StemTokenizer("eng,rus,jpn")

    assert tokenize("Running dogs") == "run dog"
    assert tokenize("собаки бежали") == "собак бежа"
    assert tokenize("東京都") == "東京 京都"
