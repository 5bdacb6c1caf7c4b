"""The real server command as a process, and an MCP client that talks to it over pipes, without an SDK."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

COMMAND = [sys.executable, "-m", "openzim_mcp"]
INITIALIZE_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
STATELESS_VERSION = "2026-07-28"
PROTOCOL_VERSIONS = [*INITIALIZE_VERSIONS, STATELESS_VERSION]
DEFAULT_VERSION = "2025-06-18"
CLIENT_INFO = {"name": "test", "version": "1"}
_META_PREFIX = "io.modelcontextprotocol/"
REQUEST_META = {
    f"{_META_PREFIX}protocolVersion": STATELESS_VERSION,
    f"{_META_PREFIX}clientInfo": CLIENT_INFO,
    f"{_META_PREFIX}clientCapabilities": {},
}
# How long to wait for what must happen: it ends a test that hangs, and is never reached on a busy machine.
TIMEOUT_SECONDS = 300


def server_environment(settings: dict[str, str]) -> dict[str, str]:
    """The environment of a server: only these settings, and no rate limit and no index unless they switch it on.

    An index is made beside the calls: what they return would depend on how far it is.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("OPENZIM_MCP_")}
    defaults = {"RATE_LIMIT__ENABLED": "false", "INDEX__ENABLED": "false"}
    return inherited | {f"OPENZIM_MCP_{k}": v for k, v in (defaults | settings).items()}


def child_pids(pid: int, *, with_jobs: bool = False) -> list[int]:
    """The running child processes of a process; those that run a job only where they are asked for."""
    if not Path("/proc/self/task").is_dir():
        pytest.skip("child processes are found through /proc")
    pids: list[int] = []
    for thread in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread may end meanwhile
            pids += map(int, thread.read_text().split())
    return [pid for pid in pids if with_jobs or not _runs_job(pid)]


def _runs_job(pid: int) -> bool:
    """Whether a process is a worker without a deadline."""
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        arguments = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        return b"openzim_mcp.worker.main" in arguments and b"0" in arguments[-4:]
    return False


def is_alive(pid: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def cpu_seconds(pid: int) -> float:
    """The processor time that a process has used, which is the same on an idle and on a busy machine."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """The resident memory of a process."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds."""
    end = time.monotonic() + TIMEOUT_SECONDS
    while not condition():
        assert time.monotonic() < end, "the condition never held"
        time.sleep(0.02)


class StdioServer:
    """A server process and the only connection to it."""

    def __init__(self, *arguments: str | os.PathLike[str], **settings: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=server_environment(settings),
        )
        self.version = DEFAULT_VERSION
        self.notifications: list[dict[str, Any]] = []
        self._last_id = 0
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._log: list[bytes] = []
        self._responses: dict[int, dict[str, Any]] = {}
        self._threads = [
            threading.Thread(target=self._read_stdout, daemon=True),
            threading.Thread(target=self._read_stderr, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        self.connect(self.version)
        return self

    def with_version(self, version: str) -> Self:
        """Set the protocol version with which `__enter__` connects."""
        self.version = version
        return self

    def connect(self, version: str) -> dict[str, Any]:
        """Send `initialize`, or `server/discover` in the stateless version, and return the result."""
        self.version = version
        if version == STATELESS_VERSION:
            return self.request("server/discover")
        params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT_INFO}
        result = self.request("initialize", params)
        self.notify("notifications/initialized")
        return result

    def __exit__(self, *_: object) -> None:
        self.close()
        assert "Traceback" not in self.log, self.log

    @property
    def log(self) -> str:
        return b"".join(self._log).decode(errors="replace")

    def wait_for_log(self, text: str) -> None:
        """Wait for a text in the log, which may arrive later than a message that was sent after it."""
        wait_until(lambda: text in self.log)

    @property
    def worker_pids(self) -> list[int]:
        return child_pids(self.process.pid)

    def close(self) -> int:
        """Close the server's input, wait for its end and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(TIMEOUT_SECONDS)
        for thread in self._threads:
            thread.join(TIMEOUT_SECONDS)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def _read_stdout(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_stderr(self) -> None:
        assert self.process.stderr is not None
        self._log.extend(self.process.stderr)

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def read_message(self) -> Any:
        """Return the next message, whatever it is."""
        return json.loads(self._lines.get(timeout=TIMEOUT_SECONDS))

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def send_request(self, method: str, params: dict[str, Any]) -> int:
        """Send a request and return its id without waiting for the response."""
        self._last_id += 1
        if self.version == STATELESS_VERSION:
            params = params | {"_meta": REQUEST_META | params.get("_meta", {})}
        self.send({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        return self._last_id

    def wait_for_response(self, request_id: int) -> dict[str, Any]:
        while request_id not in self._responses:
            line = self._lines.get(timeout=TIMEOUT_SECONDS)
            if not line:
                raise AssertionError(f"the server exited: {self.log}")
            self._store(json.loads(line))
        return self._responses.pop(request_id)

    def _store(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._responses[message["id"]] = message
        else:
            self.notifications.append(message)

    def wait_for_notification(self, method: str, seconds: float = TIMEOUT_SECONDS, **params: Any) -> bool:
        """Wait for a notification with these parameters, and remove it and those before it."""
        end = time.monotonic() + seconds
        while True:
            for index, notification in enumerate(self.notifications):
                if notification["method"] == method and params.items() <= notification.get("params", {}).items():
                    del self.notifications[: index + 1]
                    return True
            try:
                self._store(json.loads(self._lines.get(timeout=max(0.01, end - time.monotonic()))))
            except queue.Empty:
                return False

    def request_error(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON-RPC error that a request gets."""
        return dict(self.wait_for_response(self.send_request(method, params))["error"])

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return the result of a request."""
        response = self.wait_for_response(self.send_request(method, params or {}))
        assert "error" not in response, response
        return dict(response["result"])

    def start_call(self, tool: str, **arguments: Any) -> int:
        return self.send_request("tools/call", {"name": tool, "arguments": arguments})

    def finish_call(self, request_id: int) -> dict[str, Any]:
        """Return the structured content of a call; its text must hold the same."""
        response = self.wait_for_response(request_id)
        assert "error" not in response, response
        result = response["result"]
        payload: dict[str, Any] = result["structuredContent"]
        in_text = {
            name: value for name, value in payload.items() if (name, payload.get("encoding")) != ("data", "base64")
        }
        assert json.loads(result["content"][0]["text"]) == in_text
        assert result.get("isError", False) is (payload.get("status") == "error")
        return payload

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its structured content, also if that is an error."""
        return self.finish_call(self.start_call(tool, **arguments))
