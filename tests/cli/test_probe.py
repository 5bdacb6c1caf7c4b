from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from openzim_mcp import __version__, config
from openzim_mcp.cli import probe
from openzim_mcp.cli.command import Exit
from support.command_line import run
from support.stdio_server import COMMAND

HTTP = {"OPENZIM_MCP_TRANSPORT": "http"}


class ReadyzServer(ThreadingHTTPServer):
    """Sends a status for /readyz and 404 for anything else; records the requested paths."""

    daemon_threads = True

    def __init__(self, status: int, host: str = "127.0.0.1") -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.status = status
        self.requested_paths: list[str] = []
        super().__init__((host, 0), RequestHandler)

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class RequestHandler(BaseHTTPRequestHandler):
    server: ReadyzServer

    def do_GET(self) -> None:
        self.server.requested_paths.append(self.path)
        self.send_response(self.server.status if self.path.endswith("/readyz") else 404)
        self.send_header("Location", "/readyz/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serve_readyz(status: int, host: str = "127.0.0.1") -> Iterator[ReadyzServer]:
    with ReadyzServer(status, host) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@contextmanager
def send_slowly(response: bytes) -> Iterator[int]:
    """Listen on a port that sends these bytes to any client, one every tenth of a second."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def send() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):  # the client may disconnect early
                for byte in response:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.1)

        threading.Thread(target=send, daemon=True).start()
        yield int(listener.getsockname()[1])


def test_ready_server_exits_0() -> None:
    with serve_readyz(200) as server:
        result = run("probe", **HTTP, OPENZIM_MCP_PORT=str(server.port))

    assert (result.code, result.err) == (Exit.SUCCESS, "")
    assert result.out == f"http://127.0.0.1:{server.port}/readyz is ready.\n"


@pytest.mark.parametrize("status", [503, 404, 302, 500])
def test_other_status_exits_1_without_redirects(status: int) -> None:
    with serve_readyz(status) as server:
        result = run("probe", **HTTP, OPENZIM_MCP_PORT=str(server.port))

    assert result.code == Exit.NEGATIVE
    assert result.out == f"http://127.0.0.1:{server.port}/readyz is not ready (HTTP status {status}).\n"
    assert server.requested_paths == ["/readyz"]


@pytest.mark.parametrize(("host", "loopback"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("localhost", "127.0.0.1")])
def test_wildcard_host_is_probed_on_loopback(host: str, loopback: str) -> None:
    if loopback == "::1" and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    with serve_readyz(200, loopback) as server:
        result = run("probe", **HTTP, OPENZIM_MCP_HOST=host, OPENZIM_MCP_PORT=str(server.port))

    assert result.code == Exit.SUCCESS


@pytest.mark.parametrize(
    ("path", "requested_path"),
    [("", "/readyz"), ("/", "/readyz"), ("/mcp", "/readyz"), ("/zim/mcp?x=1", "/zim/readyz"), ("/readyz", "/readyz")],
)
def test_readyz_is_found_beside_the_given_path(path: str, requested_path: str) -> None:
    with serve_readyz(200) as server:
        result = run("probe", f"http://127.0.0.1:{server.port}{path}")

    assert result.code == Exit.SUCCESS
    assert server.requested_paths == [requested_path]


def test_stdio_has_nothing_to_probe() -> None:
    result = run("probe")

    assert result.code == Exit.SUCCESS
    assert result.out.startswith("Nothing to probe")


def test_proxies_are_not_used() -> None:
    with serve_readyz(200) as server, serve_readyz(503) as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        result = run("probe", f"http://127.0.0.1:{server.port}", http_proxy=address, HTTP_PROXY=address, no_proxy="")

    assert result.code == Exit.SUCCESS
    assert proxy.requested_paths == []


def test_closed_port_exits_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    result = run("probe", f"http://127.0.0.1:{port}")

    assert result.code == Exit.NEGATIVE
    assert result.out == f"http://127.0.0.1:{port}/readyz does not respond: Connection refused.\n"


def test_probe_times_out_on_an_endless_response() -> None:
    start = time.monotonic()
    with send_slowly(b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 100) as port:
        result = run("probe", f"http://127.0.0.1:{port}")

    assert result.code == Exit.NEGATIVE
    assert result.out.endswith("does not respond within 3 seconds.\n")
    assert time.monotonic() - start < 10


def test_other_protocol_exits_1() -> None:
    with send_slowly(b"SSH-2\r\n") as port:
        result = run("probe", f"http://127.0.0.1:{port}")

    assert result.code == Exit.NEGATIVE
    assert result.out.endswith("does not send a valid HTTP response.\n")


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://h/", "http://", "http://h:port/", "http://[::1/", "x"])
def test_invalid_url_exits_2(address: str) -> None:
    result = run("probe", address)

    assert result.code == Exit.USAGE
    assert result.err.startswith(f"openzim-mcp: {address!r} is not the URL of a server")


def test_password_in_url_is_not_shown() -> None:
    with serve_readyz(200) as server:
        result = run("probe", f"http://me:secret@127.0.0.1:{server.port}/", "--json")

    assert result.json == {"ready": True, "reason": f"http://127.0.0.1:{server.port}/readyz is ready."}


def test_defaults_equal_those_of_the_settings() -> None:
    settings = config.environment_variables()

    assert {name: str(settings[name].default) for name in probe.SETTING_DEFAULTS} == probe.SETTING_DEFAULTS


def test_probe_uses_little_cpu() -> None:
    before = os.times()
    run("probe")
    after = os.times()

    assert after.children_user + after.children_system - before.children_user - before.children_system < 0.6


def test_started_server_is_initialized_and_stopped() -> None:
    initialized = probe.initialize_server(COMMAND)

    assert (initialized.server, initialized.problem) == (f"openzim-mcp {__version__}", None)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["/no/such/command"], "'/no/such/command' cannot be started: No such file or directory"),
        ([*COMMAND, "/no/such/directory"], "'/no/such/directory' does not exist"),
        ([sys.executable, "-c", "print('hello')"], "it does not respond"),
        ([sys.executable, "-c", ""], "it does not respond"),
    ],
)
def test_initialize_explains_what_failed(command: list[str], problem: str) -> None:
    initialized = probe.initialize_server(command)

    assert initialized.server is None
    assert problem in str(initialized.problem)


def test_initialize_times_out() -> None:
    start = time.monotonic()

    initialized = probe.initialize_server([sys.executable, "-c", "import time; time.sleep(600)"], timeout_seconds=0.5)

    assert initialized.problem == "it does not respond"
    assert time.monotonic() - start < 30


def test_initialize_sets_environment_variables() -> None:
    initialized = probe.initialize_server(COMMAND, {"OPENZIM_MCP_TOOL_MODE": "wild"})

    assert "tool_mode (OPENZIM_MCP_TOOL_MODE): 'wild' is not accepted" in str(initialized.problem)
