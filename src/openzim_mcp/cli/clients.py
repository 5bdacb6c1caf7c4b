"""The MCP clients that `connect` supports: a row each, with the path and the format of its configuration."""

from __future__ import annotations

import difflib
import glob
import json
import ntpath
import os
import posixpath
import re
import shutil
import stat
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from openzim_mcp import errors, files
from openzim_mcp.cli import jsonc, yaml_edit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from openzim_mcp.cli.jsonc import JsonValue

ServerEntry: TypeAlias = "dict[str, JsonValue]"
PathsByPlatform: TypeAlias = "dict[str, tuple[str, ...]]"
_DESCRIPTION = "Offline archives: Wikipedia, Stack Exchange, manuals"
_PROGRAM_NAMES = {"openzim-mcp", "openzim_mcp", "openzim-mcp.exe"}
_MAX_BACKUPS_PER_SECOND = 1000


def _plain_entry(command: Sequence[str]) -> ServerEntry:
    return {"command": command[0], "args": list(command[1:])}


def _stdio_entry(command: Sequence[str]) -> ServerEntry:
    return {"type": "stdio", **_plain_entry(command)}


def _plain_url_entry(url: str, headers: dict[str, JsonValue]) -> ServerEntry:
    return {"url": url, **({"headers": headers} if headers else {})}


def _http_url_entry(url: str, headers: dict[str, JsonValue]) -> ServerEntry:
    return {"type": "http", **_plain_url_entry(url, headers)}


def _mcpo_url_entry(url: str, headers: dict[str, JsonValue]) -> ServerEntry:
    return {"type": "streamable-http", **_plain_url_entry(url, headers)}


def _goose_url_entry(url: str, headers: dict[str, JsonValue]) -> ServerEntry:
    return {
        "enabled": True,
        "type": "streamable_http",
        "name": "zim",
        "description": _DESCRIPTION,
        "uri": url,
        "headers": headers,
        "timeout": 300,
    }


def _goose_entry(command: Sequence[str]) -> ServerEntry:
    return {
        "enabled": True,
        "type": "stdio",
        "name": "zim",
        "description": _DESCRIPTION,
        "cmd": command[0],
        "args": list(command[1:]),
        "envs": {},
        "timeout": 300,
    }


def _program_position(command: Sequence[str]) -> int | None:
    """Return which word of a command is this program: by its name, or as a package or an image that it runs."""
    if _base_name(command[0]) in _PROGRAM_NAMES:
        return 0
    for position, word in enumerate(command[1:], 1):
        package = word.rpartition("/")[2].partition(":")[0]
        if not word.startswith(("/", "~", ".")) and package in _PROGRAM_NAMES:
            return position
    return None


def _base_name(path: str) -> str:
    return re.split(r"[\\/]", path)[-1]


def program_arguments(command: Sequence[str]) -> list[str]:
    """Return the arguments that a command passes to this program; none for a container, whose paths are its own."""
    position = _program_position(command) if command else None
    if position is None or _base_name(command[0]) in {"docker", "podman"}:
        return []
    return list(command[position + 1 :])


def installs_from_index(command: Sequence[str]) -> bool:
    """Whether a command lets an installer look for the name on PyPI, where it belongs to another project."""
    is_launcher = bool(command) and _base_name(command[0]).removesuffix(".exe") in {"uvx", "uv", "pipx"}
    return is_launcher and not {"--from", "--spec", "--project", "--directory", "--with-editable"} & set(command)


def _on_all_platforms(*paths: str) -> PathsByPlatform:
    return dict.fromkeys(("linux", "darwin", "win32"), paths)


@dataclass(frozen=True)
class Client:
    """An MCP client.

    Its configuration is the first of `config_paths` whose directory exists, otherwise the last. `servers_key` names the
    object that has all servers; `make_entry` makes the entry of a server. `next_step` is shown after a change.
    """

    name: str
    title: str
    config_paths: PathsByPlatform
    servers_key: str
    make_entry: Callable[[Sequence[str]], ServerEntry]
    next_step: str
    is_yaml: bool = False
    make_url_entry: Callable[[str, dict[str, JsonValue]], ServerEntry] | None = None
    """Makes the entry of a server with a URL; None if the client starts commands only."""
    skills_directory: str = ""
    """Where it looks for folders of skills, on every platform; empty if it reads none."""

    def find_command(self, text: str, server: str) -> list[str] | None:
        """Return the command of a server in a configuration, or None if it has no such server."""
        if self.is_yaml:
            return _command_from_yaml(yaml_edit.find_block(text, (self.servers_key, server)))
        entry = self._json_servers(text).get(server)
        if not isinstance(entry, dict):
            return None
        arguments = entry.get("args")
        return [str(entry.get("command", "")), *map(str, arguments if isinstance(arguments, list) else [])]

    def find_environment(self, text: str, server: str) -> dict[str, str]:
        """Return the environment variables of a server in a configuration."""
        entry = None if self.is_yaml else self._json_servers(text).get(server)
        variables = entry.get("env") if isinstance(entry, dict) else None
        return {name: str(value) for name, value in variables.items()} if isinstance(variables, dict) else {}

    def find_servers(self, text: str) -> list[str]:
        """Return the names of the servers in a configuration that start this program."""
        if self.is_yaml:
            return ["zim"] if self.find_command(text, "zim") else []
        names = self._json_servers(text)
        # A server with a URL does not tell what it is; `connect` calls it by its default name.
        return [
            name
            for name in names
            if _program_position(self.find_command(text, name) or [""]) is not None
            or (name == "zim" and self.find_url(text, name))
        ]

    def find_url(self, text: str, server: str) -> str | None:
        """Return the URL of a server in a configuration, or None if it is started by a command."""
        if self.is_yaml:
            block = yaml_edit.find_block(text, (self.servers_key, server)) or []
            values = (line.partition(":")[2].strip() for line in block if line.strip().startswith("uri:"))
            return next(map(_yaml_scalar, values), None)
        entry = self._json_servers(text).get(server)
        url = entry.get("url") if isinstance(entry, dict) else None
        return str(url) if url else None

    def _json_servers(self, text: str) -> dict[str, JsonValue]:
        servers = jsonc.parse_object(text).get(self.servers_key)
        return servers if isinstance(servers, dict) else {}

    def add_server(self, text: str, server: str, entry: ServerEntry) -> str:
        """Return a configuration with the server added or replaced; its environment variables are kept."""
        set_entry = yaml_edit.set_block if self.is_yaml else jsonc.set_member
        variables: dict[str, JsonValue] = dict(self.find_environment(text, server)) if text.strip() else {}
        is_command = "command" in entry
        return set_entry(
            text, (self.servers_key, server), {**entry, **({"env": variables} if variables and is_command else {})}
        )

    def remove_server(self, text: str, server: str) -> str:
        """Return a configuration without the server."""
        remove_entry = yaml_edit.remove_block if self.is_yaml else jsonc.remove_member
        return remove_entry(text, (self.servers_key, server)) if text.strip() else text


_RESTART = "Restart the client."
CLIENTS = (
    Client(
        "claude-desktop",
        "Claude Desktop",
        {
            "linux": ("{config}/Claude/claude_desktop_config.json",),
            "darwin": ("{home}/Library/Application Support/Claude/claude_desktop_config.json",),
            "win32": (
                # The app from the Microsoft Store, the usual one, has its own copy of this directory.
                "{localappdata}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
                "{appdata}/Claude/claude_desktop_config.json",
            ),
        },
        "mcpServers",
        _plain_entry,
        "Quit the program, not only its window, and start it again.",
    ),
    Client(
        "claude-code",
        "Claude Code",
        _on_all_platforms("{home}/.claude.json"),
        "mcpServers",
        _stdio_entry,
        _RESTART,
        make_url_entry=_http_url_entry,
        skills_directory="{home}/.claude/skills",
    ),
    Client(
        "vscode",
        "VS Code",
        {
            "linux": ("{config}/Code/User/mcp.json",),
            "darwin": ("{home}/Library/Application Support/Code/User/mcp.json",),
            "win32": ("{appdata}/Code/User/mcp.json",),
        },
        "servers",
        _stdio_entry,
        "Open the chat in agent mode; VS Code asks whether to start the server.",
        make_url_entry=_http_url_entry,
        skills_directory="{home}/.copilot/skills",
    ),
    Client(
        "cursor",
        "Cursor",
        _on_all_platforms("{home}/.cursor/mcp.json"),
        "mcpServers",
        _plain_entry,
        _RESTART,
        make_url_entry=_plain_url_entry,
        skills_directory="{home}/.cursor/skills",
    ),
    Client(
        "lm-studio",
        "LM Studio",
        _on_all_platforms("{home}/.lmstudio/mcp.json", "{home}/.cache/lm-studio/mcp.json", "{home}/.lmstudio/mcp.json"),
        "mcpServers",
        _plain_entry,
        "Enable the server in the Program tab.",
        make_url_entry=_plain_url_entry,
    ),
    Client(
        "goose",
        "Goose",
        {
            "linux": ("{config}/goose/config.yaml",),
            "darwin": ("{home}/.config/goose/config.yaml",),
            "win32": ("{appdata}/Block/goose/config/config.yaml",),
        },
        "extensions",
        _goose_entry,
        "Start a new session.",
        is_yaml=True,
        make_url_entry=_goose_url_entry,
        skills_directory="{home}/.config/agents/skills",
    ),
    Client(
        "open-webui",
        "Open WebUI, through mcpo",
        {
            "linux": ("{config}/openzim-mcp/mcpo.json",),
            "darwin": ("{home}/Library/Application Support/openzim-mcp/mcpo.json",),
            "win32": ("{appdata}/openzim-mcp/mcpo.json",),
        },
        "mcpServers",
        _plain_entry,
        "Run: mcpo --port 8000 --config {file}\nThen add the tool server http://localhost:8000/{server} in Open WebUI.",
        make_url_entry=_mcpo_url_entry,
    ),
)
CLIENTS_BY_NAME = {client.name: client for client in CLIENTS}


def config_paths(client: Client, platform: str, environment: Mapping[str, str]) -> list[str]:
    """Return the possible paths of a client's configuration, as the platform writes them."""
    templates = client.config_paths.get(platform, client.config_paths["linux"])
    return [_expand_template(template, platform, environment) for template in templates]


def _expand_template(template: str, platform: str, environment: Mapping[str, str]) -> str:
    windows = platform == "win32"
    join = ntpath.join if windows else posixpath.join
    home = environment.get("USERPROFILE" if windows else "HOME") or os.path.expanduser("~")
    directories = {
        "home": home,
        "config": environment.get("XDG_CONFIG_HOME") or join(home, ".config"),
        "appdata": environment.get("APPDATA") or join(home, "AppData", "Roaming"),
        "localappdata": environment.get("LOCALAPPDATA") or join(home, "AppData", "Local"),
    }
    return join(*(part.format(**directories) for part in template.split("/")))


def find_skills_directory(client: Client) -> str | None:
    """Return where a client looks for skills on this machine; None if it reads none. It may not exist yet."""
    return _expand_template(client.skills_directory, sys.platform, os.environ) if client.skills_directory else None


def find_config(client: Client) -> str:
    """Return the path of a client's configuration on this machine; the file may not exist yet."""
    *preferred_paths, default_path = config_paths(client, sys.platform, os.environ)
    for path in preferred_paths:
        directories = glob.glob(os.path.dirname(path))
        if directories:
            return os.path.join(directories[0], os.path.basename(path))
    return default_path


def read_config(path: str) -> str:
    """Return the text of a configuration; a missing file is empty."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise errors.OpenZimMcpConfigurationError(f"{path} cannot be read: {reason}") from error


def diff_config(path: str, old: str, new: str) -> str:
    """Return the changes between two texts as a unified diff."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="", n=2)
    return "\n".join(lines)


def write_config(path: str, text: str) -> str | None:
    """Replace a configuration; return the path of the backup, or None if the file is new."""
    real_path = os.path.realpath(path)
    backup = None
    try:
        mode = 0o600
        if os.path.exists(real_path):
            mode = stat.S_IMODE(os.stat(real_path).st_mode)
            backup = _backup_path(real_path)
            shutil.copy2(real_path, backup)
        files.write_atomic(real_path, text, mode=mode)
    except OSError as error:
        raise errors.FileNotWritable(
            f"{path} cannot be written: {error.strerror}",
            hint="The file is unchanged; --print shows what to add to it.",
        ) from error
    return backup


def _backup_path(path: str) -> str:
    """Return a path for a backup that does not exist yet."""
    base = f"{path}.{time.strftime('%Y%m%d-%H%M%S')}"
    suffixes = ("", *(f"-{number}" for number in range(2, _MAX_BACKUPS_PER_SECOND)))
    paths = (f"{base}{suffix}.bak" for suffix in suffixes)
    return next(backup for backup in paths if not os.path.exists(backup))


def _command_from_yaml(block: list[str] | None) -> list[str] | None:
    """Return the command in the lines of a Goose extension."""
    if block is None:
        return None
    command, arguments, in_list = "", [], False
    for line in block[1:]:
        text = line.strip()
        if in_list and text.startswith("- "):
            arguments.append(_yaml_scalar(text[2:]))
            continue
        name, _, value = text.partition(":")
        in_list = name == "args" and not value.strip()
        if name == "cmd":
            command = _yaml_scalar(value.strip())
        elif name == "args" and value.strip().startswith("["):
            arguments = [_yaml_scalar(item.strip()) for item in value.strip()[1:-1].split(",") if item.strip()]
    return [command, *arguments]


def _yaml_scalar(text: str) -> str:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    return text.strip("'")
