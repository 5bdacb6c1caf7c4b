from __future__ import annotations

import time

import pytest

from openzim_mcp.http import sessions
from openzim_mcp.http.sessions import Session, SessionTable


def test_sessions_in_use_are_not_ended() -> None:
    table = SessionTable(per_client=2, total=10)
    for session_id in (b"a", b"b"):
        table.add(session_id, Session("client"))
    with table.using(b"a"), table.using(b"b"):
        table.add(b"c", Session("client"))
        while_in_use = table.surplus("client")

    assert while_in_use is None
    assert table.surplus("client") == b"c"


def test_expired_sessions_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    table = SessionTable(per_client=2, total=10)
    for session_id in (b"a", b"b"):
        table.add(session_id, Session("client"))
    later = time.monotonic() + sessions.SESSION_IDLE_SECONDS + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    table.add(b"c", Session("client"))

    assert table.surplus("client") is None
