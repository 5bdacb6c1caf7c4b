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
        ("192.0.2.7", ["203.0.113.9"], "192.0.2.7"),  # a client can send any header
        ("10.0.0.1", ["203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["203.0.113.9, 10.0.0.2"], "203.0.113.9"),
        ("10.0.0.1", ["198.51.100.1, 203.0.113.9"], "203.0.113.9"),  # the client sent the first one
        ("10.0.0.1", ["198.51.100.1", "203.0.113.9"], "203.0.113.9"),
        ("10.0.0.1", ["not an address"], "10.0.0.1"),
        ("10.0.0.1", [], "10.0.0.1"),
        ("fd00::1", ["2001:db8:1:2:3::4"], "2001:db8:1:2::/64"),
        ("::ffff:192.0.2.7", [], "192.0.2.7"),
        ("2001:db8::1", [], "2001:db8::/64"),
        (None, [], "unknown"),
    ],
)
def test_client_is_the_nearest_untrusted_address(peer: str | None, forwarded: list[str], client: str) -> None:
    headers = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    scope = {"type": "http", "client": (peer, 1) if peer else None, "headers": headers}

    assert middleware.client_address(scope, PROXIES) == client


def test_session_id_begins_with_the_replica(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"REPLICA": "a"}) as server, McpClient(server.url) as client:
        session = client.session
        accepted = client.post("tools/list")
        client.session = str(client.session).replace("a-", "b-", 1)
        refused = client.post("tools/list")

    assert str(session).startswith("a-")
    assert (accepted.status_code, refused.status_code) == (200, 404)
