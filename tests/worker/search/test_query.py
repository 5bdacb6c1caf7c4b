from __future__ import annotations

import pytest

from openzim_mcp.worker.search import query as queries
from openzim_mcp.worker.search.query import Term
from openzim_mcp.worker.zim import Archive


def test_rare_words_weigh_more(isles: Archive) -> None:
    wanted = queries.read(isles, "Who founded the harbour of Ravenport?")

    assert [(term.word, term.frequency) for term in wanted.terms] == [("founded", 2), ("harbour", 4), ("ravenport", 3)]
    assert [term.word for term in wanted.known] == ["founded", "ravenport", "harbour"]
    assert wanted.terms[0].weight > wanted.terms[1].weight > 0
    assert (wanted.corrected, wanted.unknown) == ({}, [])


def test_misspelled_words_are_corrected(isles: Archive) -> None:
    wanted = queries.read(isles, "Photosinthesis in Alderwik")

    assert wanted.corrected == {"photosinthesis": "photosynthesis", "alderwik": "alderwick"}
    assert wanted.text == "photosynthesis in alderwick"


def test_unknown_word_weighs_most(isles: Archive) -> None:
    wanted = queries.read(isles, "xylophone harbour")

    assert wanted.unknown == ["xylophone"]
    assert wanted.terms[0].weight > wanted.terms[1].weight


@pytest.mark.parametrize(
    ("word", "stem", "probe"),
    [("running", "run", "run"), ("happy", "happi", "happ"), ("الدولة", "دول", "دول"), ("软件", "软件", "软件")],
)
def test_probe_is_in_every_form_of_a_word(word: str, stem: str, probe: str) -> None:
    assert Term(word, stem, 1, 1.0).probe == probe
