from __future__ import annotations

import time
from pathlib import Path

import httpx2

from support.http_server import HttpServer
from support.stdio_server import TIMEOUT_SECONDS


def test_response_does_not_wait_for_delayed_acknowledgements(town_zim: Path) -> None:
    durations = []
    with HttpServer((town_zim.parent,)) as server, httpx2.Client(timeout=TIMEOUT_SECONDS) as client:
        for _ in range(61):
            start = time.perf_counter()
            client.get(f"{server.root}/healthz")
            durations.append(time.perf_counter() - start)

    # A system delays its confirmations by 40 ms, but not those of the first packets of a connection.
    assert min(durations[-40:]) < 0.035
