from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp import errors
from openzim_mcp.calls.page import OriginalPage, ReadOriginal
from openzim_mcp.worker.reading.original import read_original
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    pages = {"Page": "<p>Text <a href='/x'>x</a></p>", "data.txt": "0123456789"}
    return Archive("web", [str(write_zim(tmp_path / "web.zim", pages, redirects={"Old": "Page"}))])


def test_original_is_rewritten(archive: Archive) -> None:
    page = read_original(archive, ReadOriginal("Old", "/content/CAP/"))

    assert page.path == "Page"
    assert page.html is not None
    assert b'href="/content/CAP/x"' in page.html


def test_other_types_are_only_located(archive: Archive) -> None:
    assert read_original(archive, ReadOriginal("data.txt", "/")) == OriginalPage("data.txt")


def test_original_is_found_by_its_path_only(archive: Archive) -> None:
    with pytest.raises(errors.EntryNotFound):
        read_original(archive, ReadOriginal("page", "/"))
