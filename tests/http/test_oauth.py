from __future__ import annotations

import base64
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from openzim_mcp.config import OAuthSettings
from openzim_mcp.http import oauth
from openzim_mcp.http.oauth import JwtVerifier
from support.http_server import TOKEN, HttpServer, McpClient, result_text
from support.stdio_server import STATELESS_VERSION, TIMEOUT_SECONDS

ISSUER = "https://login.example"
RESOURCE = "https://zim.example/mcp"
KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_KEY = ec.generate_private_key(ec.SECP256R1())
KEYS = {"keys": [jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key(), as_dict=True) | {"kid": "one", "use": "sig"}]}


def token(key: Any = KEY, algorithm: str = "RS256", kid: str | None = "one", **claims: Any) -> str:
    now = int(time.time())
    payload = {"iss": ISSUER, "aud": RESOURCE, "sub": "ada", "exp": now + 3600, "scope": "zim:read email", **claims}
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


def test_scopes_are_required_of_a_token_without_a_subject(server: HttpServer) -> None:
    without_scope = server.get("/metrics", headers=bearer(token(sub="", scope="email")))
    with_scope = server.get("/metrics", headers=bearer(token(sub="")))

    assert (without_scope.status_code, with_scope.status_code) == (403, 200)


def test_session_is_bound_to_its_token_without_a_subject(server: HttpServer) -> None:
    with (
        McpClient(server.url, headers=bearer(token(sub="", jti="a"))) as owner,
        McpClient(server.url, headers=bearer(token(sub="", jti="b")), session=owner.session) as thief,
    ):
        assert owner.post("ping").status_code == 200
        assert thief.post("ping").status_code == 404


GENUINE_BUT_REFUSED = {
    "The token has expired; get a new one.": {"exp": 1},
    "The token is not valid yet.": {"nbf": 32503680000},
    "The token was issued for another server.": {"aud": "https://other.example/mcp"},
    "The token is from another issuer.": {"iss": "https://evil.example"},
    "The token lacks a claim; exp, aud, iss and sub are required.": {"sub": None},
    "The claim sub of the token is not a string.": {"sub": 5},
}


@pytest.mark.parametrize(("description", "claims"), GENUINE_BUT_REFUSED.items())
def test_genuine_tokens_are_not_guesses(server: HttpServer, description: str, claims: dict[str, Any]) -> None:
    refused = token(**claims)
    responses = [server.get("/metrics", headers=bearer(refused)) for _ in range(12)]

    assert [response.status_code for response in responses] == [401] * 12
    assert {response.json()["error_description"] for response in responses} == {description}
    assert 'error="invalid_token"' in responses[0].headers["www-authenticate"]


def raw_token(header: str, payload: str) -> str:
    """Sign any text, also what a library would not write."""
    parts = [base64.urlsafe_b64encode(part.encode()).rstrip(b"=") for part in (header, payload)]
    signature = jwt.algorithms.RSAAlgorithm(jwt.algorithms.RSAAlgorithm.SHA256).sign(b".".join(parts), KEY)
    return b".".join([*parts, base64.urlsafe_b64encode(signature).rstrip(b"=")]).decode()


HEADER = '{"alg":"RS256","kid":"one"}'
CLAIMS = f'"iss":"{ISSUER}","aud":"{RESOURCE}","scope":"zim:read"'
ODD_TOKENS = {
    "lone surrogate as subject": (HEADER, f'{{{CLAIMS},"exp":32503680000,"sub":"\\ud800"}}'),
    "infinite expiry": (HEADER, f'{{{CLAIMS},"exp":1e999,"sub":"ada"}}'),
    "nested header": ("[" * 2900, "{}"),
    "nested claims": (HEADER, "[" * 2900),
    "list as key id": ('{"alg":"RS256","kid":["one"]}', "{}"),
    "object as algorithm": ('{"alg":{},"kid":"one"}', "{}"),
    "claims that are a list": (HEADER, "[1]"),
}


@pytest.mark.parametrize(("header", "payload"), ODD_TOKENS.values(), ids=ODD_TOKENS)
def test_odd_tokens_are_refused(server: HttpServer, header: str, payload: str) -> None:
    response = server.get("/metrics", headers=bearer(raw_token(header, payload)))

    assert response.status_code in {401, 429}


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


class IdentityProvider(ThreadingHTTPServer):
    """Serves its public keys, once a test allows it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), KeysHandler)
        self.request_count = 0
        self.status = 200
        self.may_respond = threading.Event()
        self.may_respond.set()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def settings(self) -> OAuthSettings:
        url = f"http://127.0.0.1:{self.server_address[1]}/keys"
        return OAuthSettings(issuer=ISSUER, resource=RESOURCE, jwks_url=url)


class KeysHandler(BaseHTTPRequestHandler):
    server: IdentityProvider

    def do_GET(self) -> None:
        self.server.request_count += 1
        self.server.may_respond.wait(TIMEOUT_SECONDS)
        self.send_response(self.server.status)
        self.end_headers()
        self.wfile.write(json.dumps(KEYS).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    provider = IdentityProvider()
    yield provider
    provider.may_respond.set()
    provider.shutdown()
    provider.server_close()


def test_keys_are_fetched_from_the_provider(town_zim: Path, provider: IdentityProvider) -> None:
    settings = {"OAUTH__ISSUER": ISSUER, "OAUTH__RESOURCE": RESOURCE}
    settings["OAUTH__JWKS_URL"] = str(provider.settings.jwks_url)
    with HttpServer((town_zim,), settings) as server:
        valid = server.get("/metrics", headers=bearer(token())).status_code
        invalid = server.get("/metrics", headers=bearer(token(aud="x"))).status_code

    assert (valid, invalid) == (200, 401)


@pytest.mark.anyio
async def test_concurrent_tokens_wait_for_the_first_keys(provider: IdentityProvider) -> None:
    verifier = JwtVerifier(provider.settings)
    provider.may_respond.clear()
    accepted: list[bool] = []

    async def verify() -> None:
        accepted.append(await verifier.verify_token(token()) is not None)

    async with anyio.create_task_group() as tasks:
        for _ in range(8):
            tasks.start_soon(verify)
        await anyio.wait_all_tasks_blocked()
        provider.may_respond.set()

    assert accepted == [True] * 8
    assert provider.request_count == 1


@pytest.mark.anyio
async def test_concurrent_tokens_with_unknown_keys_cause_one_fetch(provider: IdentityProvider) -> None:
    verifier = JwtVerifier(provider.settings)

    async with anyio.create_task_group() as tasks:
        for number in range(8):
            tasks.start_soon(verifier.verify_token, token(kid=f"unknown-{number}"))

    assert provider.request_count == 1


@pytest.mark.anyio
async def test_known_keys_are_used_while_they_are_renewed(
    provider: IdentityProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    verifier = JwtVerifier(provider.settings)
    await verifier.verify_token(token())
    monkeypatch.setattr(oauth, "_MAX_KEY_AGE_SECONDS", 0)
    provider.may_respond.clear()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(verifier.verify_token, token())
        await anyio.wait_all_tasks_blocked()
        accepted = await verifier.verify_token(token())
        provider.may_respond.set()

    assert accepted is not None


def test_unavailable_keys_are_not_the_fault_of_a_token(town_zim: Path, provider: IdentityProvider) -> None:
    provider.status = 500
    settings = {"OAUTH__ISSUER": ISSUER, "OAUTH__RESOURCE": RESOURCE, "AUTH_TOKEN": TOKEN}
    settings["OAUTH__JWKS_URL"] = str(provider.settings.jwks_url)
    start = time.monotonic()
    with HttpServer((town_zim,), settings) as server:
        unavailable = [server.get("/metrics", headers=bearer(token())) for _ in range(12)]
        by_settings = server.get("/metrics", headers=bearer(TOKEN))

    assert [response.status_code for response in unavailable] == [503] * 12
    assert int(unavailable[0].headers["retry-after"]) == 10
    assert by_settings.status_code == 200
    assert 1 <= provider.request_count <= 1 + (time.monotonic() - start) / 10
