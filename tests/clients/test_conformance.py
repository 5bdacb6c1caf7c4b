"""The official conformance runner reports only the failures listed in the baseline."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.conftest import CLIENT_TIMEOUT_SECONDS, Node
from clients.tools import HERE
from support.http_server import HttpServer
from support.stdio_server import STATELESS_VERSION

BASELINE = HERE / "conformance-baseline.yml"


@pytest.fixture(scope="module")
def url(town_zim: Path) -> Iterator[str]:
    """A server over HTTP without authentication: the runner cannot send a token."""
    with HttpServer((town_zim,), {"TOOL_MODE": "advanced", "WATCH_INTERVAL_SECONDS": "1"}) as web:
        yield web.url


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", STATELESS_VERSION])
def test_conformance_runner_reports_no_unexpected_failure(node: Node, url: str, version: str) -> None:
    command = [node.command("conformance"), "server", "--url", url, "--suite", "all", "--spec-version", version]

    process = subprocess.run(
        [*command, "--expected-failures", str(BASELINE)],
        capture_output=True,
        text=True,
        timeout=CLIENT_TIMEOUT_SECONDS,
        env=node.environment,
        check=False,
    )

    assert process.returncode == 0, process.stdout[-3000:] + process.stderr
    assert "Baseline check passed" in process.stdout
