from __future__ import annotations

import pytest

from openzim_mcp import tokens
from openzim_mcp.app.query import excerpts
from openzim_mcp.worker.search.answer import by_characters, by_estimate
from openzim_mcp.worker.search.language import by_code


def passage(
    text: str, words: dict[str, float], score: float = 1.0, source: str = "zim://a/entry/x"
) -> excerpts.Passage:
    return excerpts.Passage(text, score, excerpts.Asked(by_code("en"), words), source, naming=10, naming_again=2)


def test_the_sentences_that_tell_most_are_shown_and_gaps_are_marked() -> None:
    text = (
        "The sea is wide and blue there. Gulls cry over the quiet harbour. The town was founded by a shipwright. "
        "Bread is baked in the old street. Nobody knows the mayor."
    )

    (shown,) = excerpts.choose([passage(text, {"found": 2.0, "shipwright": 3.0})], 24, by_characters)

    assert shown == "… The town was founded by a shipwright. …"


def test_a_text_that_fits_is_shown_whole() -> None:
    text = "Ravenport is a town. It lies by the sea."

    assert excerpts.choose([passage(text, {"town": 1.0})], 100, by_characters) == [text]


def test_of_two_sentences_that_tell_alike_the_one_that_goes_on_is_shown() -> None:
    text = (
        "Gulls cry over the harbour wall. The town was founded by a shipwright. Its bread is baked in a street. "
        "The mayor has a house by the sea. Nobody knows the way to the sea. Its bells ring in the tall tower."
    )

    (shown,) = excerpts.choose([passage(text, {"shipwright": 3.0})], 54, by_characters)

    assert shown == text[: text.index(" Nobody")] + " …"


def test_a_sentence_without_an_end_is_cut_to_the_budget() -> None:
    (shown,) = excerpts.choose([passage("word " * 1000, {"x": 1.0})], 60, by_estimate)

    assert 0 < tokens.estimate(shown) <= 60


def test_what_one_passage_says_is_not_said_by_another() -> None:
    text = "The old harbour of Ravenport was built by Ada Quill in 1743."
    passages = [passage(text, {"harbour": 1.0}), passage(f"{text} ", {"harbour": 1.0}, 0.9, "zim://b/entry/x")]

    assert excerpts.choose(passages, 500, by_characters) == [text, ""]


def test_of_a_much_worse_passage_nothing_is_shown_before_the_better_one_is_whole() -> None:
    better = "Ada Quill founded the town of Ravenport. She came from the village of Alderwick."
    worse = "The town has a railway and a bank. The bank was founded much later by somebody else."
    passages = [passage(worse, {"town": 1.0}, 0.5), passage(better, {"town": 1.0}, 1.5, "zim://b/entry/x")]

    assert excerpts.choose(passages, 35, by_characters) == ["", better]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("J. K. Rowling wrote the book in 1997. It was read by many people there.", "J. K. Rowling wrote the book"),
        ("Er kam am 3. Oktober in die Stadt zurück und blieb. Dann ging er wieder fort.", "Er kam am 3. Oktober in"),
        ("这座城市建于一七四三年，由造船师艾达建立。后来它成为重要的港口城市。", "这座城市建于"),
    ],
)
def test_a_sentence_is_cut_at_its_end_only(text: str, shown: str) -> None:
    words = {"book": 1.0, "oktob": 1.0, "建立": 1.0}
    cut = excerpts.choose([passage(text, words)], 10 + len(text) / 4 * 0.75, by_characters)[0]

    assert cut.startswith(shown)
    assert cut.endswith(" …")


def test_code_is_shown_whole_or_not_at_all() -> None:
    code = "```python\nfirst = call_me()\nsecond = call_you()\n```"
    text = f"The function is called so in a program.\n{code}\nNothing more is known of it here."

    shown = excerpts.choose([passage(text, {"function": 1.0, "call": 1.0})], 34, by_characters)[0]

    assert code in shown or "```" not in shown
