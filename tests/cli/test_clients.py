from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from openzim_mcp.cli import clients, registry
from openzim_mcp.cli.clients import CLIENTS, NAMES
from openzim_mcp.cli.command import Exit
from support.command_line import run, run_on_terminal

WINDOWS = {
    "USERPROFILE": r"C:\Users\Ada",
    "APPDATA": r"C:\Users\Ada\AppData\Roaming",
    "LOCALAPPDATA": r"C:\Users\Ada\AppData\Local",
}


@pytest.mark.parametrize(
    ("client", "platform", "place"),
    [
        ("claude-desktop", "win32", r"C:\Users\Ada\AppData\Roaming\Claude\claude_desktop_config.json"),
        ("claude-desktop", "darwin", "/u/ada/Library/Application Support/Claude/claude_desktop_config.json"),
        ("claude-desktop", "linux", "/u/ada/.config/Claude/claude_desktop_config.json"),
        ("claude-code", "win32", r"C:\Users\Ada\.claude.json"),
        ("vscode", "win32", r"C:\Users\Ada\AppData\Roaming\Code\User\mcp.json"),
        ("vscode", "darwin", "/u/ada/Library/Application Support/Code/User/mcp.json"),
        ("cursor", "win32", r"C:\Users\Ada\.cursor\mcp.json"),
        ("lm-studio", "win32", r"C:\Users\Ada\.lmstudio\mcp.json"),
        ("goose", "win32", r"C:\Users\Ada\AppData\Roaming\Block\goose\config\config.yaml"),
        ("goose", "darwin", "/u/ada/.config/goose/config.yaml"),
        ("open-webui", "linux", "/u/ada/.config/openzim-mcp/mcpo.json"),
    ],
)
def test_each_client_has_its_usual_place_on_each_platform(client: str, platform: str, place: str) -> None:
    variables = WINDOWS if platform == "win32" else {"HOME": "/u/ada"}

    assert clients.places_of(NAMES[client], platform, variables)[-1] == place


def test_an_app_from_the_windows_store_is_looked_for_first() -> None:
    first, _ = clients.places_of(NAMES["claude-desktop"], "win32", WINDOWS)

    assert first == (
        r"C:\Users\Ada\AppData\Local\Packages\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json"
    )


def test_without_its_variables_windows_is_found_below_the_home() -> None:
    assert clients.places_of(NAMES["vscode"], "win32", {"USERPROFILE": r"D:\me"}) == [
        r"D:\me\AppData\Roaming\Code\User\mcp.json"
    ]


@pytest.mark.parametrize(
    ("command", "is_ours"),
    [
        (["/opt/bin/openzim-mcp", "/zims"], True),
        ([r"C:\tools\openzim-mcp.exe"], True),
        (["uvx", "openzim-mcp", "/zims"], True),
        (["python", "-m", "openzim_mcp"], True),
        (["docker", "run", "-i", "example.org/openzim-mcp:latest"], True),
        (["npx", "files", "/home/ada/openzim-mcp"], False),
        (["other"], False),
    ],
)
def test_only_what_starts_this_program_is_taken_for_it(command: list[str], is_ours: bool) -> None:  # noqa: FBT001
    text = json.dumps({"mcpServers": {"a": {"command": command[0], "args": command[1:]}}})

    assert NAMES["cursor"].servers(text) == (["a"] if is_ours else [])


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_every_client_can_be_connected_and_disconnected(client: clients.Client, tmp_path: Path, town_zim: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")}

    shown = run("connect", client.name, town_zim, "--json", **home).json
    nothing_yet = Path(shown["file"]).exists()
    written = run("connect", client.name, town_zim, "--write", "--json", **home).json
    text = Path(written["file"]).read_text(encoding="utf-8")
    known = run("connect", "--json", **home).json["clients"]
    again = run("connect", client.name, town_zim, "--write", "--json", **home).json
    gone = run("disconnect", client.name, "--write", "--json", **home).json

    assert (shown["written"], nothing_yet, written["written"], again["written"]) == (False, False, True, False)
    assert [row["client"] for row in known if row["servers"] == ["zim"]] == [client.name]
    command = client.read(text, "zim")
    assert command is not None
    assert command[-1] == str(town_zim)
    assert Path(command[0]).exists()
    assert gone["written"]
    assert client.servers(Path(written["file"]).read_text(encoding="utf-8")) == []
    assert Path(gone["backup"]).read_text(encoding="utf-8") == text


def test_a_command_that_was_written_starts_and_answers(tmp_path: Path, town_zim: Path) -> None:
    file = tmp_path / "mcp.json"
    run("connect", "cursor", town_zim, "--mode", "advanced", "--file", file, "--write")
    entry = json.loads(file.read_text())["mcpServers"]["zim"]
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}

    ended = subprocess.run(
        [entry["command"], *entry["args"]], input=json.dumps(request) + "\n", capture_output=True, text=True, check=True
    )

    assert json.loads(ended.stdout)["result"]["serverInfo"]["name"] == "openzim-mcp"


def test_comments_order_and_mode_of_a_file_stay(tmp_path: Path, town_zim: Path) -> None:
    file = tmp_path / "mcp.json"
    text = '{\n    // mine\n    "servers": {\n        "b": {"command": "b"},\n    },\n    "a": 1\n}\n'
    file.write_text(text, encoding="utf-8")
    file.chmod(0o640)

    run("connect", "vscode", town_zim, "--file", file, "--write")
    connected = file.read_text(encoding="utf-8")
    run("disconnect", "vscode", "--file", file, "--write")

    assert connected.startswith('{\n    // mine\n    "servers": {\n        "b": {"command": "b"},\n        "zim": {')
    assert file.read_text(encoding="utf-8") == text
    assert file.stat().st_mode & 0o777 == 0o640
    assert len(list(tmp_path.glob("mcp.json.*.bak"))) == 2


def test_a_linked_configuration_stays_a_link(tmp_path: Path, town_zim: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}")
    (tmp_path / "mcp.json").symlink_to(real)

    run("connect", "cursor", town_zim, "--file", tmp_path / "mcp.json", "--write")

    assert (tmp_path / "mcp.json").is_symlink()
    assert "zim" in json.loads(real.read_text())["mcpServers"]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("cursor", '{"mcpServers": ', "a value is expected"),
        ("cursor", '{"mcpServers": []}', "mcpServers is not an object"),
        ("goose", "extensions: {a: {b: 1}}\n", "extensions is written in one line"),
    ],
)
def test_a_file_that_is_not_understood_is_left_alone(tmp_path: Path, name: str, text: str, message: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)

    ended = run("connect", name, "--file", file, "--write")

    assert ended.code == Exit.USAGE
    assert message in ended.err
    assert [file.name for file in tmp_path.iterdir()] == ["config"]
    assert file.read_text() == text


def test_a_place_that_cannot_be_written_ends_with_5() -> None:
    assert run("connect", "cursor", "--file", "/proc/nowhere/mcp.json", "--write").code == Exit.DISK


def test_any_other_client_gets_the_lines_to_copy(town_zim: Path) -> None:
    shown = run("connect", "--print", town_zim)

    assert json.loads(shown.out)["mcpServers"]["zim"]["args"] == [str(town_zim)]


def test_an_unknown_client_is_told_which_there_are() -> None:
    ended = run("connect", "netscape")

    assert ended.code == Exit.USAGE
    assert "claude-desktop" in ended.err
    assert "--print" in ended.err


def test_the_change_is_coloured_on_a_terminal(tmp_path: Path, town_zim: Path) -> None:
    shown = run_on_terminal("connect", "cursor", town_zim, "--file", tmp_path / "mcp.json").out

    assert '\x1b[32m+    "zim": {' in shown
    assert "Nothing is written yet; add --write." in shown


def test_the_help_names_every_client() -> None:
    shown = " ".join(run("connect", "--help").out.split())

    assert [name for name in NAMES if name not in shown] == []
    assert "connect" in registry.COMMANDS_BY_NAME
    assert os.sep in clients.command_line([])[0]
