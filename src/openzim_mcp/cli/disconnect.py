"""`disconnect`: remove this server from a client's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import click

from openzim_mcp.cli import command, connect, skill_folders

if TYPE_CHECKING:
    from openzim_mcp.cli.terminal import Terminal


@command.command(
    "openzim-mcp disconnect claude-desktop          # show what would change",
    "openzim-mcp disconnect claude-desktop --write",
)
@click.argument("client", shell_complete=connect.complete_client)
@click.option("--skill", is_flag=True, help="Also remove the skill that `connect --skill` installed.")
@connect.server_option
@connect.file_option
@connect.write_option
def run(terminal: Terminal, client: str, **options: Unpack[connect.ConfigOptions]) -> None:
    """Remove this server from a CLIENT: show the change to its configuration; --write makes it."""
    known_client = connect.require_client(client)
    connect.change_config(
        terminal,
        known_client,
        options,
        lambda text: known_client.remove_server(text, options["server"]),
        skill_folders.remove_skills,
    )
