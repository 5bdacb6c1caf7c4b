"""Spans, as a collector gets them."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from support.http_server import HttpServer, McpClient
from support.stdio_server import STATELESS_VERSION, server_environment

QUESTION = "Ravenport herringbone"


class Collector(ThreadingHTTPServer):
    """Takes spans and keeps them as they came."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Taking)
        self.taken: list[tuple[str, bytes]] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def spans(self) -> bytes:
        return b"".join(body for path, body in self.taken if path == "/v1/traces")

    def gets(self, name: bytes) -> bool:
        end = time.monotonic() + 10
        while name not in self.spans and time.monotonic() < end:
            time.sleep(0.02)
        return name in self.spans


class Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.taken.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    made = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", made.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-secret=open-sesame")
    yield made
    made.shutdown()
    made.server_close()


@pytest.mark.parametrize(("processes", "delay"), [("1", "50"), ("2", "60000")])
def test_a_call_becomes_a_span_that_does_not_tell_what_was_asked(
    town_zim: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch, processes: str, delay: str
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", delay)
    with HttpServer((town_zim,), {"PROCESSES": processes, "SERVER_NAME": "isle-library"}) as server:
        for revision in ("2025-06-18", STATELESS_VERSION):
            with McpClient(server.url, revision) as client:
                told = client.call("zim_query", query=QUESTION)
        assert delay == "60000" or collector.gets(b"zim_query")
        assert server.stop() == 0

    assert "Ravenport" in told["content"][0]["text"]
    assert b"zim_query" in collector.spans
    assert b"isle-library" in collector.spans
    for private in (QUESTION, "herringbone", "Ravenport", "harbour", str(town_zim), "open-sesame"):
        assert private.encode() not in collector.spans
        assert private not in server.log


def test_a_collector_that_does_not_answer_holds_nothing_up(town_zim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        with HttpServer((town_zim,)) as server, McpClient(server.url, STATELESS_VERSION) as client:
            assert "Ravenport" in client.call("zim_query", query=QUESTION)["content"][0]["text"]
            start = time.monotonic()
            assert server.stop() == 0

    assert time.monotonic() - start < 5
    assert "Traceback" not in server.log


def test_without_the_packages_the_server_says_what_to_install_and_serves(town_zim: Path, collector: Collector) -> None:
    hiding = (
        "import sys, runpy\n"
        "sys.modules['opentelemetry.exporter'] = None\n"
        "sys.argv = ['openzim-mcp', sys.argv[1]]\n"
        "runpy.run_module('openzim_mcp', run_name='__main__')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", hiding, str(town_zim)],
        input="",
        capture_output=True,
        text=True,
        env=server_environment({}),
        timeout=30,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "the exporter is not installed: pip install 'openzim-mcp[telemetry]'" in done.stderr
    assert not collector.taken


def test_without_a_collector_nothing_is_loaded() -> None:
    code = (
        "import sys; from openzim_mcp import telemetry\n"
        "with telemetry.exporting_spans('x'): print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
