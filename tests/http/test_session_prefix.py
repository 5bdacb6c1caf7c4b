from __future__ import annotations

from pathlib import Path

from support.http_server import Visit, Web


def test_a_session_id_tells_which_replica_has_the_session(town_zim: Path) -> None:
    with Web((town_zim,), {"REPLICA": "a"}) as web, Visit(web.url) as visit:
        other = Visit(web.url, session=str(visit.session).replace("a-", "b-", 1))
        answered = [each.post("tools/list").status_code for each in (visit, other)]
        other.http.close()

    assert str(visit.session).startswith("a-")
    assert answered == [200, 404]
