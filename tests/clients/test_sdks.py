"""Clients of others see what the docs promise: each uses the server and prints a report."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from clients import tools
from clients.conftest import CLIENT_TIMEOUT_SECONDS, ClientConfig, Node
from openzim_mcp.app.skills import load_skills
from openzim_mcp.protocol.prompts import PROMPTS
from openzim_mcp.protocol.tools import offered_tools
from support.stdio_server import STATELESS_VERSION, TIMEOUT_SECONDS, wait_until

REPORT: dict[str, Any] = {
    "simple_tools": ["zim_query"],
    "has_answer": True,
    "tools": [tool.name for tool in offered_tools("advanced")],
    "first_hit": ["Ravenport", "Ravenport"],
    "argument_error": [True, "invalid_arguments"],
    "progress": [1, 2, 3],
    "resources": ["zim://files", "zim://isles_en_all_2026-01", "zim://slow", "zim://towns"],
    "templates": ["zim://{name}", "zim://{name}/entry/{path}", "zim://{name}/text/{path}"],
    "article": ["text/html", True],
    "image": ["image/png", "not really a picture"],
    "not_found_code": -32002,
    "prompts": [prompt.name for prompt in PROMPTS],
    "prompt": True,
    "archive_names": ["towns"],
    "entry_paths": ["Ravenport"],
    "hit_after_cancelling": "Ravenport",
    "updated": ["zim://towns", "Other"],
    "list_changed": "list_changed",
}
AGENT = {"simple_tools", "has_answer", "tools", "first_hit", "argument_error", "article", "prompt"}


@dataclass(frozen=True)
class Sdk:
    """A client script, its runtime, and the features of the server that it uses."""

    script: str
    runtime: str
    arguments: tuple[str, ...] = ()
    features: set[str] = field(default_factory=lambda: set(REPORT))
    differences: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.script, *self.arguments])

    @property
    def expected(self) -> dict[str, Any]:
        return {feature: REPORT[feature] for feature in self.features} | self.differences


WITH_INITIALIZE = {"version": "2025-11-25"}
STATELESS = {"version": STATELESS_VERSION, "not_found_code": -32602}
# This SDK replaces -32002 by a code of its own; skills are declared in the stateless version only.
NO_SKILLS = {"not_found_code": -32602, "skills": None}
SKILLS = {"skills": [[skill.file_uri(file), True] for skill in load_skills() for file in skill.files]}
FASTMCP = set(REPORT) - {"entry_paths", "not_found_code", "hit_after_cancelling", "updated", "list_changed"}
SDKS = [
    Sdk("mcp1.py", "sdk1", differences=WITH_INITIALIZE),
    Sdk("mcp2.py", "ours", ("legacy",), differences=WITH_INITIALIZE),
    Sdk("mcp2.py", "ours", (STATELESS_VERSION,), differences=STATELESS),
    Sdk("typescript1.mjs", "node", differences=WITH_INITIALIZE),
    Sdk("typescript2.mjs", "node", ("legacy",), differences=WITH_INITIALIZE | NO_SKILLS),
    Sdk("typescript2.mjs", "node", ("auto",), differences=STATELESS | SKILLS),
    Sdk("typescript2.mjs", "node", ("pin",), differences=STATELESS | SKILLS),
    Sdk("fastmcp_client.py", "sdk2", features=FASTMCP, differences={"version": STATELESS_VERSION}),
    Sdk("langchain_tools.py", "sdk1", features=AGENT | {"image"}),
    Sdk("openai_agents.py", "sdk1", features=AGENT | {"resources", "templates", "prompts"}),
    Sdk("pydantic_agents.py", "sdk2", features=AGENT - {"argument_error"} | {"resources", "templates", "prompts"}),
]
RUNS = [(sdk, transport) for sdk in SDKS for transport in ("stdio", "http")]


@pytest.fixture
def command(sdk: Sdk, request: pytest.FixtureRequest) -> list[str]:
    """The command of a client; the packages that it needs are installed first."""
    if sdk.runtime == "node":
        node: Node = request.getfixturevalue("node")
        return [node.command("node"), node.script(sdk.script)]
    interpreter = sys.executable if sdk.runtime == "ours" else tools.python_with(sdk.runtime)
    return [interpreter, str(tools.HERE / "python" / sdk.script)]


@pytest.fixture
def config(sdk: Sdk, transport: str, request: pytest.FixtureRequest) -> ClientConfig:
    """The servers of a client, with a directory for itself if it changes archives."""
    is_read_only = transport == "http" and "updated" not in sdk.features
    client_config: ClientConfig = request.getfixturevalue("shared_http" if is_read_only else transport)
    return client_config


def metrics(config: ClientConfig) -> str:
    """The metrics of the advanced server over HTTP."""
    server = config["servers"]["advanced"]
    url = server["url"].replace("/mcp", "/metrics")
    return httpx2.get(url, headers=server["headers"], timeout=TIMEOUT_SECONDS).text


@pytest.mark.parametrize(("sdk", "transport"), RUNS, ids=str)
def test_client_sees_what_the_docs_promise(sdk: Sdk, transport: str, command: list[str], config: ClientConfig) -> None:
    process = subprocess.run(
        [*command, json.dumps(config), *sdk.arguments],
        capture_output=True,
        text=True,
        timeout=CLIENT_TIMEOUT_SECONDS,
        check=False,
    )

    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout.splitlines()[-1]) == sdk.expected
    if transport == "http" and "hit_after_cancelling" in sdk.features:
        cancelled = 'openzim_mcp_calls_total{method="tools/call",outcome="cancelled",tool="zim_health"} 1'
        wait_until(lambda: cancelled in metrics(config))


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_feature_is_used_by_two_clients(transport: str) -> None:
    counts = Counter(feature for sdk, used_transport in RUNS for feature in sdk.features if used_transport == transport)

    assert [feature for feature in REPORT if counts[feature] < 2] == []
