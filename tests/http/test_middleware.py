from __future__ import annotations

import ipaddress
from pathlib import Path

import pytest

from openzim_mcp.http import middleware
from support.http_server import HttpServer, McpClient

PROXIES = [ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded", "client"),
    [
        ("192.0.2.7", [], "192.0.2.7"),
        ("192.0.2.7", ["203.0.113.9"], "192.0.2.7"),  # whoever says so himself is not believed
        ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        (
            "10.0.0.1",
            ["198.51.100.1, 203.0.113.9"],
            "203.0.113.9",
        ),  # what stands before the nearest stranger is his word
        ("10.0.0.1", ["198.51.100.1", "203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["not an address"], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("fd00::1", ["2001:db8:1:2:3::4"], "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", [], "192.0.2.7"),
        ("2001:db8::1", [], "2001:db8::/64"),
        (None, [], "unknown"),
    ],
)
def test_a_client_is_the_nearest_address_that_is_no_trusted_proxy(
    peer: str | None, forwarded: list[str], client: str
) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"type": "http", "client": (peer, 1) if peer else None, "headers": headers}

    assert middleware.client_address(scope, PROXIES) == client


def test_a_session_id_tells_which_replica_has_the_session(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"REPLICA": "a"}) as web, McpClient(web.url) as visit:
        other = McpClient(web.url, session=str(visit.session).replace("a-", "b-", 1))
        answered = [each.post("tools/list").status_code for each in (visit, other)]
        other.http.close()

    assert str(visit.session).startswith("a-")
    assert answered == [200, 404]
