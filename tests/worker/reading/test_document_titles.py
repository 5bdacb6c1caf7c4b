from __future__ import annotations

import pytest

from openzim_mcp.worker.reading.document_titles import is_path


@pytest.mark.parametrize(
    ("title", "path", "expected"),
    [
        ("files/water_filter.pdf", "files/water_filter.pdf", True),
        ("water filter.pdf", "water_filter.pdf", True),
        ("host.example/page", "host.example/page", True),
        ("Mercury (planet)", "Mercury_(planet)", False),
        ("Dog", "Dog", False),
        ("Water filters", "files/water_filter.pdf", False),
    ],
)
def test_title_is_told_from_a_path(title: str, path: str, *, expected: bool) -> None:
    assert is_path(title, path) is expected
