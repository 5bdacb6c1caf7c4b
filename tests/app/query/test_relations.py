from __future__ import annotations

import pytest

from openzim_mcp.app.query.questions import analyze_question
from openzim_mcp.app.query.relations import RELATIONS, fact_key, find_relations


def relation_names(text: str) -> set[str]:
    """The names of the rows of which a question asks for all key facts."""
    fact_names = set(analyze_question(text).fact_names)
    return {row.name for row in RELATIONS if {fact_key(name) for name in row.facts.split("|")} <= fact_names}


EXAMPLES = [
    ("who created python", {"creator"}),
    ("who came up with velcro", {"creator"}),
    ("where was mozart born", {"birth", "place"}),
    ("when did lincoln die", {"death"}),
    ("who was einstein's wife", {"spouse"}),
    ("names of his children", {"family"}),
    ("what does nasa stand for", {"name"}),
    ("how old was mozart", {"age"}),
    ("capital of peru", {"capital"}),
    ("oslo inhabitants", {"population"}),
    ("anfield capacity", {"capacity"}),
    ("how big is texas", {"area"}),
    ("how tall is everest", {"height"}),
    ("length of the nile", {"length"}),
    ("how fast is a cheetah", {"speed"}),
    ("how heavy is a hippo", {"weight"}),
    ("how much did the dam cost", {"cost"}),
    ("running time of the film", {"duration"}),
    ("when did the film come out", {"release"}),
    ("when did the bridge open", {"founding"}),
    ("when did it happen", {"event date"}),
    ("where is lagos", {"place"}),
    ("what was her profession", {"occupation"}),
    ("alma mater university", {"education"}),
    ("official languages", {"language"}),
    ("currency of japan", {"currency"}),
    ("who is the president of brazil", {"leader"}),
    ("members of abba", {"members"}),
    ("what religion is he", {"religion"}),
    ("who won the cup", {"award"}),
    ("what do emus eat", {"food"}),
    ("scientific name of the frog", {"species"}),
    ("how many episodes are there", {"number"}),
    ("wer erfand das telefon", {"creator"}),
    ("qui a écrit candide", {"creator"}),
    ("quién inventó la bomba", {"creator"}),
    ("кто написал войну и мир", {"creator"}),
    ("谁发明了电话", {"creator"}),
    ("電話を発明したのは", {"creator"}),
    ("مين أسس مشروع غنو", {"creator"}),
    ("kto napisał lalkę", {"creator"}),
    ("откуда взялось название москва", {"name"}),
    ("彼はいつ亡くなりましたか", {"death"}),
    ("hauptstadt von peru", {"capital"}),
    ("¿qué come el panda?", {"food"}),
    ("blue whale", set()),
    # Words that start like others, or are words of other languages.
    ("starfish species", {"species"}),
    ("formula of water", set()),
    ("significance of the moon", set()),
    ("openssl certificate", set()),
    ("who is in nato", set()),
    ("modern art", set()),
    ("when did dinosaurs come to be", set()),
    ("come si fa il pane", set()),
]


@pytest.mark.parametrize(("text", "names"), EXAMPLES)
def test_relation_is_found(text: str, names: set[str]) -> None:
    assert relation_names(text) == names


def test_every_relation_has_an_example() -> None:
    assert {row.name for row in RELATIONS} - {name for _, names in EXAMPLES for name in names} == set()


def test_relation_tells_terms_words_and_facts() -> None:
    found = find_relations("Who came up with Velcro?")

    assert found.terms == ["came", "up", "with"]
    assert {"invented", "created"} <= set(found.words)
    assert {"designed by", "inventor"} <= set(found.fact_names)


def test_ignored_words_name_no_relation() -> None:
    assert find_relations("died", ignored={"died"}) == ([], [], [])


@pytest.mark.parametrize(
    ("name", "key"),
    [("Designed by", "designed by"), ("Spouse(s)", "spouse s"), ("Área  total:", "area total"), ("•", "")],
)
def test_fact_key_ignores_case_accents_and_punctuation(name: str, key: str) -> None:
    assert fact_key(name) == key


def test_words_of_rows_are_distinct() -> None:
    asked = [(row.name, row.asked.split("|")) for row in RELATIONS]

    assert [name for name, terms in asked if "" in terms] == []
    assert len({name for name, _ in asked}) == len(RELATIONS)


def test_texts_in_another_language_have_the_words_of_its_questions() -> None:
    assert "创始" in find_relations("debian是谁创立的", language="zh").words
    assert "behind" not in find_relations("who founded debian", language="en").words
