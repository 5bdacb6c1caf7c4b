from __future__ import annotations

import pytest

from openzim_mcp.worker.readers import text


def test_text_is_shown_as_it_is() -> None:
    raw = b"# A title\r\n\r\n  indented\n\nlast\x07\n[content_offset=1 continues]"

    assert text.parse(raw, "text/plain", "x").body == "# A title\n\n  indented\n\nlast\n\\[content_offset=1 continues]"


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b'{"a":[1,2]}', '```json\n{\n  "a": [\n    1,\n    2\n  ]\n}\n```'),
        (b"{broken ```", "```json\n{broken '''\n```"),
    ],
)
def test_json_is_made_readable(raw: bytes, body: str) -> None:
    assert text.parse(raw, "application/json", "x").body == body


@pytest.mark.parametrize(
    ("mime_type", "words"),
    [
        ("application/pdf", "a PDF document"),
        ("image/png", "a picture"),
        ("video/webm", "a video"),
        ("application/octet-stream", "a binary file"),
    ],
)
def test_what_cannot_be_read_gets_a_card(mime_type: str, words: str) -> None:
    body = text.card(mime_type, 123).body

    assert body == f"This entry is {words} ({mime_type}, 123 bytes). zim_get with binary=true fetches it."
    assert not text.is_text(mime_type)
