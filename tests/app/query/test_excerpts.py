from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from openzim_mcp import tokens
from openzim_mcp.app.query.answers import merge_passages
from openzim_mcp.app.query.excerpts import (
    BriefingPassage,
    Citation,
    Excerpt,
    by_characters,
    by_estimate,
    cite_passages,
    select_excerpts,
    select_sentences,
    to_briefing,
    to_markdown,
)
from openzim_mcp.app.query.questions import analyze_question
from openzim_mcp.calls.search import FindPassages, Passage, PassageFit, Passages, Sentence
from openzim_mcp.text import normalize, tokenize
from openzim_mcp.worker.search.answer import find_passages, split_sentences
from openzim_mcp.worker.search.language import language_by_code
from openzim_mcp.worker.zim import Archive

ENGLISH = language_by_code("en")


def make_passage(text: str, weights: dict[str, float], score: float = 1.0, archive: str = "a.zim") -> Passage:
    """A passage for a question of which these are the stems; naming its source costs ten tokens."""

    def share(sentence: str) -> float:
        stems = {ENGLISH.stem(word) for word in tokenize(normalize(sentence))}
        return sum(weight for stem, weight in weights.items() if stem in stems) / sum(weights.values())

    sentences = [Sentence(sentence, share(sentence)) for sentence in split_sentences(text)]
    return Passage(archive, "x", "xx", "", "", sentences, score, PassageFit(0.0, 0.0, 0.0, 0.0))


def ask(archive: Archive, query: str) -> Passages:
    return find_passages(archive, FindPassages(analyze_question(query), scan_seconds=5.0))


def test_best_sentence_is_shown_with_gaps_marked() -> None:
    text = (
        "The sea is wide and blue there. Gulls cry over the quiet harbour. The town was founded by a shipwright. "
        "Bread is baked in the old street. Nobody knows the mayor."
    )

    (excerpt,) = select_sentences([make_passage(text, {"found": 2.0, "shipwright": 3.0})], 24, by_characters)

    assert excerpt == "… The town was founded by a shipwright. …"


def test_fitting_text_is_shown_whole() -> None:
    text = "Ravenport is a town. It lies by the sea."

    assert select_sentences([make_passage(text, {"town": 1.0})], 100, by_characters) == [text]


def test_adjacent_sentence_is_preferred() -> None:
    text = (
        "Gulls cry over the harbour wall. The town was founded by a shipwright. Its bread is baked in a street. "
        "The mayor has a house by the sea. Nobody knows the way to the sea. Its bells ring in the tall tower."
    )

    (excerpt,) = select_sentences([make_passage(text, {"shipwright": 3.0})], 54, by_characters)

    assert excerpt == text[: text.index(" Nobody")] + " …"


def test_endless_sentence_is_cut_to_the_budget() -> None:
    (excerpt,) = select_sentences([make_passage("word " * 1000, {"x": 1.0})], 60, by_estimate)

    assert 0 < tokens.estimate(excerpt) <= 60


def test_repeated_sentence_is_shown_once() -> None:
    text = "The old harbour of Ravenport was built by Ada Quill in 1743."
    passages = [make_passage(text, {"harbour": 1.0}), make_passage(f"{text} ", {"harbour": 1.0}, 0.9, "b.zim")]

    assert select_sentences(passages, 500, by_characters) == [text, ""]


def test_better_passage_is_completed_first() -> None:
    better = "Ada Quill founded the town of Ravenport. She came from the village of Alderwick."
    worse = "The town has a railway and a bank. The bank was founded much later by somebody else."
    passages = [make_passage(worse, {"town": 1.0}, 0.5), make_passage(better, {"town": 1.0}, 1.5, "b.zim")]

    assert select_sentences(passages, 35, by_characters) == ["", better]


@pytest.mark.parametrize(
    ("text", "start"),
    [
        ("J. K. Rowling wrote the book in 1997. It was read by many people there.", "J. K. Rowling wrote the book"),
        ("Er kam am 3. Oktober in die Stadt zurück und blieb. Dann ging er wieder fort.", "Er kam am 3. Oktober in"),
        ("这座城市建于一七四三年，由造船师艾达建立。后来它成为重要的港口城市。", "这座城市建于"),
    ],
)
def test_text_is_cut_at_sentence_ends(text: str, start: str) -> None:
    passage = make_passage(text, {"book": 1.0, "oktob": 1.0, "建立": 1.0})

    (excerpt,) = select_sentences([passage], 10 + len(text) / 4 * 0.75, by_characters)

    assert excerpt.startswith(start)
    assert excerpt.endswith(" …")


def test_code_is_not_cut() -> None:
    code = "```python\nfirst = call_me()\nsecond = call_you()\n```"
    text = f"The function is called so in a program.\n{code}\nNothing more is known of it here."

    (excerpt,) = select_sentences([make_passage(text, {"function": 1.0, "call": 1.0})], 34, by_characters)

    assert code in excerpt or "```" not in excerpt


def test_introduction_is_shown_with_what_it_introduces() -> None:
    text = "The town has a few rules for boats:\n- Boats pay a toll in the harbour.\n- Boats leave at dawn.\n"
    passage = make_passage(f"{text}Nothing else is known about the old harbour of this town.", {"rule": 3.0})

    for budget in range(12, 60):
        (excerpt,) = select_sentences([passage], budget, by_characters)

        assert ("rules for boats" in excerpt) <= ("pay a toll" in excerpt or not excerpt.startswith("The town has"))


def test_introduction_at_the_end_is_left_out() -> None:
    passage = make_passage("The harbour has a toll for boats. The toll of the harbour is as follows:", {"toll": 1.0})

    assert select_sentences([passage], 200, by_characters) == ["The harbour has a toll for boats. …"]


def test_code_is_shown_with_its_sentence() -> None:
    code = "```sql\nSELECT toll FROM harbour;\n```\n"
    text = f"The gulls cry over the wall all day. This query finds the price.\n{code}The sea is wide and blue there."

    (excerpt,) = select_sentences([make_passage(text, {"toll": 1.0, "harbour": 1.0})], 31, by_characters)

    assert "This query finds the price.\n```sql" in excerpt


def post(title: str, text: str, position: int, score: float, *, is_asked: bool = False) -> Passage:
    row = make_passage(text, {"jar": 1.0}, score)
    changes = {"section_id": title, "section_title": title, "post_title": title}
    return msgspec.structs.replace(row, position=position, is_asked=is_asked, **changes)


def test_posts_are_shown_apart_best_first_and_the_question_is_not() -> None:
    passages = [
        post("Answer by Bob (score 2)", "Any jar will do if it is clean.", 3, 1.0),
        post("Question by Eve (score 1)", "Should I put the jar into the sun?", 0, 0.95, is_asked=True),
        post("Answer by Ann (score 9, accepted)", "A dark jar keeps coffee fresh.", 2, 0.9),
        post("Answer by Ann (score 9, accepted)", "Never use a jar of glass.", 1, 0.9),
    ]

    assert to_markdown(select_excerpts(passages, 500, by_characters)) == (
        "Answer by Ann (score 9, accepted):\nNever use a jar of glass.\n\nA dark jar keeps coffee fresh.\n\n"
        "Answer by Bob (score 2):\nAny jar will do if it is clean.\nSource: xx — a.zim — zim://a/entry/x"
    )


def test_question_that_is_all_there_is_says_who_asks() -> None:
    passages = [post("Question by Eve (score 1)", "Is the jar safe?", 0, 1.0, is_asked=True)]

    assert to_markdown(select_excerpts(passages, 500, by_characters)).startswith("Question by Eve (score 1):\nIs the")


def test_sentences_of_a_section_are_in_the_order_of_the_page() -> None:
    first, second = (
        msgspec.structs.replace(make_passage(text, {"toll": 1.0}, score), section_id="s", position=position)
        for text, score, position in (("First the toll is paid.", 0.9, 4), ("Then the toll is counted.", 1.0, 5))
    )

    markdown = to_markdown(select_excerpts([second, first], 500, by_characters))

    assert markdown.startswith("First the toll is paid.\n\nThen the toll is counted.\nSource: ")


def test_real_answers_are_shown_below_their_authors(zims: Path) -> None:
    archive = Archive("coffee", [str(zims / "built/se_coffee.zim")])

    passages = ask(archive, "Are reused glass jars fit for storing ground coffee?").passages
    markdown = to_markdown(select_excerpts(passages, 600, by_characters))

    assert markdown.startswith("Answer by user100 (score 7):\nThe Short answer to this is no.")
    assert "\n\nAnswer by user16 (score 5):\n" in markdown
    assert "I'm looking for some small container" not in markdown
    assert "Viewed" not in markdown


def test_real_code_is_shown_after_its_introduction(zims: Path) -> None:
    archive = Archive("sqlite", [str(zims / "real/devdocs_en_sqlite_2025-04.zim")])

    for question in ("how do I create an index on an expression", "Which restrictions apply to upsert?"):
        markdown = to_markdown(select_excerpts(ask(archive, question).passages, 600, by_characters))

        lines = [line for line in markdown.split("\n") if line]
        blocks = [number for number, line in enumerate(lines) if line.startswith("```")][::2]
        assert blocks
        assert all(number and not lines[number - 1].startswith(("Source: ", "```")) for number in blocks)
        followed = zip(lines, [*lines[1:], ""], strict=True)
        assert not [line for line, after in followed if line.endswith(":") and after.startswith(("Source: ", "…"))]


def test_excerpt_is_shown_with_its_source(isles: Archive) -> None:
    excerpts = select_excerpts(ask(isles, "Who founded Ravenport?").passages, 600, by_characters)

    assert excerpts[0].uri == "zim://isles/entry/Ravenport"
    assert to_markdown(excerpts[:1]) == (
        "The town was founded in 1743 by the shipwright Ada Quill, who came from Alderwick.\n"
        "Source: Ravenport › History — isles.zim — zim://isles/entry/Ravenport"
    )


def test_cited_passages_are_those_of_the_text(isles: Archive) -> None:
    excerpts = select_excerpts(
        ask(isles, "herring and rope sold by the harbour town founded by Ada").passages, 600, by_characters
    )

    passages = cite_passages(excerpts)

    assert len(passages) == len(excerpts) > 1
    markdown = to_markdown(excerpts)
    assert [markdown.index(passage.text) for passage in passages] == sorted(
        markdown.index(passage.text) for passage in passages
    )
    assert {(passage.uri, passage.section) for passage in passages} == {
        (excerpt.uri, excerpt.passage.section_title or None) for excerpt in excerpts
    }


def test_article_is_cited_once(isles: Archive) -> None:
    passages = ask(isles, "herring and rope sold by the harbour town founded by Ada")

    markdown = to_markdown(select_excerpts(passages.passages, 600, by_characters))

    assert markdown.count("zim://isles/entry/Ravenport") == 1


def repeat(passage: Passage) -> list[Sentence]:
    """The sentences of a passage, twenty times."""
    return [Sentence(f"{sentence.text.rstrip()} ", sentence.share) for sentence in passage.sentences] * 20


@pytest.mark.parametrize("budget", [100, 200, 500])
def test_answer_stays_inside_the_budget(isles: Archive, budget: int) -> None:
    answer = ask(isles, "harbour town founded herring")
    long_passages = [msgspec.structs.replace(passage, sentences=repeat(passage)) for passage in answer.passages]

    markdown = to_markdown(select_excerpts(long_passages, budget, by_estimate))

    assert 0 < tokens.estimate(markdown) <= budget


def test_same_passage_of_two_archives_is_shown_once(isles: Archive) -> None:
    answer = ask(isles, "Who founded Ravenport?")
    copied = [msgspec.structs.replace(passage, archive="other.zim") for passage in answer.passages]

    passages = merge_passages({"isles": answer, "other": Passages("other.zim", copied)}, {})

    assert [passage.archive for passage in passages] == ["isles.zim"] * len(answer.passages)


def test_briefing_cites_sources_by_number(isles: Archive) -> None:
    answer = ask(isles, "Who founded Ravenport?")
    excerpts = select_excerpts(answer.passages, 1200, by_characters)

    briefing = to_briefing("Who founded Ravenport?", excerpts, ["isles.zim"], is_answered=True, confidence=0.9)

    assert briefing.query == "Who founded Ravenport?"
    assert briefing.citations[0] == Citation(
        id=1, archive="isles.zim", path="Ravenport", title="Ravenport", uri="zim://isles/entry/Ravenport"
    )
    assert "who came from Alderwick. [1]" in briefing.answer_markdown
    assert briefing.total_chars == len(briefing.answer_markdown)
    assert briefing.passages[0] == BriefingPassage(
        archive="isles.zim",
        path="Ravenport",
        title="Ravenport",
        section_id="History",
        section_title="History",
        text="The town was founded in 1743 by the shipwright Ada Quill, who came from Alderwick.",
        score=answer.passages[0].score,
    )
    assert msgspec.to_builtins(briefing)["passages"][0].keys() == {
        "archive", "path", "title", "section_id", "section_title", "text", "score",
    }  # fmt: skip
    assert briefing.archives_searched == ["isles.zim"]


@pytest.mark.parametrize(
    ("path", "uri"),
    [("A/b c", "zim://x/entry/A/b%20c"), ("Zürich", "zim://x/entry/Zürich"), ("c#?%", "zim://x/entry/c%23%3F%25")],
)
def test_excerpt_uri_escapes_only_what_it_must(path: str, uri: str) -> None:
    passage = Passage("x.zim", path, "x", "", "", [], 1.0, PassageFit(0.0, 0.0, 0.0, 0.0))

    assert Excerpt(passage, "").uri == uri


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What is the population of Brazil?", "186,757,608"),
        ("what is the currency of brazil", "Real (R$)"),
        ("how tall is darren lockyer", "178 cm"),
        ("how heavy would I be on Jupiter?", "| Jupiter | 2.640 |"),
    ],
)
def test_key_fact_or_table_row_answers(zims: Path, question: str, answer: str) -> None:
    archive = Archive("wiki", [str(zims / "built/wiki_real_pub.zim")])

    assert answer in to_markdown(select_excerpts(ask(archive, question).passages, 600, by_characters))


def test_key_fact_that_is_asked_for_comes_before_other_passages_of_its_article() -> None:
    fit = PassageFit(1.0, 1.0, 1.0, 1.0)
    lead = Passage("x.zim", "Dam", "Dam", "", "", [Sentence("The dam is in Nevada.", 0.5)], 2.0, fit)
    cost = [Sentence("- Cost: $49 million", 1.0, has_answer=True, is_fact=True)]
    facts = Passage("x.zim", "Dam", "Dam", "", "", cost, 1.9, fit, position=1, is_facts=True)

    text = to_markdown([Excerpt(lead, lead.text), Excerpt(facts, facts.text)])

    assert text.index("$49 million") < text.index("Nevada")
