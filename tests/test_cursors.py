from __future__ import annotations

import base64

import pytest

from openzim_mcp import cursors, errors


def test_cursor_carries_the_request() -> None:
    cursor = cursors.encode("zim_browse", "some-uuid", 200, {"namespace": "C", "archive": "Zürich"})

    assert cursors.decode(cursor, "zim_browse") == ("some-uui", 200, {"namespace": "C", "archive": "Zürich"})


@pytest.mark.parametrize(
    "cursor",
    [
        "nonsense",
        "",
        "é",
        "x" * 5000,
        base64.urlsafe_b64encode(b'["zim_browse","u",-1,{}]').decode(),
        base64.urlsafe_b64encode(b'["zim_browse","u"]').decode(),
        base64.urlsafe_b64encode(b"[" * 3000).decode(),
    ],
)
def test_invalid_cursor_is_refused_with_a_hint(cursor: str) -> None:
    with pytest.raises(errors.InvalidCursor) as caught:
        cursors.decode(cursor, "zim_browse")

    assert caught.value.hint


def test_cursor_of_another_tool_is_refused() -> None:
    with pytest.raises(errors.InvalidCursor, match="comes from zim_search"):
        cursors.decode(cursors.encode("zim_search", "u", 0, {}), "zim_browse")
