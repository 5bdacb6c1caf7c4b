from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from support.http_server import TOKEN, HttpServer, McpClient, text_of
from support.stdio_server import DEFAULT_VERSION, STATELESS_VERSION

OTHER = "another-token-of-length"


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("secrets") / "tokens"
    file.write_text(f"# for the laptop\n{TOKEN}\n")
    return file


@pytest.fixture(scope="module")
def web(town_zim: Path, token_file: Path) -> Iterator[HttpServer]:
    with HttpServer((town_zim,), {"AUTH_TOKEN_FILE": str(token_file), "HOST": "0.0.0.0"}) as web:
        yield web


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("revision", [DEFAULT_VERSION, STATELESS_VERSION])
def test_who_shows_a_token_is_served(web: HttpServer, revision: str) -> None:
    with McpClient(web.url, revision, headers=bearer(TOKEN)) as visit:
        assert "towns" in text_of(visit.call("zim_query", query="list archives"))


@pytest.mark.parametrize(
    ("headers", "error"),
    [
        ({}, None),
        ({"Authorization": "Basic dXNlcjpwYXNz"}, None),
        ({"Authorization": f"Bearer {TOKEN}x"}, "invalid_token"),
        ({"Authorization": f"Bearer {TOKEN[:-1]}"}, "invalid_token"),
        ({"Authorization": "Bearer"}, None),
    ],
)
def test_everyone_else_is_told_what_is_missing(web: HttpServer, headers: dict[str, str], error: str | None) -> None:
    for path in ("/mcp", "/mcp/", "/metrics"):
        response = httpx2.get(f"{web.root}{path}", headers=headers)

        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")
        assert (f'error="{error}"' in response.headers["www-authenticate"]) == (error is not None)


def test_probes_need_no_token(web: HttpServer) -> None:
    assert httpx2.get(f"{web.root}/healthz").text == "ok\n"
    assert httpx2.get(f"{web.root}/readyz").text == "ok\n"


def test_a_token_in_the_address_opens_nothing(web: HttpServer) -> None:
    assert httpx2.get(f"{web.root}/metrics?access_token={TOKEN}&token={TOKEN}").status_code == 401


def test_tokens_change_without_a_restart(web: HttpServer, token_file: Path) -> None:
    token_file.write_text(f"{TOKEN}\n{OTHER}\n")
    time.sleep(1.1)
    both = [httpx2.get(f"{web.root}/metrics", headers=bearer(token)).status_code for token in (TOKEN, OTHER)]
    token_file.write_text("")
    time.sleep(1.1)
    kept = httpx2.get(f"{web.root}/metrics", headers=bearer(OTHER)).status_code
    token_file.write_text(f"{TOKEN}\n")
    time.sleep(1.1)
    gone = httpx2.get(f"{web.root}/metrics", headers=bearer(OTHER)).status_code

    assert (both, kept, gone) == ([200, 200], 200, 401)
    assert "keeping the previous tokens: the token file contains no token" in web.log


def test_a_session_belongs_to_the_token_that_began_it(web: HttpServer, token_file: Path) -> None:
    token_file.write_text(f"{TOKEN}\n{OTHER}\n")
    time.sleep(1.1)
    with (
        McpClient(web.url, headers=bearer(TOKEN)) as visit,
        McpClient(web.url, headers=bearer(OTHER), session=visit.session) as thief,
    ):
        assert visit.session
        assert thief.post("tools/list").status_code == 404
        assert visit.post("tools/list").status_code == 200


def test_no_token_is_in_the_log(web: HttpServer) -> None:
    wrong = "a-wrong-token-of-somebody"
    httpx2.get(f"{web.root}/metrics", headers=bearer(wrong))
    with McpClient(web.url, headers=bearer(TOKEN)) as visit:
        visit.call("zim_query", query="the bells of the old harbour")

    assert "tool=zim_query" in web.log
    assert "wrong token from 127.0.0.1" in web.log
    for secret in (TOKEN, wrong, "old harbour"):
        assert secret not in web.log
