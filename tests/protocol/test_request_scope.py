from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.http_server import HttpServer, McpClient
from support.stdio_server import DEFAULT_VERSION, STATELESS_VERSION, child_pids, wait_until

ARCHIVES = 20
QUESTIONS = 20


@pytest.fixture
def server(town_zim: Path, tmp_path: Path) -> Iterator[HttpServer]:
    """A server with one worker and several archives."""
    for number in range(ARCHIVES):
        shutil.copy(town_zim, tmp_path / f"towns{number}.zim")
    with HttpServer(("--mode", "advanced", tmp_path), {"WORKER__COUNT": "1"}) as server:
        yield server
        assert not [line for line in server.lines if "Traceback" in line or " ERROR " in line], server.log


def outcomes(server: HttpServer, tool: str) -> list[str]:
    """Return how the calls of a tool ended, by the log."""
    return [line.split("outcome=")[1].split()[0] for line in server.lines if f"tool={tool}" in line]


def send_question(server: HttpServer, client: McpClient, query: str) -> socket.socket:
    """Send a question and return the connection, on which the answer would come."""
    request = client.request("tools/call", {"name": "zim_query", "arguments": {"query": query}})
    head = "".join(f"{name}: {value}\r\n" for name, value in request.headers.items())
    connection = socket.create_connection(("127.0.0.1", server.port))
    connection.sendall(f"POST /mcp HTTP/1.1\r\n{head}\r\n".encode() + request.content)
    return connection


@pytest.mark.parametrize("version", [DEFAULT_VERSION, STATELESS_VERSION])
def test_calls_of_disconnected_clients_are_cancelled(server: HttpServer, version: str) -> None:
    with McpClient(server.url, version) as leaver, McpClient(server.url, version) as other:
        other.call("zim_get", entry_path="Ravenport", zim_file_path="towns1")
        workers = child_pids(server.process.pid)
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)  # no call can end by itself

        connections = [send_question(server, leaver, f"Who founded Ravenport in {1700 + n}?") for n in range(QUESTIONS)]
        wait_until(lambda: f"in_flight {QUESTIONS}" in server.get("/metrics").text)
        for connection in connections:
            connection.close()

        wait_until(lambda: len(outcomes(server, "zim_query")) == QUESTIONS)
        assert outcomes(server, "zim_query") == ["cancelled"] * QUESTIONS
        for pid in workers:  # one that had got a call is replaced, one that had not is still there
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        assert "harbour town" in json.dumps(other.call("zim_get", entry_path="Ravenport", zim_file_path="towns1"))
