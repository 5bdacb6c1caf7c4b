"""A server over HTTP as a process of its own, and clients that say exactly what a test wants said."""

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

from support.stdio_server import COMMAND, DEFAULT_VERSION, REQUEST_META, STATELESS_VERSION, server_environment

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
    lines: list[str] = field(default_factory=list)
    url: str = ""

    def __enter__(self) -> Self:
        told = server_environment({"TRANSPORT": "http", "PORT": "0", **self.settings})
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, self.arguments)],
            stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=told | {"PYTHONUNBUFFERED": "1"},
            text=True,
        )
        self._started = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        assert self._started.wait(30), self.log
        self._wait_until_ready()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._reader.join(5)
        assert self.process.stderr is not None
        self.process.stderr.close()

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End the server and return its exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(30)
        self._reader.join(10)
        if self.process.stderr:
            self.process.stderr.close()
        return code

    @property
    def log(self) -> str:
        return "".join(self.lines)

    def line(self, text: str) -> str:
        """Return the line of the log that has a text; it may come after the response that it is about."""
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if found := next((line for line in self.lines if text in line), None):
                return found
            time.sleep(0.02)
        raise AssertionError(self.log)

    @property
    def root(self) -> str:
        return self.url.removesuffix("/mcp")

    @property
    def port(self) -> int:
        return int(self.root.rpartition(":")[2])

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append(line)
            if found := _URL.search(line):
                self.url = self.url or found[1].replace("0.0.0.0", "127.0.0.1")
                self._started.set()
        self._started.set()

    def _wait_until_ready(self) -> None:
        assert self.url, self.log
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with contextlib.suppress(httpx2.TransportError):
                if httpx2.get(f"{self.root}/readyz", timeout=5).status_code == 200:
                    return
            time.sleep(0.05)
        raise AssertionError(self.log)

    def raw(self, text: bytes, *, source: str = "127.0.0.1", seconds: float = 10) -> bytes:
        """Send bytes and return all that comes back until the server closes, or for some seconds."""
        with self.connection(source) as line:
            line.sendall(text)
            line.settimeout(seconds)
            return b"".join(_parts(line))

    @contextlib.contextmanager
    def connection(self, source: str = "127.0.0.1", *, receive: int = 0) -> Iterator[socket.socket]:
        """A connection from an address of this machine, which takes up no more than so many bytes unread."""
        require_address(source)
        with socket.socket() as line:
            if receive:
                line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
            line.settimeout(10)
            line.bind((source, 0))
            line.connect(("127.0.0.1", self.port))
            yield line


def _parts(line: socket.socket) -> Iterator[bytes]:
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while part := line.recv(65_536):
            yield part


@dataclass
class McpClient:
    """A client of one server: of a handshake revision with its session, or of 2026-07-28."""

    url: str
    revision: str = DEFAULT_VERSION
    headers: dict[str, str] = field(default_factory=dict)
    session: str | None = None
    source: str | None = None

    def __post_init__(self) -> None:
        if self.source:
            require_address(self.source)
        self.http = httpx2.Client(transport=httpx2.HTTPTransport(local_address=self.source), timeout=30)
        self._number = 0

    def __enter__(self) -> Self:
        if self.revision != STATELESS_VERSION and self.session is None:
            self.initialize()
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()

    def initialize(self) -> httpx2.Response:
        """Begin a session."""
        client = {"protocolVersion": self.revision, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        response = self.post("initialize", client, headers={"MCP-Protocol-Version": ""})
        self.session = response.headers.get("mcp-session-id")
        if response.status_code == 200:
            self.post("notifications/initialized", is_request=False)
        return response

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
        """Return the request that has a message."""
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": dict(params or {})}
        if is_request:
            self._number += 1
            message["id"] = self._number
        told = {**HEADERS, "MCP-Protocol-Version": self.revision, **self.headers}
        if self.revision == STATELESS_VERSION:
            message["params"]["_meta"] = REQUEST_META
            told["Mcp-Method"] = method
            if "name" in message["params"]:
                told["Mcp-Name"] = message["params"]["name"]
            if "uri" in message["params"]:
                told["Mcp-Name"] = message["params"]["uri"]
        if self.session:
            told["Mcp-Session-Id"] = self.session
        told |= headers or {}
        given = {name: value for name, value in told.items() if value}
        return self.http.build_request("POST", self.url, headers=given, content=json.dumps(message))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its result."""
        response = self.post("tools/call", {"name": tool, "arguments": arguments})
        assert response.status_code == 200, response.text
        return answer(response)["result"]


def answer(response: httpx2.Response) -> dict[str, Any]:
    """Return the JSON-RPC answer of a response, which is JSON or the last event of a stream."""
    if response.headers["content-type"].startswith("application/json"):
        found: dict[str, Any] = response.json()
        return found
    events = [
        json.loads(line[5:]) for line in response.text.splitlines() if line.startswith("data:") and line[5:].strip()
    ]
    return next(event for event in events if "id" in event)


def text_of(result: dict[str, Any]) -> str:
    """Return the text of a tool's result."""
    found: str = result["content"][0]["text"]
    return found
