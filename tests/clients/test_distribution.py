"""What is handed to clients: snippets that start the server, a bundle that packs, and an entry for the registry."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from clients.conftest import Node
from openzim_mcp import __version__, config
from support.http_server import TOKEN, HttpServer, McpClient, read_reply
from support.stdio_server import StdioServer

ROOT = Path(__file__).parent.parent.parent
MANIFEST = json.loads((ROOT / "bundle" / "manifest.json").read_text(encoding="utf-8"))
ENTRY = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
GUIDE = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
SNIPPETS = [json.loads(snippet) for snippet in re.findall(r"```json\n(.*?)```", GUIDE, re.DOTALL)]
ENTRIES = [next(iter(next(iter(snippet.values())).values())) for snippet in SNIPPETS]
SERVERS = [entry for entry in ENTRIES if "command" in entry]
REMOTE = [entry for entry in ENTRIES if "url" in entry]
LINES = re.findall(r"^.*-- openzim-mcp (.*)$", GUIDE, re.MULTILINE)
YAML = re.findall(r"(?:cmd|command): (\S+)\n\s+args: (\[.*\])", GUIDE)
ARGUMENTS = [server["args"] for server in SERVERS] + [line.split() for line in LINES] + [json.loads(a) for _, a in YAML]


def settings_of(server: dict[str, Any]) -> dict[str, str]:
    return {name.removeprefix("OPENZIM_MCP_"): value for name, value in server.get("env", {}).items()}


def test_the_guide_has_every_kind_of_snippet() -> None:
    assert (len(SERVERS), len(REMOTE), len(LINES), len(YAML)) == (7, 1, 2, 2)
    assert {server["command"] for server in SERVERS} | {command for command, _ in YAML} == {"openzim-mcp"}
    assert {name for server in SERVERS for name in server.get("env", {})} <= set(config.environment_variables())


@pytest.mark.parametrize("arguments", sorted({tuple(arguments) for arguments in ARGUMENTS}), ids=" ".join)
def test_the_command_of_a_snippet_starts(arguments: tuple[str, ...], town_zim: Path) -> None:
    given = [str(town_zim.parent) if word == "/path/to/zims" else word for word in arguments]

    with StdioServer(*given) as server:
        tools = server.request("tools/list")["tools"]

    assert len(tools) == (8 if "advanced" in arguments else 1)


def test_the_environment_of_a_snippet_is_understood(town_zim: Path) -> None:
    (entry,) = [entry for entry in SERVERS if entry.get("env")]

    with StdioServer(town_zim, **settings_of(entry)) as server:
        tools = server.request("tools/list")["tools"]

    assert len(tools) == 8
    assert "is not a setting" not in server.log


def test_the_url_and_the_header_of_a_snippet_are_enough(town_zim: Path) -> None:
    (server,) = REMOTE
    path = urlsplit(server["url"]).path
    headers = {name: value.replace("TOKEN", TOKEN) for name, value in server["headers"].items()}

    with HttpServer((town_zim,), {"AUTH_TOKEN": TOKEN}) as web, McpClient(web.root + path, headers=headers) as visit:
        tools = read_reply(visit.post("tools/list"))["result"]["tools"]

    assert len(tools) == 1


def test_what_is_handed_out_has_the_version_of_the_package() -> None:
    versions = {MANIFEST["version"], ENTRY["version"], ENTRY["packages"][0]["version"]}

    assert versions == {__version__}


def test_the_registry_entry_keeps_the_limits_of_the_registry() -> None:
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", ENTRY["name"])
    assert len(ENTRY["description"]) <= 100


def test_the_bundle_starts_the_server_on_the_picked_folders() -> None:
    started = MANIFEST["server"]["mcp_config"]["args"]

    assert MANIFEST["user_config"]["directories"]["type"] == "directory"
    assert started[started.index("openzim-mcp") + 1 :] == [
        "--mode",
        "${user_config.mode}",
        "${user_config.directories}",
    ]


def test_the_bundle_validates_and_packs(node: Node, tmp_path: Path) -> None:
    folder, packed = tmp_path / "bundle", tmp_path / "openzim-mcp.mcpb"
    gather = [sys.executable, str(ROOT / "bundle" / "gather.py"), str(folder)]
    mcpb = node.command("mcpb")

    for command in (gather, [mcpb, "validate", str(folder)], [mcpb, "pack", str(folder), str(packed)]):
        done = subprocess.run(command, capture_output=True, text=True, env=node.environment, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    assert packed.stat().st_size < 5_000_000
    assert (folder / MANIFEST["server"]["entry_point"]).exists()
