"""The MCP Inspector, on the command line, reads the server in both eras, over both transports, and finds its schemas portable."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from clients.conftest import Node, Place

ISLES = "isles_en_all_2026-01"
READ = ["entry_path=Ravenport", f"zim_file_path={ISLES}"]


def target(place: Place) -> list[str]:
    """How the Inspector is told where the server is."""
    if "url" in place:
        headers = [f"{name}: {value}" for name, value in place["headers"].items()]
        return ["--transport", "http", "--server-url", place["url"], "--header", *headers]
    return [place["command"], *place["args"], "-e", "OPENZIM_MCP_LOGGING__LEVEL=WARNING"]


@pytest.fixture(params=["stdio", "shared_http"])
def inspect(node: Node, request: pytest.FixtureRequest) -> Any:
    servers = request.getfixturevalue(request.param)["servers"]

    def run(mode: str, era: str, *arguments: str) -> tuple[dict[str, Any], str]:
        command = [node.command("mcp-inspector"), "--cli", *target(servers[mode])]
        options = ["--protocol-era", era, "--connect-timeout", "60000", "--method", *arguments]
        done = subprocess.run(
            [*command, *options], capture_output=True, text=True, timeout=120, env=node.environment, check=False
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout), done.stderr

    return run


@pytest.mark.parametrize(("mode", "era"), [("advanced", "legacy"), ("advanced", "modern"), ("simple", "modern")])
def test_no_schema_is_hard_to_carry_to_another_model(inspect: Any, mode: str, era: str) -> None:
    answer, complaints = inspect(mode, era, "tools/list", "--strict")

    assert len(answer["tools"]) == {"advanced": 8, "simple": 1}[mode]
    assert complaints == ""


@pytest.mark.parametrize(
    ("era", "arguments", "expected"),
    [
        ("legacy", ["tools/call", "--tool-name", "zim_get", "--tool-arg", *READ], "harbour town"),
        ("modern", ["tools/call", "--tool-name", "zim_query", "--tool-arg", "query=list archives"], ISLES),
        ("modern", ["resources/list"], f"zim://{ISLES}"),
        ("legacy", ["resources/templates/list"], "zim://{name}/entry/{path}"),
        ("modern", ["resources/read", "--uri", f"zim://{ISLES}/entry/Ravenport"], "harbour town"),
        ("legacy", ["prompts/get", "--prompt-name", "explore", "--prompt-args", "zim_file_path=towns"], "zim_metadata"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_the_inspector_uses_the_server(inspect: Any, era: str, arguments: list[str], expected: str) -> None:
    answer, _ = inspect("advanced", era, *arguments)

    assert expected in json.dumps(answer)
