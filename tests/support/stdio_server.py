"""A client that speaks JSON-RPC over pipes to the real command, with nothing in between."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Self

COMMAND = [sys.executable, "-m", "openzim_mcp"]
HANDSHAKE_REVISIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]
MODERN = "2026-07-28"
REVISIONS = [*HANDSHAKE_REVISIONS, MODERN]
PROTOCOL = "2025-06-18"
_META = "io.modelcontextprotocol/"
_ENVELOPE = {
    f"{_META}protocolVersion": MODERN,
    f"{_META}clientInfo": {"name": "test", "version": "1"},
    f"{_META}clientCapabilities": {},
}


def environment(settings: dict[str, str]) -> dict[str, str]:
    """The environment of a server: no settings but these, and no rate limit unless one is asked for."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("OPENZIM_MCP_")}
    return (
        inherited | {"OPENZIM_MCP_RATE_LIMIT__ENABLED": "false"} | {f"OPENZIM_MCP_{k}": v for k, v in settings.items()}
    )


def children(pid: int) -> list[int]:
    """The running children of a process."""
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]


def is_alive(pid: int) -> bool:
    """Whether a process runs: neither gone nor a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Wire:
    """One connection to one server process."""

    def __init__(self, *arguments: str | os.PathLike[str], **settings: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(settings),
        )
        self.revision = PROTOCOL
        self._id = 0
        self._lines: queue.Queue[bytes] = queue.Queue()
        self._log: list[bytes] = []
        self._answers: dict[int, dict[str, Any]] = {}
        self.notifications: list[dict[str, Any]] = []
        self._threads = [
            threading.Thread(target=self._read_answers, daemon=True),
            threading.Thread(target=self._read_log, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def __enter__(self) -> Self:
        self.introduce(self.revision)
        return self

    def speaking(self, revision: str) -> Self:
        """Have the connection opened in this revision of the protocol."""
        self.revision = revision
        return self

    def introduce(self, revision: str) -> dict[str, Any]:
        """Open the connection and return what the server says of itself."""
        self.revision = revision
        if revision == MODERN:
            return self.request("server/discover")
        client = {"name": "test", "version": "1"}
        answer = self.request("initialize", {"protocolVersion": revision, "capabilities": {}, "clientInfo": client})
        self.notify("notifications/initialized")
        return answer

    def __exit__(self, *_: object) -> None:
        self.close()
        assert "Traceback" not in self.log, self.log

    @property
    def log(self) -> str:
        return b"".join(self._log).decode(errors="replace")

    @property
    def workers(self) -> list[int]:
        return children(self.process.pid)

    def close(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(20)
        for thread in self._threads:
            thread.join(5)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self.process.stdout.close()
        self.process.stderr.close()
        return code

    def _read_answers(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(b"")

    def _read_log(self) -> None:
        assert self.process.stderr is not None
        self._log.extend(self.process.stderr)

    def send(self, message: Any) -> None:
        self.write(json.dumps(message).encode() + b"\n")

    def write(self, raw: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def line(self, seconds: float = 20) -> Any:
        """Return the next message, whatever it is."""
        return json.loads(self._lines.get(timeout=seconds))

    def notify(self, method: str, **params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, **({"params": params} if params else {})})

    def start(self, method: str, params: dict[str, Any]) -> int:
        """Send a request and return its number, without waiting."""
        self._id += 1
        if self.revision == MODERN:
            params = params | {"_meta": _ENVELOPE | params.get("_meta", {})}
        self.send({"jsonrpc": "2.0", "id": self._id, "method": method, "params": params})
        return self._id

    def wait(self, number: int, seconds: float = 60) -> dict[str, Any]:
        """Return the answer to a request."""
        while number not in self._answers:
            line = self._lines.get(timeout=seconds)
            if not line:
                raise AssertionError(f"the server ended: {self.log}")
            self._sort(json.loads(line))
        return self._answers.pop(number)

    def _sort(self, message: dict[str, Any]) -> None:
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self.notifications.append(message)

    def hear(self, method: str, seconds: float = 10, **params: Any) -> bool:
        """Wait for a notification with these parameters, and forget it and those before it."""
        end = time.monotonic() + seconds
        while True:
            for place, note in enumerate(self.notifications):
                if note["method"] == method and params.items() <= note.get("params", {}).items():
                    del self.notifications[: place + 1]
                    return True
            try:
                self._sort(json.loads(self._lines.get(timeout=max(0.01, end - time.monotonic()))))
            except queue.Empty:
                return False

    def refused(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Return the JSON-RPC error that a request gets."""
        return dict(self.wait(self.start(method, params))["error"])

    def request(self, method: str, params: dict[str, Any] | None = None) -> dict[str, Any]:
        answer = self.wait(self.start(method, params or {}))
        assert "error" not in answer, answer
        return dict(answer["result"])

    def start_call(self, tool: str, **arguments: Any) -> int:
        return self.start("tools/call", {"name": tool, "arguments": arguments})

    def finish_call(self, number: int) -> dict[str, Any]:
        """Return the payload of a call, which must be the same in both forms."""
        answer = self.wait(number)
        assert "error" not in answer, answer
        result = answer["result"]
        payload: dict[str, Any] = result["structuredContent"]
        assert json.loads(result["content"][0]["text"]) == payload
        assert result.get("isError", False) is (payload.get("status") == "error")
        return payload

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool and return its payload, an error or not."""
        return self.finish_call(self.start_call(tool, **arguments))
