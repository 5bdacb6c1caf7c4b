"""The command line of the MCP Inspector uses the server in both protocol eras and over both transports."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import pytest

from clients.conftest import CLIENT_TIMEOUT_SECONDS, Node, ServerParameters

ISLES = "isles_en_all_2026-01"
READ_ARGUMENTS = ["entry_path=Ravenport", f"zim_file_path={ISLES}"]


def server_options(server: ServerParameters) -> list[str]:
    """The options with which the Inspector reaches a server."""
    if "url" in server:
        headers = [f"{name}: {value}" for name, value in server["headers"].items()]
        return ["--transport", "http", "--server-url", server["url"], "--header", *headers]
    return [server["command"], *server["args"], "-e", "OPENZIM_MCP_LOGGING__LEVEL=WARNING"]


@pytest.fixture(params=["stdio", "shared_http"])
def inspect(node: Node, request: pytest.FixtureRequest) -> Any:
    servers = request.getfixturevalue(request.param)["servers"]

    def run(mode: str, era: str, *arguments: str) -> tuple[dict[str, Any], str]:
        command = [node.command("mcp-inspector"), "--cli", *server_options(servers[mode])]
        options = [
            "--protocol-era",
            era,
            "--connect-timeout",
            str(CLIENT_TIMEOUT_SECONDS * 1000),
            "--method",
            *arguments,
        ]
        process = subprocess.run(
            [*command, *options],
            capture_output=True,
            text=True,
            timeout=CLIENT_TIMEOUT_SECONDS,
            env=node.environment,
            check=False,
        )
        assert process.returncode == 0, process.stderr
        return json.loads(process.stdout), process.stderr

    return run


@pytest.mark.parametrize(("mode", "era"), [("advanced", "legacy"), ("advanced", "modern"), ("simple", "modern")])
def test_schemas_are_portable(inspect: Any, mode: str, era: str) -> None:
    result, warnings = inspect(mode, era, "tools/list", "--strict")

    assert len(result["tools"]) == {"advanced": 8, "simple": 1}[mode]
    assert warnings == ""


@pytest.mark.parametrize("mode", ["simple", "advanced"])
def test_files_of_the_skill_have_their_digests(inspect: Any, mode: str) -> None:
    result, _ = inspect(mode, "modern", "skills/list", "--verify", "--require-digests")

    assert (result["name"], result["outcome"]) == ("offline-research", "verified")
    assert {file["status"] for file in result["files"]} == {"verified"}


@pytest.mark.parametrize(
    ("era", "arguments", "expected"),
    [
        ("legacy", ["tools/call", "--tool-name", "zim_get", "--tool-arg", *READ_ARGUMENTS], "harbour town"),
        ("modern", ["tools/call", "--tool-name", "zim_query", "--tool-arg", "query=list archives"], ISLES),
        ("modern", ["resources/list"], f"zim://{ISLES}"),
        ("legacy", ["resources/templates/list"], "zim://{name}/entry/{path}"),
        ("modern", ["resources/read", "--uri", f"zim://{ISLES}/entry/Ravenport"], "harbour town"),
        ("legacy", ["prompts/get", "--prompt-name", "explore", "--prompt-args", "zim_file_path=towns"], "zim_metadata"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_inspector_uses_the_server(inspect: Any, era: str, arguments: list[str], expected: str) -> None:
    result, _ = inspect("advanced", era, *arguments)

    assert expected in json.dumps(result)


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_app_view_is_recognised(inspect: Any, era: str) -> None:
    result, _ = inspect("simple", era, "tools/list", "--app-info", "--advertise-apps")

    assert "ui://openzim-mcp/answer.html" in json.dumps(result)
    assert "text/html;profile=mcp-app" in json.dumps(result)
