from __future__ import annotations

import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

import httpx2
import pytest

from support.http_server import TOKEN, HttpServer, McpClient
from support.stdio_server import COMMAND, STATELESS_VERSION, child_pids, is_alive, server_environment


def refused(**settings: str) -> str:
    ended = subprocess.run(
        COMMAND,
        capture_output=True,
        text=True,
        env=server_environment({"TRANSPORT": "http", **settings}),
        timeout=30,
        check=False,
    )
    assert ended.returncode == 2, ended.stderr
    return ended.stderr


def test_the_first_line_says_where_what_and_how(town_zim: Path) -> None:
    with HttpServer((town_zim,)) as web:
        pass

    assert f"serves 1 archive on {web.url}; connect with: claude mcp add --transport http zim {web.url}" in web.lines[0]


def test_another_address_needs_a_token_or_an_explicit_no(town_zim: Path) -> None:
    told = refused(HOST="0.0.0.0")

    assert "OPENZIM_MCP_AUTH_TOKEN" in told
    assert "OPENZIM_MCP_INSECURE_DISABLE_AUTH" in told
    with HttpServer((town_zim,), {"HOST": "0.0.0.0", "AUTH_TOKEN": TOKEN}) as web:
        assert httpx2.post(web.url).status_code == 401
    with HttpServer((town_zim,), {"HOST": "0.0.0.0", "INSECURE_DISABLE_AUTH": "true"}) as web:
        assert httpx2.put(web.url).status_code == 405
    assert "authentication is off: anyone who can reach 0.0.0.0" in web.log


def test_a_port_that_is_taken_is_a_setting_that_is_wrong() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        told = refused(PORT=str(other.getsockname()[1]))

    assert ": Address already in use; choose another --port" in told


def test_a_short_token_is_refused() -> None:
    assert "too short to be safe" in refused(AUTH_TOKEN="secret")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_end_answers_calls_ends_streams_and_leaves_no_process(town_zim: Path, number: int) -> None:
    with HttpServer((town_zim,)) as web, McpClient(web.url) as visit, McpClient(web.url, STATELESS_VERSION) as modern:
        assert visit.session
        workers = child_pids(web.process.pid)
        streams: list[int] = []

        def listen(request: httpx2.Request) -> None:
            with httpx2.Client(timeout=30) as client:
                response = client.send(request, stream=True)
                streams.append(response.status_code)
                response.read()

        get = visit.http.build_request(
            "GET", web.url, headers={"Accept": "text/event-stream", "Mcp-Session-Id": visit.session}
        )
        wanted = {"notifications": {"resourcesListChanged": True}}
        threads = [
            threading.Thread(target=listen, args=(request,))
            for request in (get, modern.request("subscriptions/listen", wanted))
        ]
        for thread in threads:
            thread.start()
        while len(streams) < 2:
            time.sleep(0.01)
        start = time.monotonic()
        code = web.stop(number)
        seconds = time.monotonic() - start
        for thread in threads:
            thread.join(5)

    assert code == (0 if number == signal.SIGTERM else 130)
    assert seconds < 5
    assert streams == [200, 200]
    assert not any(map(is_alive, workers))
    assert "Traceback" not in web.log
