"""The real server over HTTP as a process, and an MCP client that controls every header, without an SDK."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import httpx2
import pytest

from support.stdio_server import (
    CLIENT_INFO,
    COMMAND,
    DEFAULT_VERSION,
    REQUEST_META,
    STATELESS_VERSION,
    TIMEOUT_SECONDS,
    child_pids,
    server_environment,
)

HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
TOKEN = "correct-horse-battery"
_URL = re.compile(r"on (http://\S+?/mcp)")


def require_address(address: str) -> None:
    """Skip a test where the system lacks a loopback address: macOS has 127.0.0.1 only."""
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            pytest.skip(f"this system has no address {address}")


@dataclass
class HttpServer:
    """One server process that listens on a free port."""

    arguments: tuple[str | os.PathLike[str], ...]
    settings: dict[str, str] = field(default_factory=dict)
    file_limit: int | None = None
    lines: list[str] = field(default_factory=list)
    url: str = ""

    def __enter__(self) -> Self:
        environment = server_environment({"TRANSPORT": "http", "PORT": "0", **self.settings})
        limit_files = ["sh", "-c", f'ulimit -n {self.file_limit} && exec "$@"', "sh"] if self.file_limit else []
        self.process = subprocess.Popen(
            [*limit_files, *COMMAND, *map(str, self.arguments)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment | {"PYTHONUNBUFFERED": "1"},
            text=True,
        )
        self._started = threading.Event()
        self._reader = threading.Thread(target=self._read_stderr, daemon=True)
        self._reader.start()
        assert self._started.wait(TIMEOUT_SECONDS), self.log
        self._wait_until_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """Stop the server and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(TIMEOUT_SECONDS)
        self._reader.join(TIMEOUT_SECONDS)
        assert self.process.stderr is not None
        self.process.stderr.close()
        return code

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def wait_for_line(self, text: str) -> str:
        """Return the line of the log that contains a text; it may be written after the response."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            if line := next((line for line in self.lines if text in line), None):
                return line
            time.sleep(0.02)
        raise AssertionError(self.log)

    @property
    def root(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def port(self) -> int:
        return int(self.root.rpartition(":")[2])

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if match := _URL.search(line):
                self.url = self.url or match[1].replace("0.0.0.0", "127.0.0.1")
                self._started.set()
        self._started.set()

    def _wait_until_ready(self) -> None:
        assert self.url, self.log
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < deadline:
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(f"{self.root}/readyz", timeout=5).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(self.log)

    def request(self, method: str, path: str = "/mcp", **options: Any) -> httpx2.Response:
        """Send a request that is not an MCP message."""
        return httpx2.request(method, f"{self.root}{path}", timeout=TIMEOUT_SECONDS, **options)

    def get(self, path: str, **options: Any) -> httpx2.Response:
        """Send a GET request."""
        return self.request("GET", path, **options)

    def send_raw(self, data: bytes, *, source: str = "127.0.0.1") -> bytes:
        """Send bytes and return everything that the server sends until it closes the connection."""
        with self.connect(source) as connection:
            connection.sendall(data)
            return b"".join(_received(connection))

    @contextlib.contextmanager
    def connect(self, source: str = "127.0.0.1", *, receive_buffer: int = 0) -> Iterator[socket.socket]:
        """A connection from an address of this machine, optionally with a small receive buffer."""
        require_address(source)
        with socket.socket() as connection:
            if receive_buffer:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
            connection.settimeout(TIMEOUT_SECONDS)
            connection.bind((source, 0))
            connection.connect(("127.0.0.1", self.port))
            yield connection


def _received(connection: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(ConnectionResetError):
        while data := connection.recv(65_536):
            yield data


@contextlib.contextmanager
def suspended_workers(server: HttpServer) -> Iterator[None]:
    """Suspend the worker processes of a server, so that calls are in progress as long as a test needs."""
    workers = child_pids(server.process.pid)
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


@dataclass
class McpClient:
    """A client of one server: with a session after `initialize`, or of the stateless version."""

    url: str
    version: str = DEFAULT_VERSION
    headers: dict[str, str] = field(default_factory=dict)
    session: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if self.source:
            require_address(self.source)
        self.http = httpx2.Client(
            transport=httpx2.HTTPTransport(verify=False, local_address=self.source), timeout=TIMEOUT_SECONDS
        )
        self._last_id = 0

    def __enter__(self) -> Self:
        if self.version != STATELESS_VERSION and self.session is None:
            self.initialize()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def initialize(self) -> httpx2.Response:
        """Start a session."""
        params = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": CLIENT_INFO}
        response = self.post("initialize", params, headers={"MCP-Protocol-Version": ""})
        self.session = response.headers.get("mcp-session-id")
        if response.status_code == 200:
            self.post("notifications/initialized", is_request=False)
        return response

    def end_session(self, session: str | None = None) -> httpx2.Response:
        """End a session, by default the client's own."""
        return self.http.delete(self.url, headers={**self.headers, "Mcp-Session-Id": str(session or self.session)})

    def post(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        headers: dict[str, str] | None = None,
        is_request: bool = True,
    ) -> httpx2.Response:
        """Send a message."""
        return self.http.send(self.request(method, params, headers=headers, is_request=is_request))

    def request(
        self,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        headers: dict[str, str] | None = None,
        is_request: bool = True,
    ) -> httpx2.Request:
        """Return the HTTP request of a message."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": dict(params or {})}
        if is_request:
            self._last_id += 1
            message["id"] = self._last_id
        all_headers = {**HEADERS, "MCP-Protocol-Version": self.version, **self.headers}
        if self.version == STATELESS_VERSION:
            message["params"]["_meta"] = REQUEST_META
            all_headers["Mcp-Method"] = method
            all_headers["Mcp-Name"] = message["params"].get("name") or message["params"].get("uri") or ""
        all_headers["Mcp-Session-Id"] = self.session or ""
        all_headers |= headers or {}
        sent_headers = {name: value for name, value in all_headers.items() if value}
        return self.http.build_request("POST", self.url, headers=sent_headers, content=json.dumps(message))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        response = self.post("tools/call", {"name": tool, "arguments": arguments})
        assert response.status_code == 200, response.text
        result: dict[str, Any] = read_reply(response)["result"]
        return result


def read_reply(response: httpx2.Response) -> dict[str, Any]:
    """Return the JSON-RPC response in an HTTP response: its JSON, or the event with an id."""
    if response.headers["content-type"].startswith("application/json"):
        reply: dict[str, Any] = response.json()
        return reply
    events = [
        json.loads(line[5:]) for line in response.text.splitlines() if line.startswith("data:") and line[5:].strip()
    ]
    return next(event for event in events if "id" in event)


def result_text(result: dict[str, Any]) -> str:
    """Return the text of a tool's result."""
    text: str = result["content"][0]["text"]
    return text
