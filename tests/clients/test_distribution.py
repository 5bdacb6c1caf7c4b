"""What is published for clients: the snippets of the guide, the bundle and the registry entry."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clients.conftest import CLIENT_TIMEOUT_SECONDS, Node
from openzim_mcp import __version__, config
from support.http_server import TOKEN, HttpServer, McpClient, read_reply
from support.stdio_server import StdioServer

ROOT = Path(__file__).parent.parent.parent
MANIFEST = json.loads((ROOT / "bundle" / "manifest.json").read_text(encoding="utf-8"))
REGISTRY_ENTRY = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
GUIDE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
SNIPPETS = [json.loads(snippet) for snippet in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
ENTRIES = [next(iter(next(iter(snippet.values())).values())) for snippet in SNIPPETS]
LOCAL = [entry for entry in ENTRIES if "command" in entry]
REMOTE = [entry for entry in ENTRIES if "url" in entry]
LINES = re.findall(r"^.*-- openzim-mcp (.*)$", GUIDE, re.MULTILINE)
YAML = re.findall(r"(?:cmd|command): (\S+)\n\s+args: (\[.*\])", GUIDE)
ARGUMENTS = [entry["args"] for entry in LOCAL] + [line.split() for line in LINES] + [json.loads(a) for _, a in YAML]


def settings(entry: dict[str, Any]) -> dict[str, str]:
    return {name.removeprefix("OPENZIM_MCP_"): value for name, value in entry.get("env", {}).items()}


def test_guide_has_every_kind_of_snippet() -> None:
    assert (len(LOCAL), len(REMOTE), len(LINES), len(YAML)) == (7, 1, 2, 2)
    assert {entry["command"] for entry in LOCAL} | {command for command, _ in YAML} == {"openzim-mcp"}
    assert {name for entry in LOCAL for name in entry.get("env", {})} <= set(config.environment_variables())


@pytest.mark.parametrize("arguments", sorted({tuple(arguments) for arguments in ARGUMENTS}), ids=" ".join)
def test_command_of_a_snippet_starts(arguments: tuple[str, ...], town_zim: Path) -> None:
    command = [str(town_zim.parent) if word == "/path/to/zims" else word for word in arguments]

    with StdioServer(*command) as server:
        tools = server.request("tools/list")["tools"]

    assert len(tools) == (8 if "advanced" in arguments else 1)


def test_environment_of_a_snippet_is_accepted(town_zim: Path) -> None:
    (entry,) = [entry for entry in LOCAL if entry.get("env")]

    with StdioServer(town_zim, **settings(entry)) as server:
        tools = server.request("tools/list")["tools"]

    assert len(tools) == 8
    assert "is not a setting" not in server.log


def test_url_and_header_of_a_snippet_suffice(town_zim: Path) -> None:
    (entry,) = REMOTE
    path = urlsplit(entry["url"]).path
    headers = {name: value.replace("TOKEN", TOKEN) for name, value in entry["headers"].items()}

    with (
        HttpServer((town_zim,), {"AUTH_TOKEN": TOKEN}) as server,
        McpClient(server.root + path, headers=headers) as client,
    ):
        tools = read_reply(client.post("tools/list"))["result"]["tools"]

    assert len(tools) == 1


def test_manifest_and_registry_entry_have_the_package_version() -> None:
    image_version = REGISTRY_ENTRY["packages"][0]["identifier"].rpartition(":")[2]
    versions = {MANIFEST["version"], REGISTRY_ENTRY["version"], image_version}

    assert versions == {__version__}


def test_registry_entry_respects_the_registry_limits() -> None:
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", REGISTRY_ENTRY["name"])
    assert len(REGISTRY_ENTRY["description"]) <= 100


def test_bundle_starts_the_server_on_the_chosen_folders() -> None:
    arguments = MANIFEST["server"]["mcp_config"]["args"]

    assert MANIFEST["user_config"]["directories"]["type"] == "directory"
    assert arguments[arguments.index("openzim-mcp") + 1 :] == [
        "--mode",
        "${user_config.mode}",
        "${user_config.directories}",
    ]


def test_bundle_is_valid_and_can_be_packed(node: Node, tmp_path: Path) -> None:
    folder, packed = tmp_path / "bundle", tmp_path / "openzim-mcp.mcpb"
    gather = [sys.executable, str(ROOT / "bundle" / "gather.py"), str(folder)]
    mcpb = node.command("mcpb")

    for command in (gather, [mcpb, "validate", str(folder)], [mcpb, "pack", str(folder), str(packed)]):
        process = subprocess.run(
            command, capture_output=True, text=True, env=node.environment, timeout=CLIENT_TIMEOUT_SECONDS, check=False
        )
        assert process.returncode == 0, process.stdout + process.stderr

    assert packed.stat().st_size < 5_000_000
    assert (folder / MANIFEST["server"]["entry_point"]).exists()
