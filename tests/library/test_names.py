from __future__ import annotations

import pytest

from openzim_mcp.library.names import split_date


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("wiki_en_all_maxi_2026-01", ("wiki_en_all_maxi", "2026-01")),
        ("wiki_en_2026-01-15", ("wiki_en", "2026-01-15")),
        ("wiki_en_2026-01a", ("wiki_en", "2026-01a")),
        ("wiki_en_all", ("wiki_en_all", "")),
        ("2026-01", ("2026-01", "")),
    ],
)
def test_name_is_split_into_base_and_date(name: str, parts: tuple[str, str]) -> None:
    assert split_date(name) == parts
