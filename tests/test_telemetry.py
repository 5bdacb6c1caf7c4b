"""Spans, as an OpenTelemetry collector receives them."""

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

from support.http_server import HttpServer, McpClient, result_text
from support.stdio_server import DEFAULT_VERSION, STATELESS_VERSION, TIMEOUT_SECONDS, server_environment, wait_until

QUERY = "Ravenport herringbone"


class Collector(ThreadingHTTPServer):
    """Receives spans and stores their bytes."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), CollectorHandler)
        self.received: list[tuple[str, bytes]] = []
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def spans(self) -> bytes:
        return b"".join(body for path, body in self.received if path == "/v1/traces")


class CollectorHandler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.received.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    collector = Collector()
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-secret=open-sesame")
    yield collector
    collector.shutdown()
    collector.server_close()


@pytest.mark.parametrize(("processes", "delay"), [("1", "50"), ("2", "60000")])
def test_spans_do_not_contain_queries(
    town_zim: Path, collector: Collector, monkeypatch: pytest.MonkeyPatch, processes: str, delay: str
) -> None:
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", delay)
    with HttpServer((town_zim,), {"PROCESSES": processes, "SERVER_NAME": "isle-library"}) as server:
        for version in (DEFAULT_VERSION, STATELESS_VERSION):
            with McpClient(server.url, version) as client:
                result = client.call("zim_query", query=QUERY)
        if delay == "50":
            wait_until(lambda: b"zim_query" in collector.spans)
        assert server.stop() == 0

    assert "Ravenport" in result_text(result)
    assert b"zim_query" in collector.spans
    assert b"isle-library" in collector.spans
    for private in (QUERY, "herringbone", "Ravenport", "harbour", str(town_zim), "open-sesame"):
        assert private.encode() not in collector.spans
        assert private not in server.log


def test_unresponsive_collector_delays_nothing(town_zim: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "100")
        with HttpServer((town_zim,)) as server, McpClient(server.url, STATELESS_VERSION) as client:
            assert "Ravenport" in result_text(client.call("zim_query", query=QUERY))
            start = time.monotonic()
            assert server.stop() == 0

    assert time.monotonic() - start < 60
    assert "Traceback" not in server.log


def test_missing_exporter_is_named_and_the_server_works(town_zim: Path, collector: Collector) -> None:
    without_exporter = (
        "import sys, runpy\n"
        "sys.modules['opentelemetry.exporter'] = None\n"
        "sys.argv = ['openzim-mcp', sys.argv[1]]\n"
        "runpy.run_module('openzim_mcp', run_name='__main__')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", without_exporter, str(town_zim)],
        input="",
        capture_output=True,
        text=True,
        env=server_environment({}),
        timeout=TIMEOUT_SECONDS,
        check=False,
    )

    assert result.returncode == 0, result.stderr
    assert "the exporter is not installed; in a clone of the repository: pip install '.[telemetry]'" in result.stderr
    assert not collector.received


def test_opentelemetry_is_not_loaded_without_a_collector() -> None:
    code = (
        "import sys; from openzim_mcp import telemetry\n"
        "with telemetry.exporting_spans('x'): print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert result.stdout.strip() == "[]"
