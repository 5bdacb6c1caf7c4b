from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from openzim_mcp import server_state
from support.command_line import clean_environment, run
from support.http_server import HttpServer
from support.stdio_server import COMMAND, TIMEOUT_SECONDS


def test_running_server_is_found_by_its_directories(town_zim: Path, isles_zim: Path) -> None:
    with HttpServer((town_zim.parent,)) as server:
        found = server_state.find_server([town_zim])
        missing = server_state.find_server([town_zim, isles_zim])

    assert found
    assert (found.pid, found.url) == (server.process.pid, server.root)
    assert missing is None
    assert server_state.find_server([town_zim]) is None


def test_killed_server_is_not_believed(town_zim: Path) -> None:
    with HttpServer((town_zim,)) as server:
        server.stop(signal.SIGKILL)

    assert server_state.find_server([town_zim]) is None


@pytest.mark.skipif(os.name != "posix", reason="files have owners and modes on POSIX systems")
@pytest.mark.parametrize("content", [b"", b"[]", b'{"pid": 1}', None])
def test_file_that_others_could_have_written_is_ignored(tmp_path: Path, content: bytes | None) -> None:
    with server_state.recorded_server("http://127.0.0.1:9", "http://127.0.0.1:9", [tmp_path]):
        file = Path(server_state._directory()) / f"{os.getpid()}.json"
        assert file.stat().st_mode & 0o777 == 0o600
        if content is None:
            file.chmod(0o666)
        else:
            file.write_bytes(content)

        assert list(server_state.running_servers()) == []


def test_server_that_does_not_respond_is_ignored(tmp_path: Path) -> None:
    with server_state.recorded_server("http://127.0.0.1:9", "http://127.0.0.1:9", [tmp_path]):
        assert [state.pid for state in server_state.running_servers()] == [os.getpid()]
        assert server_state.find_server([tmp_path]) is None


def test_ask_and_read_print_links_of_a_running_server(isles_zim: Path) -> None:
    with HttpServer((isles_zim,), {"PUBLIC_URL": "https://zim.example"}):
        asked = run("ask", "who founded Ravenport?", isles_zim)
        as_json = run("ask", "--json", "who founded Ravenport?", isles_zim)
        read = run("read", "Ravenport", isles_zim)
    alone = run("ask", "who founded Ravenport?", isles_zim)

    url = "https://zim.example/read/isles_en_all_2026-01/Ravenport"
    assert f"\n{url}" in asked.out
    assert as_json.json["links"][0].startswith(url)
    assert read.err.splitlines()[-1] == url
    assert "zim.example" not in alone.out


@pytest.mark.skipif(sys.platform == "win32", reason="the browser is a shell script")
def test_open_starts_a_server_and_the_browser(town_zim: Path, tmp_path: Path) -> None:
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >> {tmp_path}/opened\n')
    browser.chmod(0o755)
    environment = clean_environment(BROWSER=f"{browser} %s", OPENZIM_MCP_PORT="0")
    opened = tmp_path / "opened"
    process = subprocess.Popen([*COMMAND, "open", town_zim], env=environment, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while not opened.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        state = server_state.find_server([town_zim])
        again = run("open", town_zim, BROWSER=f"{browser} %s")
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(TIMEOUT_SECONDS)

    assert state
    assert "already running" in again.err
    assert opened.read_text().split() == [f"{state.url}/"] * 2


def test_serve_is_http_and_prints_the_address_of_the_page(town_zim: Path) -> None:
    with HttpServer(("serve", town_zim), {"TRANSPORT": ""}) as server:
        assert f"open {server.root}/ in a browser" in server.wait_for_line("in a browser")
