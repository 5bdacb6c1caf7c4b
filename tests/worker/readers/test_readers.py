from __future__ import annotations

import pytest

from openzim_mcp.worker import readers
from openzim_mcp.worker.readers.entry import read_document
from openzim_mcp.worker.zim import Archive
from support.archives import write_zim


@pytest.mark.parametrize(
    ("mime_type", "is_page", "is_text"),
    [
        ("text/html", True, True),
        ("TEXT/HTML; charset=utf-8", True, True),
        ("application/xhtml+xml", True, True),
        ("text/plain", False, True),
        ("text/css", False, True),
        ("application/json", False, True),
        ("application/ld+json", False, True),
        ("application/xml", False, True),
        ("application/javascript; charset=utf-8", False, True),
        ("application/x-javascript", False, True),
        ("application/rtf", False, True),
        ("application/pdf", False, False),
        ("image/png", False, False),
        ("image/svg+xml", False, False),
        ("video/webm", False, False),
        ("application/octet-stream", False, False),
        ("", False, False),
        (None, False, False),
    ],
)
def test_types_are_pages_or_text(mime_type: str | None, *, is_page: bool, is_text: bool) -> None:
    assert (readers.is_page(mime_type), readers.is_text(mime_type)) == (is_page, is_text)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Archive:
    entries = {
        "page": "<p>A <b>page</b>.</p>",
        "page.xhtml": "<p>A <b>page</b>.</p>",
        "notes.txt": "A <b>text</b>.",
        "data.json": "[1]",
        "map.png": "not really a picture",
    }
    return Archive("types", [str(write_zim(tmp_path_factory.mktemp("types") / "types.zim", entries))])


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("page", "A **page**."),
        ("page.xhtml", "A **page**."),
        ("notes.txt", "A <b>text</b>."),
        ("data.json", "```json\n[\n  1\n]\n```"),
        ("map.png", "This entry is a picture (image/png, 20 bytes). zim_get with binary=true fetches it."),
    ],
)
def test_entry_is_read_by_its_type(archive: Archive, path: str, body: str) -> None:
    item = archive.find_entry(path)

    assert item is not None
    assert read_document(archive, item).body == body
