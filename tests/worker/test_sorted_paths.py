from __future__ import annotations

import pytest

from openzim_mcp.worker.sorted_paths import SortedPaths

PATHS = sorted(["A/B", "A/Ba", "A/Ba_(x)", "A/Bab", "A/C", "A/Za", "A/Zä", "A/zz", *(f"A/N{n:05}" for n in range(500))])


@pytest.mark.parametrize(
    "prefix", ["", "A", "A/", "A/B", "A/Ba", "A/Ba_", "A/Ba_(", "A/N", "A/N004", "A/N00499", "A/Z", "A/Zä", "A/zz", "B"]
)
def test_paths_by_prefix_are_those_of_a_scan(prefix: str) -> None:
    paths = SortedPaths(PATHS.__getitem__, range(len(PATHS)))

    assert [PATHS[number] for number in paths.find_prefix(prefix)] == [
        path for path in PATHS if path.startswith(prefix)
    ]


def test_search_is_limited_to_a_range() -> None:
    paths = SortedPaths(PATHS.__getitem__, range(len(PATHS)))
    within = paths.find_prefix("A/Ba")

    assert paths.find_prefix("A/Ba_", within) == paths.find_prefix("A/Ba_")
    assert not paths.find_prefix("A/N", within)


def test_few_paths_are_read() -> None:
    read: list[int] = []

    def read_path(number: int) -> str:
        read.append(number)
        return PATHS[number]

    paths = SortedPaths(read_path, range(len(PATHS)))
    for _ in range(3):
        paths.find_prefix("A/N00250")

    assert len(read) < 40
    assert len(read) == len(set(read))
