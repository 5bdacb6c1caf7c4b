from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.http_server import HttpServer

PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "mcp-session-id, mcp-param-x"}


@pytest.fixture(scope="module")
def server(town_zim: Path) -> Iterator[HttpServer]:
    with HttpServer(
        (town_zim,), {"ALLOWED_HOSTS": "zim.example,proxy.example:8443", "CORS_ORIGINS": "https://chat.example"}
    ) as server:
        yield server


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1", 405),
        ("localhost:1234", 405),
        ("LOCALHOST", 405),
        ("[::1]:8000", 405),
        ("zim.example", 405),
        ("zim.example:9999", 405),
        ("proxy.example:8443", 405),
        ("proxy.example", 421),
        ("evil.example", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("user@localhost", 421),
        ("localhost:80:80", 421),
        ("192.0.2.1", 421),
    ],
)
def test_only_allowed_hosts_are_served(server: HttpServer, host: str, status: int) -> None:
    response = server.request("PUT", headers={"Host": host})

    assert response.status_code == status
    assert ("OPENZIM_MCP_ALLOWED_HOSTS" in response.text) == (status == 421)


@pytest.mark.parametrize(
    ("origin", "is_allowed"),
    [
        ("https://chat.example", True),
        ("http://localhost:6274", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:3000", True),
        ("http://chat.example", False),
        ("https://chat.example:444", False),
        ("https://evil.example", False),
        ("http://localhost.evil.example", False),
        ("null", False),
    ],
)
def test_only_allowed_origins_are_served(server: HttpServer, origin: str, *, is_allowed: bool) -> None:
    preflight = server.request("OPTIONS", headers={"Origin": origin, **PREFLIGHT})
    response = server.request("POST", headers={"Origin": origin}, content=b"{")

    assert preflight.status_code == (200 if is_allowed else 403)
    assert (response.status_code == 403) != is_allowed
    for reply in (preflight, response):
        assert reply.headers.get("access-control-allow-origin") == (origin if is_allowed else None)
        assert ("OPENZIM_MCP_CORS_ORIGINS" in reply.text) != is_allowed


def test_cors_allows_the_headers_of_mcp(server: HttpServer) -> None:
    origin = {"Origin": "https://chat.example"}

    preflight = server.request("OPTIONS", headers={**origin, **PREFLIGHT})
    refused = server.request("POST", headers={**origin, "Mcp-Session-Id": "gone"}, content=b"{}")

    assert preflight.headers["access-control-allow-headers"] == "mcp-session-id, mcp-param-x"
    assert set(preflight.headers["access-control-allow-methods"].split(", ")) == {"GET", "POST", "DELETE"}
    assert refused.status_code == 415
    assert {"Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate"} <= set(
        refused.headers["access-control-expose-headers"].split(", ")
    )


def test_probes_accept_any_host(server: HttpServer) -> None:
    assert server.get("/healthz", headers={"Host": "10.1.2.3:8000"}).status_code == 200
    assert server.get("/readyz", headers={"Host": "10.1.2.3:8000"}).status_code == 200
    assert server.get("/metrics", headers={"Host": "10.1.2.3:8000"}).status_code == 421
