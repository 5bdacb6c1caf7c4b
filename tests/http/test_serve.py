from __future__ import annotations

import signal
import socket
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.event_stream import subscribe
from support.http_server import TOKEN, HttpServer, McpClient, result_text, suspended_workers
from support.stdio_server import (
    COMMAND,
    DEFAULT_VERSION,
    STATELESS_VERSION,
    TIMEOUT_SECONDS,
    child_pids,
    is_alive,
    server_environment,
    wait_until,
)


def startup_error(**settings: str) -> str:
    """Start a server that refuses its settings; return what it says."""
    result = subprocess.run(
        COMMAND,
        capture_output=True,
        text=True,
        env=server_environment({"TRANSPORT": "http", **settings}),
        timeout=TIMEOUT_SECONDS,
        check=False,
    )
    assert result.returncode == 2, result.stderr
    return result.stderr


def test_first_log_line_tells_how_to_connect(town_zim: Path) -> None:
    with HttpServer((town_zim,)) as server:
        pass

    assert (
        f"serves 1 archive on {server.url}; connect with: claude mcp add --transport http zim {server.url}"
        in server.lines[0]
    )


def test_public_address_requires_a_token(town_zim: Path) -> None:
    error = startup_error(HOST="0.0.0.0")

    assert "OPENZIM_MCP_AUTH_TOKEN" in error
    assert "OPENZIM_MCP_INSECURE_DISABLE_AUTH" in error
    with HttpServer((town_zim,), {"HOST": "0.0.0.0", "AUTH_TOKEN": TOKEN}) as server:
        assert server.request("POST").status_code == 401
    with HttpServer((town_zim,), {"HOST": "0.0.0.0", "INSECURE_DISABLE_AUTH": "true"}) as server:
        assert server.request("PUT").status_code == 405
    assert "authentication is off: anyone who can reach 0.0.0.0" in server.log


def test_port_in_use_is_a_configuration_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        error = startup_error(PORT=str(port))

    assert f"cannot listen on 127.0.0.1:{port}: Address already in use; choose another --port" in error


def test_unusable_tokens_are_refused() -> None:
    assert "too short to be safe" in startup_error(AUTH_TOKEN="secret")
    assert "too long for a header; use at most 8192" in startup_error(AUTH_TOKEN="a" * 8193)


def test_longest_token_is_accepted(town_zim: Path) -> None:
    with HttpServer((town_zim,), {"AUTH_TOKEN": "a" * 8192}) as server:
        assert server.get("/metrics", headers={"Authorization": "Bearer " + "a" * 8192}).status_code == 200


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_streams_and_leaves_no_process(town_zim: Path, number: int) -> None:
    with (
        HttpServer((town_zim,)) as server,
        McpClient(server.url) as client,
        McpClient(server.url, STATELESS_VERSION) as stateless_client,
        subscribe(client) as session_stream,
        subscribe(stateless_client) as stateless_stream,
    ):
        workers = child_pids(server.process.pid)
        code = server.stop(number)
        session_stream.wait_for_end()
        stateless_stream.wait_for_end()

    assert code == (0 if number == signal.SIGTERM else 130)
    assert (session_stream.status, stateless_stream.status) == (200, 200)
    wait_until(lambda: not any(map(is_alive, workers)))
    assert "graceful shutdown exceeded" not in server.log
    assert "Traceback" not in server.log


@pytest.mark.parametrize("version", [DEFAULT_VERSION, STATELESS_VERSION])
def test_call_in_progress_is_answered_after_sigterm(town_zim: Path, version: str) -> None:
    with (
        HttpServer((town_zim,), {"WORKER__COUNT": "1"}) as server,
        McpClient(server.url, version) as client,
        ThreadPoolExecutor(1) as pool,
    ):
        client.call("zim_query", query="list archives")
        with suspended_workers(server):
            answer = pool.submit(client.call, "zim_query", query="who founded Ravenport?")
            wait_until(lambda: "openzim_mcp_in_flight 1.0" in server.get("/metrics").text)
            server.process.send_signal(signal.SIGTERM)
            time.sleep(2)
            assert not answer.done()
        text = result_text(answer.result())
        code = server.stop()

    assert "Source: " in text
    assert code == 0
