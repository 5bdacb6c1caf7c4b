"""The official conformance runner finds nothing that the baseline does not give a reason for."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.conftest import Node
from clients.workshop import HERE
from support.http_server import HttpServer
from support.stdio_server import STATELESS_VERSION

BASELINE = HERE / "conformance-baseline.yml"


@pytest.fixture(scope="module")
def url(town_zim: Path) -> Iterator[str]:
    """A server over HTTP on this machine; the runner has no token to show."""
    with HttpServer((town_zim,), {"TOOL_MODE": "advanced", "WATCH_INTERVAL_SECONDS": "1"}) as web:
        yield web.url


@pytest.mark.parametrize("revision", ["2025-06-18", "2025-11-25", STATELESS_VERSION])
def test_the_conformance_runner_finds_nothing_unexpected(node: Node, url: str, revision: str) -> None:
    command = [node.command("conformance"), "server", "--url", url, "--suite", "all", "--spec-version", revision]

    done = subprocess.run(
        [*command, "--expected-failures", str(BASELINE)],
        capture_output=True,
        text=True,
        timeout=300,
        env=node.environment,
        check=False,
    )

    assert done.returncode == 0, done.stdout[-3000:] + done.stderr
    assert "Baseline check passed" in done.stdout
