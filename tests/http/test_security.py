from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.http_server import HttpServer

PREFLIGHT = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "mcp-session-id, mcp-param-x"}


@pytest.fixture(scope="module")
def web(town_zim: Path) -> Iterator[HttpServer]:
    with HttpServer(
        (town_zim,), {"ALLOWED_HOSTS": "zim.example,proxy.example:8443", "CORS_ORIGINS": "https://chat.example"}
    ) as web:
        yield web


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
def test_only_names_that_are_allowed_are_served(web: HttpServer, host: str, status: int) -> None:
    response = httpx2.put(web.url, headers={"Host": host})

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
def test_only_pages_of_allowed_origins_may_ask(web: HttpServer, origin: str, *, is_allowed: bool) -> None:
    preflight = httpx2.options(web.url, headers={"Origin": origin, **PREFLIGHT})
    response = httpx2.post(web.url, headers={"Origin": origin}, content=b"{")

    assert preflight.status_code == (200 if is_allowed else 403)
    assert (response.status_code == 403) != is_allowed
    for told in (preflight, response):
        assert told.headers.get("access-control-allow-origin") == (origin if is_allowed else None)
        assert ("OPENZIM_MCP_CORS_ORIGINS" in told.text) != is_allowed


def test_a_page_can_send_and_read_what_both_eras_need(web: HttpServer) -> None:
    origin = {"Origin": "https://chat.example"}

    preflight = httpx2.options(web.url, headers={**origin, **PREFLIGHT})
    refused = httpx2.post(web.url, headers={**origin, "Mcp-Session-Id": "gone"}, content=b"{}")

    assert preflight.headers["access-control-allow-headers"] == "mcp-session-id, mcp-param-x"
    assert set(preflight.headers["access-control-allow-methods"].split(", ")) == {"GET", "POST", "DELETE"}
    assert refused.status_code in {400, 404, 406}
    assert {"Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate"} <= set(
        refused.headers["access-control-expose-headers"].split(", ")
    )


def test_probes_may_ask_by_any_name(web: HttpServer) -> None:
    assert httpx2.get(f"{web.root}/healthz", headers={"Host": "10.1.2.3:8000"}).status_code == 200
    assert httpx2.get(f"{web.root}/readyz", headers={"Host": "10.1.2.3:8000"}).status_code == 200
    assert httpx2.get(f"{web.root}/metrics", headers={"Host": "10.1.2.3:8000"}).status_code == 421
