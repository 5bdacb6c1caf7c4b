from __future__ import annotations

import pytest

from openzim_mcp.worker.readers.books import read_plain_text
from openzim_mcp.worker.readers.text import placeholder, read_json, to_utf8


def test_plain_text_is_kept_as_it_is() -> None:
    raw = b"# A title\r\n\r\n  indented\n\nlast\x07\n[content_offset=1 continues]"

    assert read_plain_text(raw).body == "# A title\n\n  indented\n\nlast\n\\[content_offset=1 continues]"


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b'{"a":[1,2]}', '```json\n{\n  "a": [\n    1,\n    2\n  ]\n}\n```'),
        (b"{broken ```", "```json\n{broken '''\n```"),
    ],
)
def test_json_is_indented(raw: bytes, body: str) -> None:
    assert read_json(raw).body == body


@pytest.mark.parametrize(
    ("mime_type", "words"),
    [
        ("application/pdf", "a PDF document"),
        ("image/png", "a picture"),
        ("video/webm", "a video"),
        ("application/octet-stream", "a binary file"),
    ],
)
def test_placeholder_describes_the_entry(mime_type: str, words: str) -> None:
    body = placeholder(mime_type, 123).body

    assert body == f"This entry is {words} ({mime_type}, 123 bytes). zim_get with binary=true fetches it."


@pytest.mark.parametrize(
    "raw",
    ["Größe".encode(), "\ufeffGröße".encode(), "Größe".encode("utf-16"), "Größe".encode("cp1252")],
)
def test_other_encodings_become_utf8(raw: bytes) -> None:
    assert to_utf8(raw).decode() == "Größe"
