from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from openzim_mcp.cli import clients, program, registry
from openzim_mcp.cli.clients import CLIENTS, CLIENTS_BY_NAME
from openzim_mcp.cli.command import Exit
from openzim_mcp.errors import OpenZimMcpConfigurationError
from support.command_line import run, run_on_terminal

WINDOWS = {
    "USERPROFILE": r"C:\Users\Ada",
    "APPDATA": r"C:\Users\Ada\AppData\Roaming",
    "LOCALAPPDATA": r"C:\Users\Ada\AppData\Local",
}


@pytest.mark.parametrize(
    ("client", "platform", "path"),
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
def test_config_path_depends_on_the_platform(client: str, platform: str, path: str) -> None:
    environment = WINDOWS if platform == "win32" else {"HOME": "/u/ada"}

    assert clients.config_paths(CLIENTS_BY_NAME[client], platform, environment)[-1] == path


def test_windows_store_config_comes_first() -> None:
    first, _ = clients.config_paths(CLIENTS_BY_NAME["claude-desktop"], "win32", WINDOWS)

    assert first == (
        r"C:\Users\Ada\AppData\Local\Packages\Claude_*\LocalCache\Roaming\Claude\claude_desktop_config.json"
    )


def test_windows_config_defaults_to_the_home_directory() -> None:
    assert clients.config_paths(CLIENTS_BY_NAME["vscode"], "win32", {"USERPROFILE": r"D:\me"}) == [
        r"D:\me\AppData\Roaming\Code\User\mcp.json"
    ]


@pytest.mark.parametrize(
    ("command", "is_openzim_mcp"),
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
def test_servers_that_start_this_program_are_recognized(command: list[str], is_openzim_mcp: bool) -> None:  # noqa: FBT001
    text = json.dumps({"mcpServers": {"a": {"command": command[0], "args": command[1:]}}})

    assert CLIENTS_BY_NAME["cursor"].find_servers(text) == (["a"] if is_openzim_mcp else [])


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_connect_and_disconnect_work_for_every_client(client: clients.Client, tmp_path: Path, town_zim: Path) -> None:
    home = {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / ".config")}

    preview = run("connect", client.name, town_zim, "--json", **home).json
    exists_after_preview = Path(preview["file"]).exists()
    written = run("connect", client.name, town_zim, "--write", "--json", **home).json
    text = Path(written["file"]).read_text(encoding="utf-8")
    listed = run("connect", "--json", **home).json["clients"]
    again = run("connect", client.name, town_zim, "--write", "--json", **home).json
    removed = run("disconnect", client.name, "--write", "--json", **home).json

    assert (preview["written"], exists_after_preview, written["written"], again["written"]) == (
        False,
        False,
        True,
        False,
    )
    assert [row["client"] for row in listed if row["servers"] == ["zim"]] == [client.name]
    command = client.find_command(text, "zim")
    assert command is not None
    assert command[-1] == str(town_zim)
    assert Path(command[0]).exists()
    assert removed["written"]
    assert client.find_servers(Path(written["file"]).read_text(encoding="utf-8")) == []
    assert Path(removed["backup"]).read_text(encoding="utf-8") == text


def test_written_command_starts_the_server(tmp_path: Path, town_zim: Path) -> None:
    file = tmp_path / "mcp.json"
    run("connect", "cursor", town_zim, "--mode", "advanced", "--file", file, "--write")
    entry = json.loads(file.read_text())["mcpServers"]["zim"]
    parameters = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": parameters}

    result = subprocess.run(
        [entry["command"], *entry["args"]], input=json.dumps(request) + "\n", capture_output=True, text=True, check=True
    )

    assert json.loads(result.stdout)["result"]["serverInfo"]["name"] == "openzim-mcp"


def test_comments_order_and_file_mode_are_kept(tmp_path: Path, town_zim: Path) -> None:
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


def test_symbolic_link_is_kept(tmp_path: Path, town_zim: Path) -> None:
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
def test_invalid_config_is_not_changed(tmp_path: Path, name: str, text: str, message: str) -> None:
    file = tmp_path / "config"
    file.write_text(text)

    result = run("connect", name, "--file", file, "--write")

    assert result.code == Exit.USAGE
    assert message in result.err
    assert [file.name for file in tmp_path.iterdir()] == ["config"]
    assert file.read_text() == text


def test_unwritable_config_exits_with_5() -> None:
    assert run("connect", "cursor", "--file", "/proc/nowhere/mcp.json", "--write").code == Exit.DISK


def test_print_shows_the_entry_for_any_client(town_zim: Path) -> None:
    result = run("connect", "--print", town_zim)

    assert json.loads(result.out)["mcpServers"]["zim"]["args"] == [str(town_zim)]


def test_unknown_client_lists_the_known_ones() -> None:
    result = run("connect", "netscape")

    assert result.code == Exit.USAGE
    assert "claude-desktop" in result.err
    assert "--print" in result.err


def test_diff_has_colors_on_a_terminal(tmp_path: Path, town_zim: Path) -> None:
    output = run_on_terminal("connect", "cursor", town_zim, "--file", tmp_path / "mcp.json").out

    assert '\x1b[32m+    "zim": {' in output
    assert "Nothing is written; add --write." in output


def test_help_names_every_client() -> None:
    output = " ".join(run("connect", "--help").out.split())

    assert [name for name in CLIENTS_BY_NAME if name not in output] == []
    assert "connect" in registry.COMMANDS_BY_NAME
    assert os.sep in program.server_command([])[0]


@pytest.mark.parametrize("name", ["cursor", "vscode", "goose"])
def test_directories_and_options_of_a_client_are_kept(tmp_path: Path, town_zim: Path, name: str) -> None:
    client, file = CLIENTS_BY_NAME[name], tmp_path / "config"

    run("connect", name, town_zim, "--mode", "advanced", "--follow-links", "--file", file, "--write")
    before = client.find_command(file.read_text(), "zim")
    again = run("connect", name, "--file", file, "--write", OPENZIM_MCP_LIBRARY=str(tmp_path))
    simple = run("connect", name, "--mode", "simple", "--file", file, "--write")

    assert before is not None
    assert before[1:] == ["--mode", "advanced", "--follow-links", str(town_zim)]
    assert again.out == "Nothing changes.\n"
    assert simple.code == 0
    assert client.find_command(file.read_text(), "zim") == [before[0], "--mode", "simple", *before[3:]]


def test_environment_of_a_client_is_kept(tmp_path: Path, town_zim: Path) -> None:
    file = tmp_path / "mcp.json"
    entry = {"command": "uvx", "args": ["openzim-mcp", "~/zims"], "env": {"OPENZIM_MCP_TOOL_MODE": "advanced"}}
    file.write_text(json.dumps({"mcpServers": {"zim": entry}}))

    missing = run("connect", "cursor", "--file", file, "--write", HOME=str(tmp_path))
    kept = json.loads(file.read_text())["mcpServers"]["zim"]
    run("connect", "cursor", town_zim, "--file", file, "--write")
    changed = json.loads(file.read_text())["mcpServers"]["zim"]

    assert missing.code == 0
    assert f"Cursor gets: nothing: '{tmp_path}/zims' does not exist" in missing.err
    assert (kept["args"], kept["env"]) == (["~/zims"], entry["env"])
    assert Path(kept["command"]).name.startswith("openzim-mcp")
    assert (changed["args"], changed["env"]) == ([str(town_zim)], entry["env"])


@pytest.mark.parametrize("variable", ["OPENZIM_MCP_ALLOWED_DIRECTORIES", "OPENZIM_MCP_LIBRARY"])
def test_directories_in_the_variables_of_a_client_count(tmp_path: Path, town_zim: Path, variable: str) -> None:
    file = tmp_path / "mcp.json"
    entry = {"command": "openzim-mcp", "args": [], "env": {variable: str(town_zim.parent)}}
    file.write_text(json.dumps({"mcpServers": {"zim": entry}}))

    result = run("connect", "cursor", "--file", file, "--write")

    assert result.err.endswith(f"Cursor gets: 1 archive in {town_zim.parent}\n")
    assert json.loads(file.read_text())["mcpServers"]["zim"]["args"] == []


def test_connect_says_what_the_client_gets(tmp_path: Path, town_zim: Path) -> None:
    file = tmp_path / "mcp.json"
    library = {"OPENZIM_MCP_LIBRARY": str(tmp_path / "mine")}

    served = run("connect", "cursor", town_zim, "--file", file)
    handbook = run("connect", "cursor", "--file", file)
    named_library = run("connect", "cursor", "--file", file, **library)

    assert served.err.endswith(f"Cursor gets: 1 archive in {town_zim}\n")
    assert "Cursor gets: the handbook only, until there is an archive in " in handbook.err
    assert str(tmp_path / "mine") in named_library.out


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("claude-code", {"type": "http", "url": "http://127.0.0.1:1/mcp"}),
        ("vscode", {"type": "http", "url": "http://127.0.0.1:1/mcp"}),
        ("cursor", {"url": "http://127.0.0.1:1/mcp"}),
        ("lm-studio", {"url": "http://127.0.0.1:1/mcp"}),
        ("open-webui", {"type": "streamable-http", "url": "http://127.0.0.1:1/mcp"}),
    ],
)
def test_url_of_a_running_server_is_written(tmp_path: Path, name: str, entry: dict[str, str]) -> None:
    client, file = CLIENTS_BY_NAME[name], tmp_path / "mcp.json"

    run("connect", name, "--url", entry["url"], "--token", "secret", "--file", file, "--write")
    servers = json.loads(file.read_text())[client.servers_key]

    assert servers["zim"] == entry | {"headers": {"Authorization": "Bearer secret"}}
    assert client.find_servers(file.read_text()) == ["zim"]


def test_url_in_yaml_is_found_again(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"

    run("connect", "goose", "--url", "http://127.0.0.1:1/mcp", "--file", file, "--write")

    assert CLIENTS_BY_NAME["goose"].find_url(file.read_text(), "zim") == "http://127.0.0.1:1/mcp"


def test_client_without_urls_says_so(tmp_path: Path) -> None:
    result = run("connect", "claude-desktop", "--url", "http://127.0.0.1:1/mcp", "--file", tmp_path / "x", "--write")

    assert result.code == Exit.USAGE
    assert "starts commands only" in result.err


@pytest.mark.parametrize(
    ("prefix", "launcher", "options"),
    [
        ("/home/ada/.cache/uv/archive-v0/abc123", "uvx", ["--from"]),
        ("/home/ada/.cache/uv/environments-v2/openzim-mcp-1a", "uvx", ["--from"]),
        ("/home/ada/.local/share/pipx/.cache/0f3", "pipx", ["run", "--spec"]),
        ("/home/ada/.cache/pipx/0f3", "pipx", ["run", "--spec"]),
    ],
)
def test_command_survives_a_cleaned_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, prefix: str, launcher: str, options: list[str]
) -> None:
    (tmp_path / launcher).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))

    command = program.cached_command(prefix, "git+https://example.org/zim")

    assert command == [str(tmp_path / launcher), *options, "git+https://example.org/zim", "openzim-mcp"]
    with pytest.raises(OpenZimMcpConfigurationError, match="may be cleaned at any time"):
        program.cached_command(prefix, None)


@pytest.mark.parametrize("prefix", ["/srv/project/.venv", "/home/ada/.local/share/uv/tools/openzim-mcp", "/usr"])
def test_installed_program_is_started_by_its_path(prefix: str) -> None:
    assert program.cached_command(prefix, "/src") is None
