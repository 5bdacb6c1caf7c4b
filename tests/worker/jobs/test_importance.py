from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.calls.archive import ImportanceResult, MeasureImportance
from openzim_mcp.worker.jobs.importance import measure_importance
from openzim_mcp.worker.zim import Archive
from support.archives import TOWNS, write_zim

REDIRECTS = {"Port": "Ravenport", "Harbour": "Ravenport", "Harbour town": "Ravenport", "Hill": "Alderwick"}


@pytest.fixture
def town_parts(tmp_path: Path) -> list[str]:
    return [str(write_zim(tmp_path / "towns.zim", TOWNS, redirects=REDIRECTS))]


def test_importance_of_a_large_archive_is_known_after_the_job(
    town_parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = [Archive("towns", town_parts).importance(path) for path in ("Ravenport", "Alderwick", "Zürich")]
    monkeypatch.setattr(MeasureImportance, "min_entries", 1)
    before = Archive("towns", town_parts).importance("Ravenport")
    progress: list[tuple[int, int]] = []

    result = measure_importance(town_parts, MeasureImportance(), lambda done, total: progress.append((done, total)))

    archive = Archive("towns", town_parts)
    assert result == ImportanceResult(entries=archive.counts["all_entries"], redirects=5)
    assert progress[-1][1] == result.entries
    assert before == 0.0
    assert [archive.importance(path) for path in ("Ravenport", "Alderwick", "Zürich")] == computed
    assert computed == [37 / 255, 16 / 255, 0.0]


def test_full_disk_is_a_problem_of_the_result(town_parts: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/no/such/directory")
    monkeypatch.setenv("WIN_PD_OVERRIDE_LOCAL_APPDATA", "/proc/no/such/directory")

    result = measure_importance(town_parts, MeasureImportance(), lambda _done, _total: None)

    assert result.problem
    assert not MeasureImportance().is_final(result)
