"""The official conformance runner reports only the failures listed in the baseline."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from clients.conftest import CLIENT_TIMEOUT_SECONDS, Node
from clients.tools import HERE
from support.http_server import HttpServer
from support.stdio_server import STATELESS_VERSION

SERVERS = {"one process": {}, "two processes": {"PROCESSES": "2"}, "stateless": {"STATELESS": "true"}}


@pytest.fixture(scope="module", params=SERVERS)
def server(request: pytest.FixtureRequest, town_zim: Path) -> Iterator[HttpServer]:
    """A server over HTTP without authentication: the runner cannot send a token."""
    settings = {"TOOL_MODE": "advanced", "WATCH_INTERVAL_SECONDS": "1", **SERVERS[request.param]}
    with HttpServer((town_zim,), settings) as server:
        yield server


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25", STATELESS_VERSION])
def test_conformance_runner_reports_no_unexpected_failure(
    node: Node, server: HttpServer, version: str, tmp_path: Path
) -> None:
    has_sessions = "PROCESSES" not in server.settings and "STATELESS" not in server.settings
    files = ["conformance-baseline.yml"]
    if not has_sessions and version != STATELESS_VERSION:
        files.append("conformance-baseline-stateless.yml")
    baseline = tmp_path / "baseline.yml"
    baseline.write_text("\n".join((HERE / name).read_text(encoding="utf-8") for name in files), encoding="utf-8")
    command = [node.command("conformance"), "server", "--url", server.url, "--suite", "all", "--spec-version", version]

    process = subprocess.run(
        [*command, "--expected-failures", str(baseline)],
        capture_output=True,
        text=True,
        timeout=CLIENT_TIMEOUT_SECONDS,
        env=node.environment,
        check=False,
    )

    assert process.returncode == 0, process.stdout[-3000:] + process.stderr
    assert "Baseline check passed" in process.stdout


@pytest.mark.parametrize("scenario", ["enumeration", "manifest", "directory"])
def test_skills_pass_the_scenarios_of_their_extension(node: Node, server: HttpServer, scenario: str) -> None:
    command = [node.command("conformance"), "server", "--url", server.url, "--spec-version", STATELESS_VERSION]

    process = subprocess.run(
        [*command, "--scenario", f"sep-2640-skills-{scenario}", "--force"],
        capture_output=True,
        text=True,
        timeout=CLIENT_TIMEOUT_SECONDS,
        env=node.environment,
        check=False,
    )

    assert process.returncode == 0, process.stdout[-3000:] + process.stderr
    # Two warnings: the list of resources has archives only, so it does not name the file of the skill.
    assert re.search(r"Passed: ([1-9]\d*)/\1, 0 failed, [02] warnings", process.stdout), process.stdout[-3000:]
