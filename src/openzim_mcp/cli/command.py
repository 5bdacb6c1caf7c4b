"""What all commands share: decorators, options, exit codes, and the Click group that runs them.

A command is a row in `registry.py` and a module of that name with a function `run` under `@command.command(…)`. It gets
a `Terminal`, shows its result with `terminal.show(payload, blocks…)`, raises an `OpenZimMcpError` if it fails, and
returns `Exit.NEGATIVE` if there is no result.
"""

from __future__ import annotations

import enum
import functools
import importlib
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import click
from click.shell_completion import CompletionItem

from openzim_mcp import errors
from openzim_mcp.cli import registry
from openzim_mcp.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Sequence

PROGRAM = "openzim-mcp"
_SERVE_FLAGS = ("--mode", "--transport", "--log-level", "--version", "--help")


class Exit(enum.IntEnum):
    """Exit codes of all commands."""

    SUCCESS = 0
    NEGATIVE = 1
    USAGE = 2
    UNREADABLE = 3
    NETWORK = 4
    DISK = 5
    INTERRUPTED = 130
    PIPE_CLOSED = 141


EXIT_MEANINGS = {
    Exit.SUCCESS: "success",
    Exit.NEGATIVE: "no result: nothing found, archive damaged, or a check failed",
    Exit.USAGE: "wrong command line or setting",
    Exit.UNREADABLE: "an archive cannot be read",
    Exit.NETWORK: "network error: the library, a mirror or the connection failed",
    Exit.DISK: "a file cannot be written, or the disk is full",
    Exit.INTERRUPTED: "interrupted (Ctrl-C)",
    Exit.PIPE_CLOSED: "the program that read the output closed the pipe",
}

# The first row whose class an error is an instance of gives the exit code.
_EXIT_BY_ERROR: tuple[tuple[type[errors.OpenZimMcpError], Exit], ...] = (
    (errors.OpenZimMcpConfigurationError, Exit.USAGE),
    (errors.ArchiveNotFound, Exit.NEGATIVE),
    (errors.EntryNotFound, Exit.NEGATIVE),
    (errors.SectionNotFound, Exit.NEGATIVE),
    (errors.OpenZimMcpValidationError, Exit.USAGE),
    (errors.OpenZimMcpArchiveError, Exit.UNREADABLE),
    (errors.FileNotWritable, Exit.DISK),
    (errors.DownloadStopped, Exit.INTERRUPTED),
    (errors.NotInCatalog, Exit.NEGATIVE),
    (errors.OpenZimMcpDownloadError, Exit.NETWORK),
)


def exit_code(error: errors.OpenZimMcpError) -> Exit:
    """Return the exit code for an error."""
    return next((code for error_class, code in _EXIT_BY_ERROR if isinstance(error, error_class)), Exit.NEGATIVE)


CommandFunction: TypeAlias = Callable[..., Exit | None]


class Command(click.Command):
    """A Click command whose help ends with examples."""

    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples without wrapping them."""
        super().format_epilog(ctx, formatter)
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def command(*examples: str) -> Callable[[CommandFunction], Command]:
    """Make a function a command; the name comes from its module, the help from its docstring."""

    def declare(function: CommandFunction) -> Command:
        @functools.wraps(function)
        def run(*, as_json: bool, **arguments: object) -> Exit:
            return _run_and_report(Terminal(as_json=as_json), functools.partial(function, **arguments))

        name = function.__module__.rpartition(".")[2]
        option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for scripts.")
        declared = click.command(name, cls=Command)(option(run))
        declared.examples = examples
        return declared

    return declare


def _run_and_report(terminal: Terminal, function: Callable[[Terminal], Exit | None]) -> Exit:
    try:
        return function(terminal) or Exit.SUCCESS
    except errors.OpenZimMcpError as error:
        terminal.error(error)
        return exit_code(error)
    except BrokenPipeError:
        # Python flushes standard output when it exits; into a closed pipe, that would print a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED


archive_option = click.option("--archive", metavar="NAME", help="Use only this archive; the date may be omitted.")


def directory_option(function: CommandFunction) -> CommandFunction:
    """Add `--dir`; the command gets `directories`, with those that `directory_arguments` adds.

    An empty list means OPENZIM_MCP_ALLOWED_DIRECTORIES, and if that is not set, the handbook.
    """

    @functools.wraps(function)
    def run(
        *positional: object, options: tuple[str, ...], directories: tuple[str, ...] = (), **arguments: object
    ) -> Exit | None:
        return function(*positional, directories=[*options, *directories], **arguments)

    help_text = "Directory with archives, or one .zim file; may be repeated."
    option = click.option("--dir", "options", multiple=True, metavar="DIRECTORY", type=click.Path(), help=help_text)
    return option(run)


def directory_arguments(function: CommandFunction) -> CommandFunction:
    """Accept directories after the other arguments, as well as with `--dir`."""
    argument = click.argument("directories", nargs=-1, metavar="[DIRECTORY]...", type=click.Path())
    return argument(directory_option(function))


def resolve_archive_file(archive: str, directories: list[str]) -> tuple[str, list[str]]:
    """Return an archive and its directories; the path of a .zim file stands for both."""
    path = os.path.abspath(os.path.expanduser(archive))
    is_file = not directories and path.lower().endswith((".zim", ".zimaa")) and os.path.isfile(path)
    return (path, [path]) if is_file else (archive, directories)


class Group(click.Group):
    """All commands; a command's module is imported when the command is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names, in the order of the registry."""
        return [row.name for row in registry.COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import a command."""
        if cmd_name not in registry.COMMANDS_BY_NAME:
            return None
        module = importlib.import_module(f"openzim_mcp.cli.{cmd_name}")
        return module.run  # type: ignore[no-any-return]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Complete a command, a flag of `serve`, or a directory to serve."""
        names = [
            CompletionItem(row.name, help=row.summary) for row in registry.COMMANDS if row.name.startswith(incomplete)
        ]
        flags = [CompletionItem(flag) for flag in _SERVE_FLAGS if incomplete and flag.startswith(incomplete)]
        return names + flags or [CompletionItem(incomplete, type="file")]


group = Group(PROGRAM, context_settings={"help_option_names": ["-h", "--help"]})


def run_command(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    try:
        exit_code = group.main(
            list(arguments), prog_name=PROGRAM, complete_var=registry.COMPLETION_VARIABLE, standalone_mode=False
        )
        return int(exit_code or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
