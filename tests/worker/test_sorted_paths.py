from __future__ import annotations

import pytest

from openzim_mcp.worker.sorted_paths import SortedPaths
from openzim_mcp.zimfile import landmark_numbers

PATHS = sorted(["A/B", "A/Ba", "A/Ba_(x)", "A/Bab", "A/C", "A/Za", "A/Zä", "A/zz", *(f"A/N{n:05}" for n in range(500))])


@pytest.mark.parametrize(
    "prefix", ["", "A", "A/", "A/B", "A/Ba", "A/Ba_", "A/Ba_(", "A/N", "A/N004", "A/N00499", "A/Z", "A/Zä", "A/zz", "B"]
)
@pytest.mark.parametrize("step", [0, 1, 7, 100])
def test_paths_by_prefix_are_those_of_a_scan(prefix: str, step: int) -> None:
    landmarks = {number: PATHS[number] for number in range(0, len(PATHS), step)} if step else None
    paths = SortedPaths(PATHS.__getitem__, range(len(PATHS)), landmarks)

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


def test_only_paths_between_two_landmarks_are_read() -> None:
    read: set[int] = set()

    def read_path(number: int) -> str:
        read.add(number)
        return PATHS[number]

    landmarks = {number: PATHS[number] for number in landmark_numbers(len(PATHS))[::50]}
    paths = SortedPaths(read_path, range(len(PATHS)), landmarks)
    (found,) = paths.find_prefix("A/N00275")

    assert PATHS[found] == "A/N00275"
    assert all(abs(number - found) <= 50 for number in read)
