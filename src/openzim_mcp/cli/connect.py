"""`connect`: add this server to a client's configuration."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from openzim_mcp import errors
from openzim_mcp.cli import clients, command, jsonc, runtime, yaml_edit
from openzim_mcp.cli.terminal import Cell, Lines, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from openzim_mcp.cli.clients import Client
    from openzim_mcp.cli.terminal import Style, Terminal


class ConfigOptions(TypedDict):
    """The options that `connect` and `disconnect` share."""

    server: str
    file: str | None
    write: bool


server_option = click.option("--name", "server", default="zim", metavar="NAME", help="Name of the server (zim).")
write_option = click.option("--write", is_flag=True, help="Change the file; a backup is kept beside it.")
file_option = click.option("--file", "file", type=click.Path(), help="Another file than the client's usual one.")


@command.command(
    "openzim-mcp connect                              # list the clients, and which are connected",
    "openzim-mcp connect claude-desktop ~/zims        # show what would change",
    "openzim-mcp connect claude-desktop ~/zims --write",
    "openzim-mcp connect --print ~/zims               # for any other client",
)
@click.argument("client", required=False, metavar="[CLIENT]")
@click.option("--mode", type=click.Choice(["simple", "advanced"]), help="Which tools are offered (simple).")
@click.option("--print", "print_only", is_flag=True, help="Only print the entry, for a client that is not listed.")
@server_option
@file_option
@write_option
@command.directory_arguments
def run(
    terminal: Terminal,
    client: str | None,
    mode: str | None,
    directories: list[str],
    *,
    print_only: bool,
    **options: Unpack[ConfigOptions],
) -> None:
    """Add this server to a CLIENT: show the change to its configuration; --write makes it.

    CLIENT is claude-desktop, claude-code, vscode, cursor, lm-studio, goose or open-webui.
    """
    if print_only and client is not None and client not in clients.CLIENTS_BY_NAME:
        directories = [client, *directories]
    server_command = clients.server_command([*(["--mode", mode] if mode else []), *_absolute_directories(directories)])
    if print_only:
        _print_entry(terminal, options["server"], server_command)
    elif client is None:
        _list_clients(terminal)
    else:
        _connect(terminal, require_client(client), server_command, options)


def _connect(terminal: Terminal, client: Client, server_command: list[str], options: ConfigOptions) -> None:
    server = options["server"]
    if change_config(terminal, client, options, lambda text: client.add_server(text, server, server_command)):
        path = options["file"] or clients.find_config(client)
        terminal.info(client.next_step.format(file=path, server=server))


def _absolute_directories(directories: list[str]) -> list[str]:
    """Return the directories to serve as absolute paths: a client starts the server in another directory."""
    return [os.path.abspath(path) for path in runtime.load_command_settings(directories).allowed_directories]


def _print_entry(terminal: Terminal, server: str, server_command: list[str]) -> None:
    entry: dict[str, jsonc.JsonValue] = {"command": server_command[0], "args": [*server_command[1:]]}
    text = jsonc.set_member("", ("mcpServers", server), entry)
    terminal.show(entry, Cell(text.rstrip()))


def require_client(name: str) -> Client:
    """Return a client by its name, or raise an error that lists the names."""
    if name not in clients.CLIENTS_BY_NAME:
        names = ", ".join(clients.CLIENTS_BY_NAME)
        raise errors.OpenZimMcpConfigurationError(
            f"{name!r} is not a known client.",
            hint=f"Known clients: {names}. For any other: openzim-mcp connect --print DIRECTORY",
        )
    return clients.CLIENTS_BY_NAME[name]


@dataclass(frozen=True)
class _ClientState:
    client: str
    title: str
    file: str
    found: bool
    servers: list[str]

    def cell(self) -> Cell:
        if self.servers:
            return Cell("connected", "good")
        return Cell("not connected") if self.found else Cell("no configuration", "dim")


def _list_clients(terminal: Terminal) -> None:
    states = [_client_state(client) for client in clients.CLIENTS]
    rows = [(state.client, state.title, state.cell(), state.file) for state in states]
    payload = {"clients": [asdict(state) for state in states]}
    terminal.show(payload, Table(("client", "", "state", "configuration"), rows))


def _client_state(client: Client) -> _ClientState:
    path = clients.find_config(client)
    try:
        servers = client.find_servers(clients.read_config(path))
    except (ValueError, errors.OpenZimMcpError):
        servers = []
    return _ClientState(client.name, client.title, path, os.path.exists(path), servers)


def change_config(terminal: Terminal, client: Client, options: ConfigOptions, edit: Callable[[str], str]) -> bool:
    """Show the diff of an edit to a client's configuration; with --write, make it. Return whether it was written."""
    path = options["file"] or clients.find_config(client)
    old = clients.read_config(path)
    try:
        new = edit(old)
    except (jsonc.NotJson, yaml_edit.UnsupportedYaml) as error:
        raise errors.OpenZimMcpConfigurationError(
            f"{path} cannot be changed: {error}.", hint="Correct it by hand, or add what `connect --print` shows."
        ) from error
    written = options["write"] and new != old
    backup = clients.write_config(path, new) if written else None
    diff = clients.diff_config(path, old, new)
    payload = {"client": client.name, "file": path, "diff": diff, "written": written, "backup": backup}
    terminal.show(payload, _color_diff(diff) if diff else "Nothing changes.")
    if diff and not written:
        terminal.info("Nothing is written; add --write.")
    elif diff:
        terminal.info(f"Backup: {backup}" if backup else "The file is new.")
    return written


def _color_diff(diff: str) -> Lines:
    styles: dict[str, Style] = {"+": "good", "-": "bad"}
    return Lines([Cell(line, styles.get(line[:1], "")) for line in diff.splitlines()])
