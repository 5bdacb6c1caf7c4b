from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.http_server import TOKEN, HttpServer, McpClient, result_text
from support.stdio_server import DEFAULT_VERSION, STATELESS_VERSION, wait_until

OTHER_TOKEN = "another-token-of-length"


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("secrets") / "tokens"
    file.write_text(f"# for the laptop\n{TOKEN}\n")
    return file


@pytest.fixture(scope="module")
def server(town_zim: Path, token_file: Path) -> Iterator[HttpServer]:
    with HttpServer((town_zim,), {"AUTH_TOKEN_FILE": str(token_file), "HOST": "0.0.0.0"}) as server:
        yield server


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.mark.parametrize("version", [DEFAULT_VERSION, STATELESS_VERSION])
def test_valid_token_is_accepted(server: HttpServer, version: str) -> None:
    with McpClient(server.url, version, headers=bearer(TOKEN)) as client:
        assert "towns" in result_text(client.call("zim_query", query="list archives"))


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
def test_missing_or_wrong_token_is_challenged(server: HttpServer, headers: dict[str, str], error: str | None) -> None:
    for path in ("/mcp", "/mcp/", "/metrics"):
        response = server.get(path, headers=headers)

        assert response.status_code == 401
        assert response.headers["www-authenticate"].startswith("Bearer")
        assert (f'error="{error}"' in response.headers["www-authenticate"]) == (error is not None)


def test_probes_need_no_token(server: HttpServer) -> None:
    assert server.get("/healthz").text == "ok\n"
    assert server.get("/readyz").text == "ok\n"


def test_token_in_the_url_is_not_accepted(server: HttpServer) -> None:
    assert server.get(f"/metrics?access_token={TOKEN}&token={TOKEN}").status_code == 401


def wait_for_status(server: HttpServer, token: str, status: int) -> None:
    """Wait until a token gets a status; the file is read every second."""
    wait_until(lambda: server.get("/metrics", headers=bearer(token)).status_code == status)


def test_token_file_is_reloaded(server: HttpServer, token_file: Path) -> None:
    token_file.write_text(f"{TOKEN}\n{OTHER_TOKEN}\n")
    wait_for_status(server, OTHER_TOKEN, 200)
    token_file.write_text(f"{TOKEN}\n")
    wait_for_status(server, OTHER_TOKEN, 401)

    assert server.get("/metrics", headers=bearer(TOKEN)).status_code == 200


@pytest.mark.parametrize("text", ["", "\n", "# none at the moment\n", "\ufeff"])
def test_token_file_without_tokens_revokes_all(server: HttpServer, token_file: Path, text: str) -> None:
    token_file.write_text(text, encoding="utf-8")
    try:
        wait_until(lambda: server.get("/metrics", headers=bearer(TOKEN)).status_code in {401, 429})
    finally:
        token_file.write_text(f"{TOKEN}\n")
    wait_for_status(server, TOKEN, 200)


def test_unusable_lines_are_named_and_keep_no_token_alive(server: HttpServer, token_file: Path) -> None:
    token_file.write_bytes(b"\xef\xbb\xbf# two tokens\nshort\n%s\n\xff\xfe\n" % OTHER_TOKEN.encode())
    wait_for_status(server, OTHER_TOKEN, 200)

    assert server.get("/metrics", headers=bearer(TOKEN)).status_code in {401, 429}
    server.wait_for_line("line 2 of the token file is not used: a token is too short")
    server.wait_for_line("line 4 of the token file is not used: ")
    assert "short\n" not in server.log
    token_file.write_text(f"{TOKEN}\n")
    wait_for_status(server, TOKEN, 200)


def test_unreadable_token_file_neither_revokes_nor_blocks(server: HttpServer, token_file: Path) -> None:
    aside = token_file.with_name("aside")
    token_file.rename(aside)
    os.mkfifo(token_file)
    server.wait_for_line("keeping the previous tokens: the token file is not a regular file")
    statuses = [server.get("/healthz").status_code, server.get("/metrics", headers=bearer(TOKEN)).status_code]
    token_file.unlink()
    server.wait_for_line("keeping the previous tokens: No such file or directory")
    aside.rename(token_file)

    assert statuses == [200, 200]
    assert server.get("/metrics", headers=bearer(TOKEN)).status_code == 200


def test_session_is_bound_to_its_token(server: HttpServer, token_file: Path) -> None:
    token_file.write_text(f"{TOKEN}\n{OTHER_TOKEN}\n")
    wait_for_status(server, OTHER_TOKEN, 200)
    with (
        McpClient(server.url, headers=bearer(TOKEN)) as client,
        McpClient(server.url, headers=bearer(OTHER_TOKEN), session=client.session) as thief,
    ):
        assert client.session
        assert thief.post("tools/list").status_code == 404
        assert client.post("tools/list").status_code == 200


def test_tokens_are_not_logged(server: HttpServer) -> None:
    wrong = "a-wrong-token-of-somebody"
    server.get("/metrics", headers=bearer(wrong))
    with McpClient(server.url, headers=bearer(TOKEN)) as client:
        client.call("zim_query", query="the bells of the old harbour")

    server.wait_for_line("tool=zim_query")
    server.wait_for_line("wrong token from 127.0.0.1")
    for secret in (TOKEN, wrong, "old harbour"):
        assert secret not in server.log


def test_wrong_tokens_count_on_all_paths_together(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"AUTH_TOKEN": TOKEN}) as server:
        wrong = [server.get(path, headers=bearer(f"{TOKEN}x")) for path in ("/mcp", "/metrics") * 10]
        right = server.get("/metrics", headers=bearer(TOKEN))

    assert [response.status_code for response in wrong[:10]] == [401] * 10
    assert 429 in [response.status_code for response in wrong[10:]]
    assert right.status_code == 200
