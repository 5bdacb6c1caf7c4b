"""What all commands share: how they are declared, found, helped with and ended.

A command is a row in `registry.py` and a module of that name with a function `run` under `@command.command(…)`. It gets
a `Terminal`, shows its result with `terminal.show(payload, blocks…)`, raises an `OpenZimMcpError` to fail, and returns
an `Exit` where the answer is no.
"""

from __future__ import annotations

import enum
import functools
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from openzim_mcp import errors
from openzim_mcp.cli import registry
from openzim_mcp.cli.terminal import Terminal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

PROGRAM = "openzim-mcp"
COMPLETE = "_OPENZIM_MCP_COMPLETE"
_SERVE_FLAGS = ("--mode", "--transport", "--log-level", "--version", "--help")


class Exit(enum.IntEnum):
    """How a command ended."""

    DONE = 0
    NO = 1
    USAGE = 2
    UNREADABLE = 3
    NETWORK = 4
    DISK = 5
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANINGS = {
    Exit.DONE: "it did what was asked, and the answer is yes",
    Exit.NO: "it ran, and the answer is no: nothing found, an archive is damaged, something is to be mended",
    Exit.USAGE: "the command line or a setting is wrong",
    Exit.UNREADABLE: "an archive cannot be read",
    Exit.NETWORK: "the network, a server or a mirror failed",
    Exit.DISK: "a file cannot be written, or there is no room for it",
    Exit.INTERRUPTED: "it was interrupted",
    Exit.PIPE_CLOSED: "whoever read its output went away",
}

_OF_ERRORS: tuple[tuple[type[errors.OpenZimMcpError], Exit], ...] = (
    (errors.OpenZimMcpConfigurationError, Exit.USAGE),
    (errors.ArchiveNotFound, Exit.NO),
    (errors.EntryNotFound, Exit.NO),
    (errors.SectionNotFound, Exit.NO),
    (errors.OpenZimMcpValidationError, Exit.USAGE),
    (errors.OpenZimMcpArchiveError, Exit.UNREADABLE),
    (errors.FileNotWritable, Exit.DISK),
    (errors.DownloadStopped, Exit.INTERRUPTED),
    (errors.NotInCatalog, Exit.NO),
    (errors.OpenZimMcpDownloadError, Exit.NETWORK),
)
"""The first row that fits an error says how the command ends."""


def code_of(error: errors.OpenZimMcpError) -> Exit:
    """Return the exit code of an error."""
    return next((code for kind, code in _OF_ERRORS if isinstance(error, kind)), Exit.NO)


class Command(click.Command):
    """A command whose help ends with examples."""

    examples: tuple[str, ...] = ()

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples as they are."""
        super().format_epilog(ctx, formatter)
        with formatter.section("Examples"):
            for example in self.examples:
                formatter.write(f"{'':{formatter.current_indent}}{example}\n")


def command(*examples: str) -> Callable[[Callable[..., Exit | None]], Command]:
    """Make a function a command; its docstring is the help, its module's name the command's."""

    def declare(function: Callable[..., Exit | None]) -> Command:
        @functools.wraps(function)
        def run(*, as_json: bool, **given: Any) -> Exit:
            return _ended(Terminal(as_json=as_json), functools.partial(function, **given))

        name = function.__module__.rpartition(".")[2]
        made = click.command(name, cls=Command)(
            click.option("--json", "as_json", is_flag=True, help="For scripts.")(run)
        )
        made.examples = examples
        return made

    return declare


def _ended(terminal: Terminal, work: Callable[[Terminal], Exit | None]) -> Exit:
    try:
        return work(terminal) or Exit.DONE
    except errors.OpenZimMcpError as error:
        terminal.complain(error)
        return code_of(error)
    except BrokenPipeError:
        # Python would write what is left when it ends, and complain.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED


archive = click.option("--archive", metavar="NAME", help="Only this archive, by its name; the date may be left out.")
"""The option that names one archive."""


def directories(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command say with `--dir` where archives are; it gets them as `where`.

    Left out: OPENZIM_MCP_ALLOWED_DIRECTORIES, else the handbook.
    """

    @functools.wraps(function)
    def run(*arguments: Any, directories: tuple[str, ...], places: tuple[str, ...] = (), **given: Any) -> Any:
        return function(*arguments, where=[*directories, *places], **given)

    help_text = "Where the archives are: a directory or one .zim file; may be repeated."
    option = click.option("--dir", "directories", multiple=True, metavar="DIRECTORY", type=click.Path(), help=help_text)
    return option(run)


def where(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a command name directories after its other arguments too."""
    return click.argument("places", nargs=-1, metavar="[DIRECTORY]...", type=click.Path())(directories(function))


def one_file(archive: str, where: list[str]) -> tuple[str, list[str]]:
    """Return the archive and the directories that are meant: a file that is named says both."""
    path = os.path.abspath(os.path.expanduser(archive))
    is_file = not where and path.lower().endswith((".zim", ".zimaa")) and os.path.isfile(path)
    return (path, [path]) if is_file else (archive, where)


class Group(click.Group):
    """All commands; each is imported when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the names, in the order of the table."""
        return [row.name for row in registry.ROWS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Return a command."""
        if cmd_name not in registry.NAMES:
            return None
        module = importlib.import_module(f"openzim_mcp.cli.{cmd_name}")
        return module.run  # type: ignore[no-any-return]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Complete a command, a flag of serving, or a directory to serve."""
        rows = [CompletionItem(row.name, help=row.summary) for row in registry.ROWS if row.name.startswith(incomplete)]
        flags = [CompletionItem(flag) for flag in _SERVE_FLAGS if incomplete and flag.startswith(incomplete)]
        return rows + flags or [CompletionItem(incomplete, type="file")]


group = Group(PROGRAM, context_settings={"help_option_names": ["-h", "--help"]})


def run(words: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    try:
        return int(group.main(list(words), prog_name=PROGRAM, complete_var=COMPLETE, standalone_mode=False) or 0)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return Exit.INTERRUPTED
