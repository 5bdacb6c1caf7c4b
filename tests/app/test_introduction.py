from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from openzim_mcp.app.introduction import _library_texts
from support.archives import archive_file


def test_texts_about_many_archives_are_few_and_short(town_zim: Path) -> None:
    """They are tried one after the other when a client connects, which costs it nothing."""
    town = archive_file(town_zim)
    archives = [replace(town, name=f"project{number}_en_all") for number in range(1000)]

    texts = list(_library_texts(archives))

    assert len(texts) <= 60
    assert max(map(len, texts)) < 5000
    assert texts[-1] == "project0_en_all, 999 more"
