"""nginx and Caddy with the files of deploy/, in front of two small servers that tell what reaches them."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from support.nginx import DEPLOY, NGINX, NGINX_CONFIG, adapted, is_listening
from support.redis_server import free_port

CADDY = shutil.which("caddy")

Ask = Callable[..., Any]


class Backend(ThreadingHTTPServer):
    """A server that answers with its name and the headers it got; or drops what it has read."""

    daemon_threads = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.drops = False
        self.asked = 0
        self.may_end = threading.Event()
        super().__init__(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"

    def leave(self) -> None:
        self.shutdown()
        self.server_close()


class Answer(BaseHTTPRequestHandler):
    server: Backend
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked += 1
        if self.server.drops:
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
        self.server.may_end.wait(30)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def backends() -> Iterator[list[Backend]]:
    servers = [Backend("a"), Backend("b")]
    yield servers
    for server in servers:
        server.may_end.set()
        server.leave()


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment or None)
    try:
        for _ in range(500):
            if process.poll() is not None or is_listening(port):
                break
            time.sleep(0.02)
        assert process.poll() is None, process.communicate()[0]
        yield
    finally:
        process.terminate()
        process.communicate(timeout=20)


def asker(stack: ExitStack, connect: Callable[[], HTTPConnection]) -> Ask:
    """Return a function that asks a proxy: the answer, or its status if it is none of ours."""

    def ask(method: str = "POST", path: str = "/mcp", **headers: str) -> Any:
        connection = connect()
        stack.callback(connection.close)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, body=b"{}" if method == "POST" else None, headers=named)
        response = connection.getresponse()
        if method == "GET":
            return response
        return json.loads(response.read()) if response.status == 200 else response.status

    return ask


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("openssl"):
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    made = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    files = ["-subj", "/CN=zim.example.org", "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"]
    subprocess.run([*made, *files], capture_output=True, check=True)
    return folder


def nginx_command(tmp: Path, certificate: Path, backends: list[Backend], port: int) -> list[str]:
    """Write the configuration for this machine, and return what runs it."""
    if not NGINX:
        pytest.skip("nginx is not installed")
    here = {
        "/etc/openzim-mcp/tls": str(certificate),
        "zim-a:8000": backends[0].address,
        "zim-b:8000": backends[1].address,
        "listen 443": f"listen 127.0.0.1:{port}",
        "listen [::]:443": f"listen [::1]:{port}" if socket.has_ipv6 else f"listen 127.0.0.2:{port}",
    }
    (tmp / "site.conf").write_text(adapted("nginx.conf", here), encoding="utf-8")
    (tmp / "nginx.conf").write_text(NGINX_CONFIG.format(tmp=tmp), encoding="utf-8")
    return [NGINX, "-p", str(tmp), "-e", "stderr", "-c", str(tmp / "nginx.conf")]


@pytest.fixture
def nginx(tmp_path: Path, certificate: Path, backends: list[Backend]) -> Iterator[Ask]:
    port = free_port()
    context = ssl.create_default_context(cafile=certificate / "fullchain.pem")
    context.check_hostname = False
    with running(nginx_command(tmp_path, certificate, backends, port), port), ExitStack() as stack:
        yield asker(stack, lambda: HTTPSConnection("127.0.0.1", port, timeout=20, context=context))


@pytest.fixture
def caddy(tmp_path: Path, backends: list[Backend]) -> Iterator[Ask]:
    if not CADDY:
        pytest.skip("caddy is not installed")
    port = free_port()
    here = {
        "grace_period 10s": "grace_period 1s\n\tadmin off",
        "zim.example.org {": f"http://:{port} {{",
        "127.0.0.1:8000": backends[0].address,
    }
    (tmp_path / "Caddyfile").write_text(adapted("Caddyfile", here), encoding="utf-8")
    command = [CADDY, "run", "--adapter", "caddyfile", "--config", str(tmp_path / "Caddyfile")]
    folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(tmp_path))
    with running(command, port, **folders), ExitStack() as stack:
        yield asker(stack, lambda: HTTPConnection("127.0.0.1", port, timeout=20))


def test_nginx_takes_its_file(tmp_path: Path, certificate: Path, backends: list[Backend]) -> None:
    command = nginx_command(tmp_path, certificate, backends, free_port())

    done = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "[warn]" not in done.stderr


def test_a_session_stays_with_the_server_that_made_it(nginx: Ask) -> None:
    answered = [nginx(Mcp_Session_Id=f"{name}-{number:032x}")["name"] for name in "ab" for number in range(4)]

    assert answered == ["a"] * 4 + ["b"] * 4


@pytest.mark.parametrize("headers", [{}, {"Mcp_Session_Id": "0123456789abcdef"}, {"Mcp_Session_Id": "ab-1"}])
def test_requests_without_a_known_session_are_spread(nginx: Ask, headers: dict[str, str]) -> None:
    assert {nginx(**headers)["name"] for _ in range(6)} == {"a", "b"}


def test_when_a_server_is_gone_the_other_one_answers(nginx: Ask, backends: list[Backend]) -> None:
    backends[0].leave()

    assert [nginx()["name"] for _ in range(3)] == ["b"] * 3
    assert nginx(Mcp_Session_Id="a-1")["name"] == "b"


def test_a_request_that_a_server_has_read_is_not_repeated(nginx: Ask, backends: list[Backend]) -> None:
    backends[0].drops = True

    assert nginx(Mcp_Session_Id="a-1") == 502
    assert [backend.asked for backend in backends] == [1, 0]


def test_a_server_behind_nginx_learns_who_asks_and_for_what(nginx: Ask) -> None:
    sent = {"Host": "zim.example.org", "X_Forwarded_For": "1.2.3.4", "Authorization": "Bearer token"}
    seen = nginx(path="/mcp?x=1", Mcp_Protocol_Version="2026-07-28", **sent)

    assert seen["path"] == "/mcp?x=1"
    assert seen["headers"]["Host"] == "zim.example.org"
    assert seen["headers"]["X-Forwarded-For"] == "127.0.0.1"
    assert seen["headers"]["Authorization"] == "Bearer token"
    assert seen["headers"]["Mcp-Protocol-Version"] == "2026-07-28"


def test_a_server_behind_caddy_learns_who_asks_and_for_what(caddy: Ask) -> None:
    seen = caddy(Host="zim.example.org", X_Forwarded_For="1.2.3.4", Mcp_Session_Id="a-1", Authorization="Bearer token")

    assert seen["headers"]["Host"] == "zim.example.org"
    assert seen["headers"]["X-Forwarded-For"] == "127.0.0.1"
    assert seen["headers"]["Mcp-Session-Id"] == "a-1"
    assert seen["headers"]["Authorization"] == "Bearer token"


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
def test_events_come_while_their_stream_is_open(proxy: str, request: pytest.FixtureRequest) -> None:
    response: HTTPResponse = request.getfixturevalue(proxy)("GET", Mcp_Session_Id="a-1", Accept="text/event-stream")

    assert response.headers["Content-Type"] == "text/event-stream"
    assert response.readline() == b"data: first\n"


@pytest.mark.parametrize("proxy", ["nginx", "caddy"])
@pytest.mark.parametrize("path", ["/metrics", "/", "/mcp/x"])
def test_nothing_else_is_passed_on(proxy: str, path: str, request: pytest.FixtureRequest) -> None:
    ask = request.getfixturevalue(proxy)

    assert ask(path=path) == 404


def test_caddy_takes_its_file_and_would_write_it_the_same_way(tmp_path: Path) -> None:
    if not CADDY:
        pytest.skip("caddy is not installed")
    folders = dict.fromkeys(("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(tmp_path))
    checks = [("validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"), ("fmt", DEPLOY / "Caddyfile")]

    done = [subprocess.run([CADDY, *check], env=folders, capture_output=True, check=False) for check in checks]

    assert [check.returncode for check in done] == [0, 0], done
    assert done[1].stdout == (DEPLOY / "Caddyfile").read_bytes()
