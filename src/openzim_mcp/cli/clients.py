"""The clients that can be connected: a row each, with where its configuration lies and what it looks like."""

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
from typing import TYPE_CHECKING, Any

from openzim_mcp import errors, files
from openzim_mcp.cli import jsonc, yaml_edit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

Entry = dict[str, Any]
Places = dict[str, tuple[str, ...]]
_DESCRIPTION = "Offline archives: Wikipedia, Stack Exchange, manuals"


def _plain(command: Sequence[str]) -> Entry:
    return {"command": command[0], "args": list(command[1:])}


def _typed(command: Sequence[str]) -> Entry:
    return {"type": "stdio", **_plain(command)}


def _goose(command: Sequence[str]) -> Entry:
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


def _starts_us(command: Sequence[str]) -> bool:
    """Whether a command starts this program: by its name, or as a package or an image that something else runs."""
    names = {"openzim-mcp", "openzim_mcp", "openzim-mcp.exe"}
    program = re.split(r"[\\/]", command[0])[-1]
    packages = (
        word.rpartition("/")[2].partition(":")[0] for word in command[1:] if not word.startswith(("/", "~", "."))
    )
    return program in names or any(package in names for package in packages)


def _everywhere(*places: str) -> Places:
    return dict.fromkeys(("linux", "darwin", "win32"), places)


@dataclass(frozen=True)
class Client:
    """A client: the first of its `places` whose folder is there is its file, otherwise the last one.

    `key` is the name in the file that holds all servers; `entry` makes what stands for one of them.
    """

    name: str
    title: str
    places: Places
    key: str
    entry: Callable[[Sequence[str]], Entry]
    then: str
    is_yaml: bool = False

    def read(self, text: str, server: str) -> list[str] | None:
        """Return the command that a configuration starts for a server, or None where it has no such server."""
        if self.is_yaml:
            return _yaml_command(yaml_edit.get(text, (self.key, server)))
        servers = jsonc.loads(text).get(self.key)
        entry = servers.get(server) if isinstance(servers, dict) else None
        return [str(entry.get("command", "")), *map(str, entry.get("args", []))] if isinstance(entry, dict) else None

    def variables(self, text: str, server: str) -> dict[str, str]:
        """Return the environment variables that a configuration sets for a server."""
        entry = {} if self.is_yaml else jsonc.loads(text)[self.key][server]
        given = entry.get("env")
        return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}

    def servers(self, text: str) -> list[str]:
        """Return the servers of a configuration that start this program, by their names."""
        if self.is_yaml:
            return ["zim"] if self.read(text, "zim") else []
        servers = jsonc.loads(text).get(self.key)
        names = servers if isinstance(servers, dict) else {}
        return [name for name in names if _starts_us(self.read(text, name) or [""])]

    def put(self, text: str, server: str, command: Sequence[str]) -> str:
        """Return a configuration with the server in it."""
        edit: Any = yaml_edit if self.is_yaml else jsonc
        return str(edit.put(text, (self.key, server), self.entry(command)))

    def drop(self, text: str, server: str) -> str:
        """Return a configuration without the server."""
        edit: Any = yaml_edit if self.is_yaml else jsonc
        return str(edit.drop(text, (self.key, server))) if text.strip() else text


_RESTART = "Restart it to let it see the archives."
CLIENTS = (
    Client(
        "claude-desktop",
        "Claude Desktop",
        {
            "linux": ("{config}/Claude/claude_desktop_config.json",),
            "darwin": ("{home}/Library/Application Support/Claude/claude_desktop_config.json",),
            "win32": (
                # An app from the Store, as is usual, sees a directory of its own in the place of the common one.
                "{localappdata}/Packages/Claude_*/LocalCache/Roaming/Claude/claude_desktop_config.json",
                "{appdata}/Claude/claude_desktop_config.json",
            ),
        },
        "mcpServers",
        _plain,
        "Quit it, not only its window, and start it again.",
    ),
    Client("claude-code", "Claude Code", _everywhere("{home}/.claude.json"), "mcpServers", _typed, _RESTART),
    Client(
        "vscode",
        "VS Code",
        {
            "linux": ("{config}/Code/User/mcp.json",),
            "darwin": ("{home}/Library/Application Support/Code/User/mcp.json",),
            "win32": ("{appdata}/Code/User/mcp.json",),
        },
        "servers",
        _typed,
        "Open the chat in agent mode; it asks whether to start the server.",
    ),
    Client("cursor", "Cursor", _everywhere("{home}/.cursor/mcp.json"), "mcpServers", _plain, _RESTART),
    Client(
        "lm-studio",
        "LM Studio",
        _everywhere("{home}/.lmstudio/mcp.json", "{home}/.cache/lm-studio/mcp.json", "{home}/.lmstudio/mcp.json"),
        "mcpServers",
        _plain,
        "Switch it on in the Program tab.",
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
        _goose,
        "A new session has it.",
        is_yaml=True,
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
        _plain,
        "Run: mcpo --port 8000 --config {file}\nThen add http://localhost:8000/{server} as a tool server in it.",
    ),
)
NAMES = {client.name: client for client in CLIENTS}


def places_of(client: Client, platform: str, variables: Mapping[str, str]) -> list[str]:
    """Return where a client's file may be, in the spelling of a platform."""
    windows = platform == "win32"
    join = ntpath.join if windows else posixpath.join
    home = variables.get("USERPROFILE" if windows else "HOME") or os.path.expanduser("~")
    folders = {
        "home": home,
        "config": variables.get("XDG_CONFIG_HOME") or join(home, ".config"),
        "appdata": variables.get("APPDATA") or join(home, "AppData", "Roaming"),
        "localappdata": variables.get("LOCALAPPDATA") or join(home, "AppData", "Local"),
    }
    known = client.places.get(platform, client.places["linux"])
    return [join(*(part.format(**folders) for part in place.split("/"))) for place in known]


def file_of(client: Client) -> str:
    """Return a client's file on this machine, which need not be there yet."""
    *others, usual = places_of(client, sys.platform, os.environ)
    for place in others:
        folders = glob.glob(os.path.dirname(place))
        if folders:
            return os.path.join(folders[0], os.path.basename(place))
    return usual


def command_line(arguments: Sequence[str]) -> list[str]:
    """Return what starts this program from anywhere: clients know neither our directory nor our PATH."""
    name = "openzim-mcp.exe" if os.name == "nt" else "openzim-mcp"
    beside = os.path.join(os.path.dirname(sys.executable), name)
    found = beside if os.path.exists(beside) else shutil.which("openzim-mcp")
    start = [os.path.abspath(found)] if found else [sys.executable, "-m", "openzim_mcp"]
    return [*start, *arguments]


def read_text(path: str) -> str:
    """Return a configuration; one that is not there is empty."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise errors.OpenZimMcpConfigurationError(f"{path} cannot be read: {reason}") from error


def difference(path: str, old: str, new: str) -> str:
    """Return what changes, as lines that are taken away and lines that are added."""
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, lineterm="", n=2)
    return "\n".join(lines)


def write(path: str, new: str) -> str | None:
    """Put a configuration in the place of the old one, which is kept beside it; return where."""
    real = os.path.realpath(path)
    backup = None
    try:
        mode = 0o600
        if os.path.exists(real):
            mode = stat.S_IMODE(os.stat(real).st_mode)
            backup = _unused(f"{real}.{time.strftime('%Y%m%d-%H%M%S')}")
            shutil.copy2(real, backup)
        files.write_atomic(real, new, mode=mode)
    except OSError as error:
        raise errors.FileNotWritable(
            f"{path} cannot be written: {error.strerror}", hint="The old one is as it was; --print shows what to add."
        ) from error
    return backup


def _unused(base: str) -> str:
    """Return the name of a backup that is not there yet."""
    names = (f"{base}{number}.bak" for number in ("", *(f"-{n}" for n in range(2, 1000))))
    return next(name for name in names if not os.path.exists(name))


def _yaml_command(block: list[str] | None) -> list[str] | None:
    """Return the command in a block of a YAML file."""
    if block is None:
        return None
    command, arguments, is_list = "", [], False
    for line in block[1:]:
        text = line.strip()
        if is_list and text.startswith("- "):
            arguments.append(_scalar(text[2:]))
            continue
        name, _, value = text.partition(":")
        is_list = name == "args" and not value.strip()
        if name == "cmd":
            command = _scalar(value.strip())
        elif name == "args" and value.strip().startswith("["):
            arguments = [_scalar(part.strip()) for part in value.strip()[1:-1].split(",") if part.strip()]
    return [command, *arguments]


def _scalar(text: str) -> str:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text.strip('"')
    return text.strip("'")
