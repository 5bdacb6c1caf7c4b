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


class Server(ThreadingHTTPServer):
    """Answers /readyz with a status, all else with 404, and keeps the paths that were asked for."""

    daemon_threads = True

    def __init__(self, status: int, host: str = "127.0.0.1") -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.status = status
        self.asked: list[str] = []
        super().__init__((host, 0), Answer)

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Answer(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.send_response(self.server.status if self.path.endswith("/readyz") else 404)
        self.send_header("Location", "/readyz/")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(status: int, host: str = "127.0.0.1") -> Iterator[Server]:
    with Server(status, host) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


@contextmanager
def listening(answer: bytes) -> Iterator[int]:
    """Serve a port that sends bytes, one each tenth of a second, whatever is asked."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def drip() -> None:
            connection, _ = listener.accept()
            with connection, suppress(OSError):  # whoever asked may leave before the end
                for byte in answer:
                    connection.sendall(bytes([byte]))
                    time.sleep(0.1)

        threading.Thread(target=drip, daemon=True).start()
        yield int(listener.getsockname()[1])


def test_a_ready_server_ends_with_0() -> None:
    with serving(200) as server:
        ended = run("probe", **HTTP, OPENZIM_MCP_PORT=str(server.port))

    assert (ended.code, ended.err) == (Exit.SUCCESS, "")
    assert ended.out == f"http://127.0.0.1:{server.port}/readyz is ready.\n"


@pytest.mark.parametrize("status", [503, 404, 302, 500])
def test_any_other_answer_ends_with_1_and_leads_nowhere(status: int) -> None:
    with serving(status) as server:
        ended = run("probe", **HTTP, OPENZIM_MCP_PORT=str(server.port))

    assert ended.code == Exit.NEGATIVE
    assert ended.out == f"http://127.0.0.1:{server.port}/readyz is not ready: it answers {status}.\n"
    assert server.asked == ["/readyz"]


@pytest.mark.parametrize(("host", "loopback"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("localhost", "127.0.0.1")])
def test_a_server_that_listens_everywhere_is_asked_on_this_machine(host: str, loopback: str) -> None:
    if loopback == "::1" and not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    with serving(200, loopback) as server:
        ended = run("probe", **HTTP, OPENZIM_MCP_HOST=host, OPENZIM_MCP_PORT=str(server.port))

    assert ended.code == Exit.SUCCESS


@pytest.mark.parametrize(
    ("path", "asked"),
    [("", "/readyz"), ("/", "/readyz"), ("/mcp", "/readyz"), ("/zim/mcp?x=1", "/zim/readyz"), ("/readyz", "/readyz")],
)
def test_of_an_address_its_server_is_asked(path: str, asked: str) -> None:
    with serving(200) as server:
        ended = run("probe", f"http://127.0.0.1:{server.port}{path}")

    assert ended.code == Exit.SUCCESS
    assert server.asked == [asked]


def test_over_stdio_there_is_nothing_to_ask() -> None:
    ended = run("probe")

    assert ended.code == Exit.SUCCESS
    assert ended.out.startswith("There is nothing to ask")


def test_no_proxy_is_asked() -> None:
    with serving(200) as server, serving(503) as proxy:
        address = f"http://127.0.0.1:{proxy.port}"
        ended = run("probe", f"http://127.0.0.1:{server.port}", http_proxy=address, HTTP_PROXY=address, no_proxy="")

    assert ended.code == Exit.SUCCESS
    assert proxy.asked == []


def test_a_port_where_nothing_listens_ends_with_1() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    ended = run("probe", f"http://127.0.0.1:{port}")

    assert ended.code == Exit.NEGATIVE
    assert ended.out == f"http://127.0.0.1:{port}/readyz does not answer: Connection refused.\n"


def test_a_server_that_never_comes_to_an_end_is_not_waited_for() -> None:
    began = time.monotonic()
    with listening(b"HTTP/1.1 200 OK\r\n" + b"X: 1\r\n" * 100) as port:
        ended = run("probe", f"http://127.0.0.1:{port}")

    assert ended.code == Exit.NEGATIVE
    assert ended.out.endswith("does not answer within 3 seconds.\n")
    assert time.monotonic() - began < 10


def test_what_is_no_web_server_ends_with_1() -> None:
    with listening(b"SSH-2\r\n") as port:
        ended = run("probe", f"http://127.0.0.1:{port}")

    assert ended.code == Exit.NEGATIVE
    assert ended.out.endswith("does not answer as a web server does.\n")


@pytest.mark.parametrize("address", ["localhost:8000", "ftp://h/", "http://", "http://h:port/", "http://[::1/", "x"])
def test_what_is_no_address_ends_with_2(address: str) -> None:
    ended = run("probe", address)

    assert ended.code == Exit.USAGE
    assert ended.err.startswith(f"openzim-mcp: {address!r} is no address of a server")


def test_a_password_in_an_address_is_not_shown() -> None:
    with serving(200) as server:
        ended = run("probe", f"http://me:secret@127.0.0.1:{server.port}/", "--json")

    assert ended.json == {"ready": True, "reason": f"http://127.0.0.1:{server.port}/readyz is ready."}


def test_its_defaults_are_those_of_the_settings() -> None:
    known = config.environment_variables()

    assert {name: str(known[name].default) for name in probe.DEFAULTS} == probe.DEFAULTS


def test_it_takes_little_cpu() -> None:
    before = os.times()
    run("probe")
    after = os.times()

    assert after.children_user + after.children_system - before.children_user - before.children_system < 0.6


def test_a_server_that_starts_is_greeted_and_ended() -> None:
    greeting = probe.greet(COMMAND)

    assert (greeting.server, greeting.problem) == (f"openzim-mcp {__version__}", None)


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["/no/such/command"], "'/no/such/command' cannot be started: No such file or directory"),
        ([*COMMAND, "/no/such/directory"], "'/no/such/directory' does not exist"),
        ([sys.executable, "-c", "print('hello')"], "it does not answer"),
        ([sys.executable, "-c", ""], "it does not answer"),
    ],
)
def test_what_goes_wrong_is_said(command: list[str], problem: str) -> None:
    greeting = probe.greet(command)

    assert greeting.server is None
    assert problem in str(greeting.problem)


def test_one_that_never_answers_is_not_waited_for_for_ever() -> None:
    began = time.monotonic()

    greeting = probe.greet([sys.executable, "-c", "import time; time.sleep(600)"], patience=0.5)

    assert greeting.problem == "it does not answer"
    assert time.monotonic() - began < 30


def test_the_variables_of_a_configuration_are_set() -> None:
    greeting = probe.greet(COMMAND, {"OPENZIM_MCP_TOOL_MODE": "wild"})

    assert "tool_mode (OPENZIM_MCP_TOOL_MODE): 'wild' is not accepted" in str(greeting.problem)
