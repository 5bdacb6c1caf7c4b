from __future__ import annotations

from openzim_mcp.worker.search import survey
from openzim_mcp.worker.zim import Archive


def test_evidence_tells_how_well_a_title_is_known(isles: Archive) -> None:
    names = ["Ravenport", "the port", "zurich", "Ravenprot", "Nowhere"]

    assert survey.evidence(isles, names, []) == [1.0, 1.0, 0.9, 0.0, 0.0]
    assert survey.evidence(isles, names, names) == [1.0, 1.0, 0.9, 0.6, 0.0]
    assert survey.evidence_without_index(isles, names, names) == [1.0, 1.0, 0.0, 0.0, 0.0]


def test_an_archive_promises_as_much_of_a_query_as_it_knows(isles: Archive) -> None:
    whole, half, none = (
        survey.promise(isles, query) for query in ("who founded Ravenport?", "Ravenport quetzalcoatl", "quetzalcoatl")
    )

    assert whole["promise"] > half["promise"] > none["promise"] == 0
    assert half["known"] == ["ravenport"]
