from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from openzim_mcp.worker.search.mentions import Mention, titles_in_text
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim

PAGES = {
    "We_Are_the_World": "<p>A song of 1985.</p>",
    "And_Then_There_Were_None": "<p>A novel.</p>",
    "The_Beatles": "<p>A band.</p>",
    "Heart_attack": "<p>An illness.</p>",
    "Dinosaur": "<p>A reptile.</p>",
    "Albert_Einstein": "<p>A physicist.</p>",
    "Spider-Man": "<p>A hero.</p>",
    "Gallbladder": "<p>An organ.</p>",
    "What'd_I_Say": "<p>A song of 1959.</p>",
    "Law_&_Order": "<p>A series.</p>",
    "Python": "<p>A snake.</p>",
    "Python_(genus)": "<p>Pythons.</p>",
    "Python_(programming_language)": "<p>A language.</p>",
    "Python_(mythology)": "<p>A dragon.</p>",
    "Python_(missile)": "<p>A weapon.</p>",
    "Slasher_(series)": "<p>A series.</p>",
    "NASA": "<p>An agency.</p>",
    "Mercury": '<p><b>Mercury</b> may refer to:</p><div id="disambigbox">disambiguation</div><ul>'
    '<li><a href="Hermes">Hermes</a>, a god</li>'
    '<li><a href="Innermost_body">Mercury (planet)</a>, the first planet from the <a href="Sun">Sun</a></li>'
    '<li><a href="Quicksilver">Quicksilver</a>, a liquid metal</li>'
    '<li><a href="Freddie">Freddie</a>, a singer</li></ul>',
    "Hermes": "<p>A god.</p>",
    "Innermost_body": "<p>A planet.</p>",
    "Quicksilver": "<p>A metal.</p>",
    "Freddie": "<p>A singer.</p>",
    "Sun": "<p>A star.</p>",
    "Zebra_crossing": "<p>A crossing.</p>",
}
REDIRECTS = {"Einstein": "Albert_Einstein", "Myocardial_infarction": "Heart_attack"}


@pytest.fixture(scope="module")
def wiki_zim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_zim(tmp_path_factory.mktemp("wiki") / "wiki.zim", PAGES, redirects=REDIRECTS)


@pytest.fixture
def wiki(wiki_zim: Path) -> Archive:
    return Archive("wiki", [str(wiki_zim)])


@pytest.mark.parametrize(
    ("text", "path", "mention"),
    [
        ("who sang we are the world", "We_Are_the_World", Mention(["we", "are", "the", "world"], "exact")),
        ("WE ARE THE WORLD", "We_Are_the_World", Mention(["WE", "ARE", "THE", "WORLD"], "exact")),
        (
            "the island in and then there were none",
            "And_Then_There_Were_None",
            Mention(["and", "then", "there", "were", "none"], "exact"),
        ),
        ("when did the beatles split?", "The_Beatles", Mention(["beatles"], "exact")),
        ("songs by Beatles", "The_Beatles", Mention(["Beatles"], "exact")),
        ("why do heart attacks happen?", "Heart_attack", Mention(["heart", "attacks"], "inflected")),
        ("myocardial infarction causes", "Heart_attack", Mention(["myocardial", "infarction"], "redirect")),
        ("what did dinosaurs eat", "Dinosaur", Mention(["dinosaurs"], "inflected")),
        ("what was Einstein’s first paper", "Albert_Einstein", Mention(["Einstein's"], "inflected")),
        ("who plays spider man", "Spider-Man", Mention(["spider", "man"], "exact")),
        ("who plays spider-man", "Spider-Man", Mention(["spider", "man"], "exact")),
        ("where is the gall bladder", "Gallbladder", Mention(["gall", "bladder"], "inflected")),
        ("whatd i say", "What'd_I_Say", Mention(["whatd", "i", "say"], "exact")),
        ("cast of law and order", "Law_&_Order", Mention(["law", "and", "order"], "exact")),
        ("who founded nasa", "NASA", Mention(["nasa"], "exact")),
        ("who plays in slasher", "Slasher_(series)", Mention(["slasher"], "qualified")),
        ("is there a zebra crossing", "Zebra_crossing", Mention(["zebra", "crossing"], "exact")),
    ],
)
def test_title_is_found_as_people_write_it(wiki: Archive, text: str, path: str, mention: Mention) -> None:
    assert titles_in_text(wiki, text)[path] == mention


def test_longest_titles_win(isles: Archive) -> None:
    mentions = titles_in_text(isles, "when did ada quill leave Alderwick?")

    assert mentions == {
        "Ada_Quill": Mention(["ada", "quill"], "exact"),
        "Alderwick": Mention(["Alderwick"], "exact"),
    }


def test_bracket_that_the_question_points_to_comes_first(wiki: Archive) -> None:
    mentions = titles_in_text(wiki, "who created the python programming language")

    assert mentions["Python"].kind == "exact"
    assert mentions["Python_(programming_language)"] == Mention(["python"], "qualified", pointers=2)
    assert [mention.pointers for mention in mentions.values()].count(0) == 3


def test_disambiguation_page_brings_the_meaning_that_the_question_points_to(wiki: Archive) -> None:
    mentions = titles_in_text(wiki, "how hot is the planet mercury")

    assert mentions["Innermost_body"] == Mention(["mercury"], "meaning", pointers=1)
    assert mentions["Mercury"].kind == "exact"
    assert "Freddie" not in mentions
    assert "Sun" not in mentions


@pytest.mark.parametrize("text", ["", "?", "what is it", "of the", "zeb", "xyzzy plugh"])
def test_text_without_a_title_mentions_nothing(wiki: Archive, text: str) -> None:
    assert titles_in_text(wiki, text) == {}


def test_titles_are_looked_up_where_paths_are_something_else(zims: Path) -> None:
    archive = Archive("python", [str(zims / "built/devdocs_python.zim")])

    assert not archive.paths_are_titles
    assert titles_in_text(archive, "how does json work") == {"library/json.html": Mention(["json"], "exact")}


def test_archive_of_the_old_scheme_is_searched_too(zims: Path) -> None:
    archive = Archive("mini", [str(zims / "real/wikipedia_en_100_mini_2022-10.zim")])

    assert titles_in_text(archive, "population of the usa")["A/United_States"] == Mention(["usa"], "redirect")


def test_number_of_lookups_is_bounded(wiki: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    lookups: Counter[str] = Counter()
    for name in ("entries_by_prefix", "look_up", "suggest_paths"):
        method = getattr(wiki, name)

        def counted(*arguments: Any, name: str = name, method: Any = method, **keywords: Any) -> Any:
            lookups[name] += 1
            return method(*arguments, **keywords)

        monkeypatch.setattr(wiki, name, counted)
    titles_in_text(wiki, "python mercury we are the world heart attacks " * 100)

    assert lookups["entries_by_prefix"] <= 32 * 30
    assert lookups["look_up"] <= 32 * 4
    assert lookups["suggest_paths"] == 0
