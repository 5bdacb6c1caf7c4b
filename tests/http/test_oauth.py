from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from support.http_server import TOKEN, HttpServer, McpClient, result_text
from support.stdio_server import STATELESS_VERSION

ISSUER = "https://login.example"
RESOURCE = "https://zim.example/mcp"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())
KEYS = {"keys": [jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "one", "use": "sig"}]}


def token(key: Any = KEY, algorithm: str = "RS256", kid: str | None = "one", **claims: Any) -> str:
    now = int(time.time())
    payload = {"iss": ISSUER, "aud": RESOURCE, "sub": "ada", "exp": now + 60, "scope": "zim:read email", **claims}
    payload = {name: value for name, value in payload.items() if value is not None}
    return jwt.encode(payload, key, algorithm, headers={"kid": kid} if kid else None)


@pytest.fixture(scope="module")
def server(town_zim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    keys = tmp_path_factory.mktemp("keys") / "jwks.json"
    keys.write_text(json.dumps(KEYS))
    settings = {
        "OAUTH__ISSUER": ISSUER,
        "OAUTH__RESOURCE": RESOURCE,
        "OAUTH__JWKS_FILE": str(keys),
        "OAUTH__SCOPES": '["zim:read"]',
        "AUTH_TOKEN": TOKEN,
    }
    with HttpServer((town_zim,), settings) as server:
        yield server


def bearer(value: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {value}"}


def test_valid_access_token_is_accepted(server: HttpServer) -> None:
    with McpClient(server.url, STATELESS_VERSION, headers=bearer(token())) as client:
        assert "towns" in result_text(client.call("zim_query", query="list archives"))


def test_token_of_the_settings_is_accepted_too(server: HttpServer) -> None:
    assert server.get("/metrics", headers=bearer(TOKEN)).status_code == 200


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "https://other.example/mcp"},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"nbf": 32503680000},
        {"scope": None},
        {"scope": None, "scp": 5},
        {"kid": "two"},
        {"key": OTHER_KEY, "algorithm": "ES256"},
        {"key": "a secret that is long enough to be one", "algorithm": "HS256"},
    ],
    ids=lambda claims: " ".join(claims) + ("" if "algorithm" not in claims else f" {claims['algorithm']}"),
)
def test_invalid_access_tokens_are_refused(server: HttpServer, claims: dict[str, Any]) -> None:
    response = server.get("/metrics", headers=bearer(token(**claims)))

    assert response.status_code in {401, 403, 429}


def test_unsigned_token_is_refused(server: HttpServer) -> None:
    unsigned = jwt.encode({"iss": ISSUER, "aud": RESOURCE, "sub": "ada", "exp": 32503680000}, None, "none")

    assert server.get("/metrics", headers=bearer(unsigned)).status_code in {401, 429}


def test_missing_scope_is_named(server: HttpServer) -> None:
    response = server.get("/metrics", headers=bearer(token(scope="email")))

    assert response.status_code == 403
    assert 'error="insufficient_scope", scope="zim:read"' in response.headers["www-authenticate"]


def test_metadata_names_the_identity_provider(server: HttpServer) -> None:
    refused = server.request("POST")
    metadata = server.get("/.well-known/oauth-protected-resource/mcp").json()

    assert (
        'resource_metadata="https://zim.example/.well-known/oauth-protected-resource/mcp"'
        in refused.headers["www-authenticate"]
    )
    assert metadata["resource"] == RESOURCE
    assert metadata["authorization_servers"] == [f"{ISSUER}/"] or metadata["authorization_servers"] == [ISSUER]
    assert metadata["scopes_supported"] == ["zim:read"]


def test_keys_are_fetched_from_the_provider(town_zim: Path) -> None:
    class Keys(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(KEYS).encode())

        def log_message(self, *_: object) -> None:
            pass

    provider = ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    settings = {
        "OAUTH__ISSUER": ISSUER,
        "OAUTH__RESOURCE": RESOURCE,
        "OAUTH__JWKS_URL": f"http://127.0.0.1:{provider.server_port}/keys",
    }
    with HttpServer((town_zim,), settings) as server:
        good = server.get("/metrics", headers=bearer(token())).status_code
        bad = server.get("/metrics", headers=bearer(token(aud="x"))).status_code
        provider.shutdown()
        provider.server_close()

    assert (good, bad) == (200, 401)
