"""nginx and Caddy with the files of deploy/, in front of two small servers that return what they receive."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.http_server import HttpServer
from support.nginx import DEPLOY, NGINX, NGINX_CONFIG, adapt_config, is_listening
from support.redis_server import free_port
from support.stdio_server import TIMEOUT_SECONDS, wait_until

CADDY = shutil.which("caddy")

Send = Callable[..., Any]


class EchoServer(ThreadingHTTPServer):
    """A server that responds with its name and the headers it received; or drops the connection."""

    daemon_threads = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.drops_connections = False
        self.request_count = 0
        self.is_over = threading.Event()
        super().__init__(("127.0.0.1", 0), EchoHandler)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def stop(self) -> None:
        self.shutdown()
        self.server_close()


class EchoHandler(BaseHTTPRequestHandler):
    server: EchoServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.request_count += 1
        if self.server.drops_connections:
            self.close_connection = True
            return
        body = json.dumps({"name": self.server.name, "path": self.path, "headers": dict(self.headers)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"data: first\n\n")
        self.server.is_over.wait(TIMEOUT_SECONDS)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def backends() -> Iterator[list[EchoServer]]:
    servers = [EchoServer("a"), EchoServer("b")]
    yield servers
    for server in servers:
        server.is_over.set()
        server.stop()


@contextmanager
def run_proxy(command: list[str], port: int, **environment: str) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment or None)
    try:
        wait_until(lambda: process.poll() is not None or is_listening(port))
        assert process.poll() is None, process.communicate()[0]
        yield
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_SECONDS)


def make_sender(stack: ExitStack, connect: Callable[[], HTTPConnection]) -> Send:
    """Return a function that sends a request to the proxy and returns the JSON of the response, or its status."""

    def send(method: str = "POST", path: str = "/mcp", **headers: str) -> Any:
        connection = connect()
        stack.callback(connection.close)
        all_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=b"{}" if method == "POST" else None, headers=all_headers)
        response = connection.getresponse()
        if method == "GET":
            return response
        return json.loads(response.read()) if response.status == 200 else response.status

    return send


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    directory = tmp_path_factory.mktemp("tls")
    options = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    files = ["-subj", "/CN=zim.example.org", "-keyout", directory / "privkey.pem", "-out", directory / "fullchain.pem"]
    subprocess.run([*options, *files], capture_output=True, check=True)
    return directory


def nginx_command(tmp: Path, certificate: Path, addresses: Sequence[str], port: int) -> list[str]:
    """Write the configuration for this machine, and return the command that runs nginx with it."""
    if not NGINX:
        pytest.skip("nginx is not installed")
    replacements = {
        "/etc/openzim-mcp/tls": str(certificate),
        "zim-a:8000": addresses[0],
        "zim-b:8000": addresses[1],
        "listen 443": f"listen 127.0.0.1:{port}",
        "listen [::]:443": f"listen [::1]:{port}" if socket.has_ipv6 else f"listen 127.0.0.2:{port}",
    }
    (tmp / "site.conf").write_text(adapt_config("nginx.conf", replacements), encoding="utf-8")
    (tmp / "nginx.conf").write_text(NGINX_CONFIG.format(tmp=tmp), encoding="utf-8")
    return [NGINX, "-p", str(tmp), "-e", "stderr", "-c", str(tmp / "nginx.conf")]


@contextmanager
def run_nginx(tmp: Path, certificate: Path, addresses: Sequence[str]) -> Iterator[Send]:
    port = free_port()
    context = ssl.create_default_context(cafile=certificate / "fullchain.pem")
    context.check_hostname = False
    with run_proxy(nginx_command(tmp, certificate, addresses, port), port), ExitStack() as stack:
        yield make_sender(stack, lambda: HTTPSConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS, context=context))


@contextmanager
def run_caddy(tmp: Path, address: str) -> Iterator[Send]:
    if not CADDY:
        pytest.skip("caddy is not installed")
    port = free_port()
    replacements = {
        "grace_period 10s": "grace_period 1s\n\tadmin off",
        "zim.example.org {": f"http://:{port} {{",
        "127.0.0.1:8000": address,
    }
    (tmp / "Caddyfile").write_text(adapt_config("Caddyfile", replacements), encoding="utf-8")
    command = [CADDY, "run", "--adapter", "caddyfile", "--config", str(tmp / "Caddyfile")]
    environment = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(tmp))
    with run_proxy(command, port, **environment), ExitStack() as stack:
        yield make_sender(stack, lambda: HTTPConnection("127.0.0.1", port, timeout=TIMEOUT_SECONDS))


@pytest.fixture
def nginx(tmp_path: Path, certificate: Path, backends: list[EchoServer]) -> Iterator[Send]:
    with run_nginx(tmp_path, certificate, [backend.address for backend in backends]) as send:
        yield send


@pytest.fixture
def caddy(tmp_path: Path, backends: list[EchoServer]) -> Iterator[Send]:
    with run_caddy(tmp_path, backends[0].address) as send:
        yield send


@pytest.fixture(scope="module")
def oauth_server(town_zim: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HttpServer]:
    keys = tmp_path_factory.mktemp("keys") / "jwks.json"
    keys.write_text('{"keys": []}')
    settings = {
        "OAUTH__ISSUER": "https://login.example.org",
        "OAUTH__RESOURCE": "https://zim.example.org/mcp",
        "OAUTH__JWKS_FILE": str(keys),
        "ALLOWED_HOSTS": "zim.example.org",
        "TRUSTED_PROXIES": "127.0.0.1",
    }
    with HttpServer((town_zim,), settings) as server:
        yield server


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
@pytest.mark.parametrize("path", ["/mcp", "/mcp/"])
def test_identity_provider_is_discovered_through_a_proxy(
    oauth_server: HttpServer, proxy: str, path: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = f"127.0.0.1:{oauth_server.port}"
    if proxy == "nginx":
        running = run_nginx(tmp_path, request.getfixturevalue("certificate"), [address, address])
    else:
        running = run_caddy(tmp_path, address)
    with running as send:
        refused: HTTPResponse = send("GET", path, Host="zim.example.org", Accept="text/event-stream")
        challenge = str(refused.headers["WWW-Authenticate"])
        url = challenge.partition('resource_metadata="')[2].partition('"')[0]
        metadata: HTTPResponse = send("GET", url.removeprefix("https://zim.example.org"), Host="zim.example.org")
        document = json.loads(metadata.read())

    assert refused.status == 401
    assert document["resource"] == "https://zim.example.org/mcp"
    assert document["authorization_servers"][0].startswith("https://login.example.org")


def test_nginx_accepts_its_configuration(tmp_path: Path, certificate: Path, backends: list[EchoServer]) -> None:
    command = nginx_command(tmp_path, certificate, [backend.address for backend in backends], free_port())

    result = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)

    assert result.returncode == 0, result.stderr
    assert "[warn]" not in result.stderr


def test_session_stays_at_its_server(nginx: Send) -> None:
    servers = [nginx(Mcp_Session_Id=f"{name}-{number:032x}")["name"] for name in "ab" for number in range(4)]

    assert servers == ["a"] * 4 + ["b"] * 4


@pytest.mark.parametrize("headers", [{}, {"Mcp_Session_Id": "0123456789abcdef"}, {"Mcp_Session_Id": "ab-1"}])
def test_requests_without_a_session_are_balanced(nginx: Send, headers: dict[str, str]) -> None:
    assert {nginx(**headers)["name"] for _ in range(6)} == {"a", "b"}


def test_other_server_responds_when_one_is_down(nginx: Send, backends: list[EchoServer]) -> None:
    backends[0].stop()

    assert [nginx()["name"] for _ in range(3)] == ["b"] * 3
    assert nginx(Mcp_Session_Id="a-1")["name"] == "b"


def test_request_that_was_read_is_not_repeated(nginx: Send, backends: list[EchoServer]) -> None:
    backends[0].drops_connections = True

    assert nginx(Mcp_Session_Id="a-1") == 502
    assert [backend.request_count for backend in backends] == [1, 0]


def test_nginx_passes_client_address_and_headers(nginx: Send) -> None:
    sent = {"Host": "zim.example.org", "X_Forwarded_For": "1.2.3.4", "Authorization": "Bearer token"}
    received = nginx(path="/mcp?x=1", Mcp_Protocol_Version="2026-07-28", **sent)

    assert received["path"] == "/mcp?x=1"
    assert received["headers"]["Host"] == "zim.example.org"
    assert received["headers"]["X-Forwarded-For"] == "127.0.0.1"
    assert received["headers"]["Authorization"] == "Bearer token"
    assert received["headers"]["Mcp-Protocol-Version"] == "2026-07-28"


def test_caddy_passes_client_address_and_headers(caddy: Send) -> None:
    received = caddy(
        Host="zim.example.org", X_Forwarded_For="1.2.3.4", Mcp_Session_Id="a-1", Authorization="Bearer token"
    )

    assert received["headers"]["Host"] == "zim.example.org"
    assert received["headers"]["X-Forwarded-For"] == "127.0.0.1"
    assert received["headers"]["Mcp-Session-Id"] == "a-1"
    assert received["headers"]["Authorization"] == "Bearer token"


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
def test_events_are_passed_on_at_once(proxy: str, request: pytest.FixtureRequest) -> None:
    response: HTTPResponse = request.getfixturevalue(proxy)("GET", Mcp_Session_Id="a-1", Accept="text/event-stream")

    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.readline() == b"data: first\n"


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
@pytest.mark.parametrize("path", ["/metrics", "/", "/mcp/x", "/.well-known/oauth-authorization-server"])
def test_other_paths_are_not_passed_on(proxy: str, path: str, request: pytest.FixtureRequest) -> None:
    send = request.getfixturevalue(proxy)

    assert send(path=path) == 404


def test_caddyfile_is_valid_and_formatted(tmp_path: Path) -> None:
    if not CADDY:
        pytest.skip("caddy is not installed")
    environment = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(tmp_path))
    checks = [("validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"), ("fmt", DEPLOY / "Caddyfile")]

    results = [subprocess.run([CADDY, *check], env=environment, capture_output=True, check=False) for check in checks]

    assert [result.returncode for result in results] == [0, 0], results
    assert results[1].stdout == (DEPLOY / "Caddyfile").read_bytes()
