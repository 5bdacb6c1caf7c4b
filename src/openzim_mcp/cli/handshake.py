"""Starting a server as a client would, and greeting it."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from openzim_mcp import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PROTOCOL = "2025-06-18"
_PATIENCE = 30.0
_LEAVE_SECONDS = 5.0


@dataclass(frozen=True)
class Greeting:
    """How a server answered: its name and version, or the problem."""

    server: str | None
    seconds: float
    problem: str | None = None


def greet(command: Sequence[str], variables: Mapping[str, str] | None = None, patience: float = _PATIENCE) -> Greeting:
    """Start a command, say hello to it over its pipes, and end it."""
    began = time.monotonic()
    with tempfile.TemporaryFile() as log:
        try:
            process = subprocess.Popen(  # noqa: S603  the user's own configuration names it
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, **(variables or {})},
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            return Greeting(None, 0.0, f"{command[0]!r} cannot be started: {reason}")
        try:
            answer = _ask(process, patience)
        finally:
            _end(process)
        took = time.monotonic() - began
        if answer is None:
            log.seek(0)
            said = log.read().decode(errors="replace").strip().splitlines()
            return Greeting(None, took, f"it does not answer{f'; it says: {said[-1]}' if said else ''}")
    told = answer.get("result", {}).get("serverInfo", {})
    return Greeting(f"{told.get('name')} {told.get('version')}", took)


def _ask(process: subprocess.Popen[bytes], patience: float) -> dict[str, Any] | None:
    """Return the answer to `initialize`, or None."""
    client = {"name": "openzim-mcp doctor", "version": __version__}
    params = {"protocolVersion": _PROTOCOL, "capabilities": {}, "clientInfo": client}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    assert process.stdin is not None
    try:
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()
    except OSError:
        return None
    lines: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_read_line, args=(process, lines), daemon=True).start()
    try:
        answer = json.loads(lines.get(timeout=patience))
    except (queue.Empty, ValueError):
        return None
    return answer if isinstance(answer, dict) and "result" in answer else None


def _read_line(process: subprocess.Popen[bytes], lines: queue.Queue[bytes]) -> None:
    assert process.stdout is not None
    lines.put(process.stdout.readline())


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let a server go, as a client does: its input ends; one that stays is ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.close()
        process.wait(_LEAVE_SECONDS)
    except (OSError, subprocess.TimeoutExpired):
        process.kill()
        process.wait()
    process.stdout.close()
