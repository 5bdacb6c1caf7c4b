"""Documents whose text is in no index of their archive: by title, by reading, and by the index of our own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from openzim_mcp.calls.archive import CheckPassageIndex
from openzim_mcp.calls.reading import ReadArticle
from openzim_mcp.calls.search import FindPassages, Question, SearchText
from openzim_mcp.worker.archive.health import check_passage_index
from openzim_mcp.worker.jobs import passage_index as job
from openzim_mcp.worker.page_timer import timer
from openzim_mcp.worker.reading.article import read_article
from openzim_mcp.worker.search.answer import find_passages
from openzim_mcp.worker.search.fulltext import search_text
from openzim_mcp.worker.zim import Archive
from support.archives import build_index, write_zim
from support.epubs import write_epub
from support.pdfs import page, write_pdf

FILLER = ["A camp is made in many ways, and each of them has a use of its own for somebody."]
DATABASE = """var DATABASE = [
{'_id': 1, 'ti': 'Field manual of water', 'dsc': "A soldier's guide to wells", 'aut': 'Ada Quill', 'fp': ['fm 10.pdf']},
{'_id': 2, 'ti': 'Sea stories', 'dsc': '', 'aut': '', 'fp': ['stories.epub']},
];"""


def _manual() -> bytes:
    pages = [page(FILLER) for _ in range(59)]
    pages[41] = page(["A covered clay jar keeps drinking water cool for a week."])
    return write_pdf(pages, outline=[(0, "Wells", 1), (0, "Keeping it", 40), (0, "Index", 59)])


PAGES: dict[str, str | bytes] = {
    "home": "<h1>Library</h1><p>Documents</p>",
    "database.js": DATABASE,
    "files/fm 10.pdf": _manual(),
    "files/stories.epub": write_epub({"one.xhtml": "<h1>Dawn</h1><p>The harpooner sharpened his lance at midnight.</p>"}),
    "files/knots.pdf": write_pdf([page(FILLER), page(["A bowline does not slip under load."])]),
    "talk": "<h1>The talk</h1><p>About cooking.</p><video><track src='talk.vtt' srclang='en'></video>",
    "talk.vtt": "WEBVTT\n\n00:03:15.000 --> 00:03:19.000\nSaffron colours the rice yellow.\n",
    "index.html": "<p>App</p>",
    "index/film": '<meta http-equiv="refresh" content="0;URL=../index.html#/watch/film"><title>Film</title>',
    "videos/film.json": json.dumps({"title": "Film", "description": "The glacier retreats quickly."}),
}  # fmt: skip


@pytest.fixture(autouse=True)
def call() -> Iterator[None]:
    timer.start_call(60, is_about_entry=False)
    yield
    timer.start_call(0, is_about_entry=False)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_zim(tmp_path / "shelf.zim", PAGES)


def _ask(path: Path, question: str) -> list[tuple[str, str, str]]:
    passages = find_passages(Archive("shelf", [str(path)]), FindPassages(Question(question), scan_seconds=5))
    return [(row.path, row.title, row.place) for row in passages.passages]


def test_document_is_found_by_its_listed_title_before_it_is_indexed(path: Path) -> None:
    assert _ask(path, "field manual water clay jar")[0] == (
        "files/fm 10.pdf",
        "Field manual of water",
        "Keeping it, p. 42",
    )


@pytest.mark.parametrize(
    ("question", "source"),
    [
        ("how long does a clay jar keep water cool", ("files/fm 10.pdf", "Field manual of water", "Keeping it, p. 42")),
        ("which knot does not slip under load", ("files/knots.pdf", "knots", "p. 2")),
        ("who sharpened his lance at midnight", ("files/stories.epub", "Sea stories", "Dawn")),
        ("what colours the rice yellow", ("talk", "talk", "03:15")),
        ("which glacier retreats", ("index/film", "index/film", "")),
    ],
)
def test_question_is_answered_from_the_index(path: Path, question: str, source: tuple[str, str, str]) -> None:
    assert build_index(path).state == "complete"

    found = _ask(path, question)

    assert (found[0][0], found[0][2]) == (source[0], source[2])
    assert "talk.vtt" not in {row[0] for row in found}


def test_search_finds_documents_by_their_text(path: Path) -> None:
    build_index(path)

    hits = search_text(Archive("shelf", [str(path)]), SearchText("bowline slip", 0, 5, 200, 5.0)).results

    assert (hits[0].path, hits[0].title, hits[0].section) == ("files/knots.pdf", "knots", "p. 2")
    assert "**bowline**" in hits[0].snippet


def test_index_is_needed_for_searches_of_documents(path: Path) -> None:
    assert check_passage_index(Archive("shelf", [str(path)]), CheckPassageIndex()).is_for_search


def test_article_of_a_document_has_its_listed_title(path: Path) -> None:
    call = ReadArticle("files/fm 10.pdf", requested="files/fm 10.pdf", offset=0, max_chars=500)

    assert read_article(Archive("shelf", [str(path)]), call).markdown.startswith("# Field manual of water\n")


def test_book_in_another_format_is_indexed_once(tmp_path: Path) -> None:
    book = "<p>The harpooner sharpened his lance.</p>"
    pages: dict[str, str | bytes] = {
        "Sea.12": book,
        "Sea_cover.12": "<p>Sea</p>",
        "Sea.12.epub": write_epub({"a.xhtml": book}),
    }
    path = write_zim(tmp_path / "books.zim", pages)

    assert build_index(path).passages == 1


TALK = """<h1>The talk</h1><p>About cooking.</p><video><track src='en.vtt' srclang='en' label='English'>
<track src='fr.vtt' srclang='fr' label='Français'><track src='it.vtt' srclang='it' label='Italiano'></video>"""
VIDEO = {
    "title": "Fire",
    "subtitlePath": "videos/x1",
    "subtitleList": [{"code": "en", "name": "English - en"}, {"code": "fr", "name": "French - fr"}],
}


def _cue(text: str) -> str:
    return f"WEBVTT\n\n00:03:15.000 --> 00:03:19.000\n{text}\n"


@pytest.fixture
def videos(tmp_path: Path) -> Path:
    pages = {
        "talk": TALK,
        "en.vtt": _cue("Saffron colours the rice yellow."),
        "fr.vtt": _cue("Le safran colore le riz en jaune."),
        "it.vtt": _cue("Lo zafferano colora il riso di giallo."),
        "index.html": "<p>App</p>",
        "index/fire": '<meta http-equiv="refresh" content="0;URL=../index.html#/watch/fire"><title>Fire</title>',
        "videos/fire.json": json.dumps(VIDEO),
        "videos/x1/video.en.vtt": _cue("Dry wood burns without smoke."),
        "videos/x1/video.fr.vtt": _cue("Le bois sec brûle sans fumée."),
    }
    return write_zim(tmp_path / "videos.zim", pages, metadata={"Language": "eng,fra"})


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("what colours the rice yellow", "talk"),
        ("qu'est-ce qui colore le riz en jaune ?", "talk"),
        ("which wood burns without smoke", "index/fire"),
        ("quel bois brûle sans fumée ?", "index/fire"),
    ],
)
def test_video_answers_in_the_languages_of_its_archive(videos: Path, question: str, path: str) -> None:
    assert build_index(videos).state == "complete"

    found = _ask(videos, question)

    assert (found[0][0], found[0][2].rpartition(" ")[2]) == (path, "03:15")
    assert not [row for row in found if row[0].endswith(".vtt")]


def test_translations_do_not_make_an_index_too_large(videos: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job, "_MAX_TRANSLATED_CHARS", -1)
    build_index(videos)

    assert _ask(videos, "what colours the rice yellow")[0][0] == "talk"
    assert _ask(videos, "safran riz jaune") == []
