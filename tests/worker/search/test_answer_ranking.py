from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from openzim_mcp.app.query.questions import analyze_question
from openzim_mcp.calls.search import FindPassages, Passage, Question
from openzim_mcp.worker.search.answer import find_passages
from openzim_mcp.worker.search.answer_ranking import is_fact_asked
from openzim_mcp.worker.zim import Archive
from support.archives import build_index, write_zim


def ask(archive: Archive, question: str | Question) -> list[Passage]:
    """The passages for a question, the best first."""
    asked = analyze_question(question) if isinstance(question, str) else question
    return find_passages(archive, FindPassages(asked, scan_seconds=5.0)).passages


def make_archive(directory: Path, pages: dict[str, str]) -> Archive:
    return Archive("x", [str(write_zim(directory / "x.zim", pages))])


@pytest.mark.parametrize(
    ("name", "asked", "expected"),
    [
        ("Designed by", {"designed by"}, True),
        ("DESIGNED BY:", {"designed by"}, True),
        ("Área", {"area"}, True),
        ("Area (total)", {"area"}, True),
        ("Original author", {"author"}, True),
        ("Authority", {"author"}, False),
        ("Born in the area of", {"area"}, False),
        ("Designed by", set(), False),
        ("", {"area"}, False),
    ],
)
def test_fact_is_asked_by_its_name(name: str, asked: set[str], *, expected: bool) -> None:
    assert is_fact_asked(name, asked) is expected


LINE = "it was the best of times it was the worst of times"
BOOKS = {
    "Jumbled": "<h1>Jumbled</h1><p>Times of the worst are best, and the times it was are of the best: worst it was.</p>",
    "Exact": "<h1>Exact</h1><p>It was the best of times,<br>it was the worst of times — it was the age of wisdom.</p>",
    "Essay": "<h1>Essay on times</h1><p>The best of times and the worst of times are said of every age.</p>",
}


@pytest.mark.parametrize("quotes", [[LINE], ["it was the best of times", "something else entirely here"]])
def test_quoted_words_are_found_as_they_stand(tmp_path: Path, quotes: list[str]) -> None:
    archive = make_archive(tmp_path, BOOKS)

    assert ask(archive, Question(LINE, quotes=quotes))[0].path == "Exact"


def test_quote_raises_the_score(tmp_path: Path) -> None:
    archive = make_archive(tmp_path, BOOKS)

    quoted, plain = (
        {passage.path: passage.score for passage in ask(archive, Question(LINE, quotes=quotes))}
        for quotes in ([LINE], [])
    )

    assert quoted["Exact"] - plain["Exact"] > quoted["Essay"] - plain["Essay"] >= 0
    assert quoted["Jumbled"] == plain["Jumbled"]


def test_passage_with_the_kind_of_answer_comes_first(tmp_path: Path) -> None:
    pages = {
        "Foo": "<h1>Foo</h1><p>A place.</p><h2>Bridge</h2><p>The bridge opened with a large feast of the town.</p>"
        "<h2>Bridge again</h2><p>The bridge opened in 1894 to the joy of the town.</p>"
    }

    assert "1894" in ask(make_archive(tmp_path, pages), "when did the Foo bridge open?")[0].text


def test_passage_in_the_script_of_the_question_comes_first(tmp_path: Path) -> None:
    pages = {
        "English": "<h1>Debian English</h1><p>Debian Linux kernel GRUB.</p>",
        "Русский": "<h1>Debian Русский</h1><p>Ядро Debian Linux и GRUB.</p>",
    }

    assert ask(make_archive(tmp_path, pages), "ядро debian linux grub")[0].path == "Русский"


@pytest.mark.parametrize(
    ("question", "path", "asker"),
    [
        (
            "how do i clean a moka pot",
            "questions/122/when-and-how-should-i-clean-my-moka-pot",
            "I regularly use a moka pot",
        ),
        (
            "does sugar add a sour taste to coffee",
            "questions/1619/how-does-sugar-influence-the-taste",
            "I have been told",
        ),
    ],
)
def test_answer_comes_before_what_was_asked(zims: Path, question: str, path: str, asker: str) -> None:
    archive = Archive("coffee", [str(zims / "built/se_coffee.zim")])

    passages = [passage for passage in ask(archive, question) if passage.path == path]

    assert len(passages) > 1
    assert not passages[0].text.startswith(asker)


def test_key_fact_of_the_relation_comes_first_among_facts(zims: Path) -> None:
    archive = Archive("wiki", [str(zims / "built/wiki_real_pub.zim")])

    passages = [passage for passage in ask(archive, "who created python") if passage.path.startswith("Python_(prog")]
    facts = [passage.text for passage in passages if passage.text.startswith("- Python\n- ")]

    assert "- Designed by: Guido van Rossum" in facts[0]


def test_ranking_is_the_same_every_time(isles: Archive) -> None:
    assert ask(isles, "harbour town founded herring") == ask(isles, "harbour town founded herring")


NOVEL = """
<h1>The Grey Harbour</h1><h2>Contents</h2><p>Chapter 1<br>The boat<br>Chapter 2<br>The storm</p><h2>Chapter 1</h2>
<p>Nobody in the grey town had ever seen a boat that left the harbour without its captain on board.</p>
<p>The harbour was grey, the grey sea was grey, and the first line of the story is not this one, as it is the second.</p>
<h2>Chapter 2</h2><p>And so the boat came home in the morning, alone, with all of its lanterns still burning.</p>
<p>THE END</p>
"""


@pytest.mark.parametrize(
    ("question", "start"),
    [
        ("what is the first line of the grey harbour", "Nobody in the grey town"),
        ("how does the novel end, the grey harbour", "And so the boat came home"),
    ],
)
@pytest.mark.parametrize("is_indexed", [False, True])
def test_start_or_end_of_a_text_comes_first(tmp_path: Path, question: str, start: str, *, is_indexed: bool) -> None:
    archive = make_archive(tmp_path, {"The_Grey_Harbour": NOVEL, "Line": "<p>The first line of a novel ends it.</p>"})
    if is_indexed:
        build_index(tmp_path / "x.zim")

    assert ask(archive, question)[0].text.startswith(start)


HORSES = {
    "Horse": "<h1>Horse</h1><p>A horse is a large animal that people ride and that lives on a farm.</p>",
    "Boy": "<h1>Boy</h1><p>A boy is a young male person, not a horse or another animal.</p>",
    "Colt": "<h1>Colt</h1><p>A young male equine that is less than four years old, before it is grown.</p>",
}


def test_name_of_what_is_described_is_not_a_word_of_the_description(tmp_path: Path) -> None:
    path = write_zim(tmp_path / "x.zim", HORSES, metadata={"Language": "eng"})
    build_index(path)
    archive = Archive("x", [str(path)])
    question = analyze_question("what do you call a horse that is male and less than four years old")

    assert "name" in question.kinds
    assert ask(archive, question)[0].path == "Colt"
    described, named = (
        {row.path: row.score for row in reversed(ask(archive, msgspec.structs.replace(question, kinds=kinds)))}
        for kinds in (["name"], [])
    )
    assert described["Colt"] - described["Horse"] > named["Colt"] - named["Horse"]


def test_running_text_comes_before_pictures(tmp_path: Path) -> None:
    pictures = "<p><img src='a.png' alt='Tower of the docks of Grimsby'></p>"
    text = "<p>There were plans to demolish the tower of Grimsby in the war, as it was a beacon for planes.</p>"
    archive = make_archive(tmp_path, {"Tower": f"<h1>Tower</h1>{pictures}{pictures}<h2>War</h2>{text}"})

    assert "beacon" in ask(archive, "why tear down the tower of the docks of Grimsby")[0].text


PEOPLE = {
    "Lilly_Stein": "<h1>Lilly Stein</h1><p>Lilly Stein was a pilot who flew across the Alps.</p>",
    "Ada_Stone": "<h1>Ada Stone</h1><p>Ada Stone was a pilot. Her husband was Carl Stone.</p>",
}


@pytest.mark.parametrize(
    ("question", "expected"), [("who was Lilly Stein married to", True), ("who was Ada Stone married to", False)]
)
def test_page_may_lack_the_relation(tmp_path: Path, question: str, *, expected: bool) -> None:
    lack = ask(make_archive(tmp_path, PEOPLE), question)[0].lack

    assert lack.relation is expected


def test_page_is_far_from_a_heavy_word_that_it_lacks(tmp_path: Path) -> None:
    archive = make_archive(tmp_path, PEOPLE)

    far = ask(archive, "Lilly Stein photosynthesis")[0].lack
    near = ask(archive, "Lilly Stein aviator")[0].lack

    assert ask(archive, "Lilly Stein pilot")[0].lack.absence == 0.0
    assert 0.0 < near.absence < far.absence <= 1.0
    assert far.words == ["photosynthesis"]
