"""`connect`: put the server into a client's configuration."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import click

from openzim_mcp import errors
from openzim_mcp.cli import clients, command, jsonc, runtime, yaml_edit
from openzim_mcp.cli.terminal import Cell, Lines, Table

if TYPE_CHECKING:
    from collections.abc import Callable

    from openzim_mcp.cli.clients import Client
    from openzim_mcp.cli.terminal import Style, Terminal

server = click.option("--name", "server", default="zim", metavar="NAME", help="What the client calls it (zim).")
write = click.option("--write", is_flag=True, help="Change the file; the old one is kept beside it.")
file = click.option("--file", "file", type=click.Path(), help="Another file than the usual one of the client.")


@command.command(
    "openzim-mcp connect                              # which clients are there, and which are connected",
    "openzim-mcp connect claude-desktop ~/zims        # show what would change",
    "openzim-mcp connect claude-desktop ~/zims --write",
    "openzim-mcp connect --print ~/zims               # for any other client",
)
@click.argument("client", required=False, metavar="[CLIENT]")
@click.option("--mode", type=click.Choice(["simple", "advanced"]), help="Which tools are offered (simple).")
@click.option("--print", "printed", is_flag=True, help="Only print the lines, for a client that is not known.")
@server
@file
@write
@command.directory_arguments
def run(terminal: Terminal, client: str | None, printed: bool, directories: list[str], **given: str) -> None:  # noqa: FBT001
    """Let a CLIENT start this server: show the change to its configuration, and make it with --write.

    CLIENT is claude-desktop, claude-code, vscode, cursor, lm-studio, goose or open-webui.
    """
    if printed and client is not None and client not in clients.NAMES:
        directories = [client, *directories]
    start = clients.command_line([*(["--mode", given["mode"]] if given["mode"] else []), *_directories(directories)])
    if printed:
        _print(terminal, given["server"], start)
    elif client is None:
        _show_all(terminal)
    else:
        chosen = named(client)
        if change(terminal, chosen, given, lambda text: chosen.put(text, given["server"], start)):
            terminal.info(chosen.then.format(file=given["file"] or clients.file_of(chosen), server=given["server"]))


def _directories(directories: list[str]) -> list[str]:
    """Return the directories to serve, as full paths: a client starts the server somewhere else."""
    return [os.path.abspath(path) for path in runtime.load_command_settings(directories).allowed_directories]


def _print(terminal: Terminal, server: str, start: list[str]) -> None:
    new = jsonc.put("", ("mcpServers", server), {"command": start[0], "args": start[1:]})
    terminal.show({"command": start[0], "args": start[1:]}, Cell(new.rstrip()))


def named(client: str) -> Client:
    """Return a client by its name."""
    if client not in clients.NAMES:
        raise errors.OpenZimMcpConfigurationError(
            f"{client!r} is not a client that is known.",
            hint=f"There are: {', '.join(clients.NAMES)}. For any other: openzim-mcp connect --print DIRECTORY",
        )
    return clients.NAMES[client]


def _show_all(terminal: Terminal) -> None:
    rows = [_look(client) for client in clients.CLIENTS]
    table = [(row["client"], row["title"], _state(row), row["file"]) for row in rows]
    terminal.show({"clients": rows}, Table(("client", "", "state", "configuration"), table))


def _look(client: Client) -> dict[str, Any]:
    path = clients.file_of(client)
    try:
        servers = client.servers(clients.read_text(path))
    except (ValueError, errors.OpenZimMcpError):
        servers = []
    found = os.path.exists(path)
    return {"client": client.name, "title": client.title, "file": path, "found": found, "servers": servers}


def _state(row: dict[str, Any]) -> Cell:
    if row["servers"]:
        return Cell("connected", "good")
    return Cell("not connected") if row["found"] else Cell("no configuration yet", "dim")


def change(terminal: Terminal, client: Client, given: dict[str, str], edit: Callable[[str], str]) -> bool:
    """Show what an edit changes in a client's configuration, write it if that is asked for, and say if it was."""
    path = given["file"] or clients.file_of(client)
    old = clients.read_text(path)
    try:
        new = edit(old)
    except (jsonc.NotJson, yaml_edit.NotABlock) as error:
        raise errors.OpenZimMcpConfigurationError(
            f"{path} cannot be changed: {error}.", hint="Mend it by hand, or add what `connect --print` shows."
        ) from error
    backup = clients.write(path, new) if given["write"] and new != old else None
    diff = clients.difference(path, old, new)
    written = bool(given["write"]) and new != old
    payload = {"client": client.name, "file": path, "diff": diff, "written": written}
    terminal.show(payload | {"backup": backup}, _coloured(diff) if diff else "Nothing changes.")
    if diff and not given["write"]:
        terminal.info("Nothing is written yet; add --write.")
    elif diff:
        terminal.info(f"The old file is {backup}" if backup else "The file is new.")
    return written


def _coloured(diff: str) -> Lines:
    styles: dict[str, Style] = {"+": "good", "-": "bad"}
    return Lines([Cell(line, styles.get(line[:1], "")) for line in diff.splitlines()])
