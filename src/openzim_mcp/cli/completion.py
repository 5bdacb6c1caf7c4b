"""`completion`: what a shell needs to complete commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from openzim_mcp.cli import command
from openzim_mcp.cli.terminal import Cell

if TYPE_CHECKING:
    from openzim_mcp.cli.terminal import Terminal


@command.command(
    'eval "$(openzim-mcp completion bash)"                                  # bash and zsh, now or in ~/.bashrc',
    "openzim-mcp completion fish > ~/.config/fish/completions/openzim-mcp.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def run(terminal: Terminal, shell: str) -> None:
    """Print the lines that make a SHELL complete commands and their options."""
    kind = get_completion_class(shell)
    assert kind is not None
    source = kind(command.group, {}, command.PROGRAM, command.COMPLETION_VARIABLE).source()
    terminal.show({"shell": shell, "source": source}, Cell(source))
