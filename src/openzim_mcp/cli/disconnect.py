"""`disconnect`: take the server out of a client's configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from openzim_mcp.cli import command, connect

if TYPE_CHECKING:
    from openzim_mcp.cli.terminal import Terminal


@command.command(
    "openzim-mcp disconnect claude-desktop          # show what would change",
    "openzim-mcp disconnect claude-desktop --write",
)
@click.argument("client")
@connect.server
@connect.file
@connect.write
def run(terminal: Terminal, client: str, **given: str) -> None:
    """Take this server out of the configuration of a CLIENT: show the change, and make it with --write."""
    chosen = connect.named(client)
    connect.change(terminal, chosen, given, lambda text: chosen.drop(text, given["server"]))
