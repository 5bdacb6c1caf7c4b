"""Clients that others have written see what the docs promise: each visits the server and reports what it saw."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from clients import workshop
from clients.conftest import Node, Visit
from openzim_mcp.protocol.prompts import PROMPTS
from openzim_mcp.protocol.tools import TOOLS
from support.stdio_server import STATELESS_VERSION

SEEN: dict[str, Any] = {
    "simple_tools": ["zim_query"],
    "answered": True,
    "tools": [tool.name for tool in TOOLS],
    "found": ["Ravenport", "Ravenport"],
    "mistake": [True, "invalid_arguments"],
    "progress": [1, 2, 3],
    "resources": ["zim://files", "zim://isles_en_all_2026-01", "zim://slow", "zim://towns"],
    "templates": ["zim://{name}", "zim://{name}/entry/{path}"],
    "article": ["text/html", True],
    "picture": ["image/png", "not really a picture"],
    "refusal": -32002,
    "prompts": [prompt.name for prompt in PROMPTS],
    "prompt": True,
    "names": ["towns"],
    "paths": ["Ravenport"],
    "after_cancelling": "Ravenport",
    "updated": ["zim://towns", "Other"],
    "list_changed": "list_changed",
}
AGENT = {"simple_tools", "answered", "tools", "found", "mistake", "article", "prompt"}


@dataclass(frozen=True)
class Sdk:
    """A client, how it is run, and what of the server it can use."""

    script: str
    runtime: str
    arguments: tuple[str, ...] = ()
    uses: set[str] = field(default_factory=lambda: set(SEEN))
    differs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.script, *self.arguments])

    @property
    def expected(self) -> dict[str, Any]:
        return {what: SEEN[what] for what in self.uses} | self.differs


HANDSHAKE = {"revision": "2025-11-25"}
STATELESS = {"revision": STATELESS_VERSION, "refusal": -32602}
FASTMCP = set(SEEN) - {"paths", "refusal", "after_cancelling", "updated", "list_changed"}
SDKS = [
    Sdk("mcp1.py", "handshake", differs=HANDSHAKE),
    Sdk("mcp2.py", "ours", ("legacy",), differs=HANDSHAKE),
    Sdk("mcp2.py", "ours", (STATELESS_VERSION,), differs=STATELESS),
    Sdk("typescript1.mjs", "node", differs=HANDSHAKE),
    Sdk("typescript2.mjs", "node", ("legacy",), differs=HANDSHAKE | {"refusal": -32602}),  # its own word for -32002
    Sdk("typescript2.mjs", "node", ("auto",), differs=STATELESS),
    Sdk("typescript2.mjs", "node", ("pin",), differs=STATELESS),
    Sdk("fastmcp_client.py", "modern", uses=FASTMCP, differs={"revision": STATELESS_VERSION}),
    Sdk("langchain_tools.py", "handshake", uses=AGENT | {"picture"}),
    Sdk("openai_agents.py", "handshake", uses=AGENT | {"resources", "templates", "prompts"}),
    Sdk("pydantic_agents.py", "modern", uses=AGENT - {"mistake"} | {"resources", "templates", "prompts"}),
]
VISITS = [(sdk, transport) for sdk in SDKS for transport in ("stdio", "http")]


@pytest.fixture
def command(sdk: Sdk, request: pytest.FixtureRequest) -> list[str]:
    """How a client is run; what it needs is installed first."""
    if sdk.runtime == "node":
        node: Node = request.getfixturevalue("node")
        return [node.command("node"), node.script(sdk.script)]
    interpreter = sys.executable if sdk.runtime == "ours" else workshop.python_with(sdk.runtime)
    return [interpreter, str(workshop.HERE / "python" / sdk.script)]


@pytest.fixture
def visit(sdk: Sdk, transport: str, request: pytest.FixtureRequest) -> Visit:
    """Where a client goes: to archives of its own if it changes them."""
    is_guest = transport == "http" and "updated" not in sdk.uses
    found: Visit = request.getfixturevalue("shared_http" if is_guest else transport)
    return found


def numbers(visit: Visit) -> str:
    """What the advanced server of a visit over HTTP has counted."""
    place = visit["servers"]["advanced"]
    return httpx2.get(place["url"].replace("/mcp", "/metrics"), headers=place["headers"]).text


@pytest.mark.parametrize(("sdk", "transport"), VISITS, ids=str)
def test_a_client_sees_what_is_promised(sdk: Sdk, transport: str, command: list[str], visit: Visit) -> None:
    arguments = [json.dumps(visit), *sdk.arguments]

    done = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=120, check=False)

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == sdk.expected
    if transport == "http" and "after_cancelling" in sdk.uses:
        assert 'openzim_mcp_calls_total{method="tools/call",outcome="cancelled",tool="zim_health"} 1' in numbers(visit)


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_every_feature_is_used_through_two_clients(transport: str) -> None:
    users = Counter(what for sdk, way in VISITS for what in sdk.uses if way == transport)

    assert [what for what in SEEN if users[what] < 2] == []
