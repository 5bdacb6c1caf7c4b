"""`completion`: a script for shell completion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
from click.shell_completion import get_completion_class

from openzim_mcp.cli import command, registry
from openzim_mcp.cli.terminal import Cell

if TYPE_CHECKING:
    from openzim_mcp.cli.terminal import Terminal


@command.command(
    'eval "$(openzim-mcp completion bash)"          # now, or in ~/.bashrc; for zsh: completion zsh, ~/.zshrc',
    "openzim-mcp completion fish > ~/.config/fish/completions/openzim-mcp.fish",
)
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def run(terminal: Terminal, shell: str) -> None:
    """Print a script that lets SHELL complete commands and options."""
    completion_class = get_completion_class(shell)
    assert completion_class is not None
    script = completion_class(command.group, {}, command.PROGRAM, registry.COMPLETION_VARIABLE).source()
    terminal.show({"shell": shell, "source": script}, Cell(script))
