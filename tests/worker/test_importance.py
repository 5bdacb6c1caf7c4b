from __future__ import annotations

from openzim_mcp.worker import importance
from openzim_mcp.zimfile import Identity

FILE = Identity("abc")


def test_level_grows_with_the_logarithm_of_the_redirects() -> None:
    levels = importance.compute_levels([1] + [2] * 3 + [3] * 70_000, entries=5)

    assert list(levels) == [0, 16, 32, 255, 0]


def test_saved_levels_are_mapped() -> None:
    assert importance.load_levels(FILE, entries=3) is None

    importance.save_levels(FILE, b"\x01\x02\x03")

    levels = importance.load_levels(FILE, entries=3)
    assert levels is not None
    assert levels[:] == b"\x01\x02\x03"


def test_levels_of_another_number_of_entries_are_ignored() -> None:
    importance.save_levels(FILE, b"\x01\x02\x03")

    assert importance.load_levels(FILE, entries=4) is None
