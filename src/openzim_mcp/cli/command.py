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
import re
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
_ARCHIVE_SUFFIXES = (".zim", ".zimaa")
_PATH_STARTS = ("~", "/", "./", "../", os.path.join(".", ""), os.path.join("..", ""))
# Errors of the app name the tools and arguments that a model uses.
_WORDS_FOR_PEOPLE = (
    (re.compile(r"\bPass zim_file_path\b"), "Add --archive NAME"),
    (re.compile(r"\bzim_file_path\b"), "--archive"),
    (re.compile(r"\bin available_archives\b"), "that `openzim-mcp list` shows"),
    (re.compile(r"^Use one of available_sections\.$"), ""),
    (re.compile(r"\bcompact_budget\b"), "--budget"),
    (re.compile(r"\bsection_id\b"), "--section"),
    (re.compile(r"\bview=.?toc\b.?"), "--toc"),
    (re.compile(r"\bzim_health\b"), "`openzim-mcp verify`"),
    (re.compile(r"\bzim_(?:browse|query|search)\b"), "`openzim-mcp search`"),
    (re.compile(r"\bzim_metadata\b"), "`openzim-mcp info`"),
    (re.compile(r"\bzim_get(?:_section)?\b"), "`openzim-mcp read`"),
)
_SERVE_FLAGS = ("--mode", "--follow-links", "--transport", "--log-level", "--version", "--help")


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
    (errors.AmbiguousEntry, Exit.NEGATIVE),
    (errors.EntryNotFound, Exit.NEGATIVE),
    (errors.PlaceNotFound, Exit.NEGATIVE),
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
        terminal.error(_for_people(error))
        return exit_code(error)
    except BrokenPipeError:
        # Python flushes standard output when it exits; into a closed pipe, that would print a traceback.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.PIPE_CLOSED


def _for_people(error: errors.OpenZimMcpError) -> errors.OpenZimMcpError:
    """Return an error that names options and commands instead of arguments and tools."""
    message, hint = error.message, error.hint or ""
    for pattern, words in _WORDS_FOR_PEOPLE:
        message, hint = pattern.sub(words, message), pattern.sub(words, hint)
    return type(error)(message, hint=hint or None, **error.details)


def complete_archive(context: click.Context, _: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of an archive in the directories that are typed so far, or a path."""
    from openzim_mcp.cli import runtime  # noqa: PLC0415  only completion needs it
    from openzim_mcp.library.scan import make_scanner  # noqa: PLC0415

    typed = [word for name in ("options", "directories", "archives") for word in context.params.get(name) or ()]
    directories = [path for word in typed if os.path.exists(path := os.path.expanduser(word))]
    try:
        archives = make_scanner(runtime.load_command_settings(directories)).scan().archives
    except errors.OpenZimMcpError:
        archives = ()
    names = [CompletionItem(archive.name) for archive in archives if archive.name.startswith(incomplete)]
    return names or [CompletionItem(incomplete, type="file")]


archive_option = click.option(
    "--archive",
    metavar="NAME",
    shell_complete=complete_archive,
    help="Use only this archive; the date may be omitted.",
)


def directory_option(function: CommandFunction) -> CommandFunction:
    """Add `--dir` and `--follow-links`; the command gets `directories`, with those that its arguments add.

    An empty list means OPENZIM_MCP_ALLOWED_DIRECTORIES, and if that is not set, the library.
    """

    @functools.wraps(function)
    def run(
        *positional: object, options: tuple[str, ...], directories: tuple[str, ...] = (), **arguments: object
    ) -> Exit | None:
        return function(*positional, directories=[*options, *directories], **arguments)

    help_text = "Directory with archives, or one .zim file; may be repeated."
    option = click.option("--dir", "options", multiple=True, metavar="DIRECTORY", type=click.Path(), help=help_text)
    return option(_follow_links_option(run))


def _set_follow_links(_: click.Context, __: click.Parameter, value: bool) -> None:  # noqa: FBT001
    # A setting like any other, so that no command has to hand it on.
    if value:
        os.environ["OPENZIM_MCP_FOLLOW_LINKS"] = "true"


_follow_links_option = click.option(
    "--follow-links",
    is_flag=True,
    expose_value=False,
    callback=_set_follow_links,
    help="Use archives outside that links directly in a DIRECTORY lead to.",
)


def directory_arguments(function: CommandFunction) -> CommandFunction:
    """Accept directories after the other arguments, as well as with `--dir`."""
    argument = click.argument("directories", nargs=-1, metavar="[DIRECTORY]...", type=click.Path())
    return argument(directory_option(function))


def words_and_directories(name: str, unless: str | None = None) -> Callable[[CommandFunction], CommandFunction]:
    """Accept words without quotes, and directories after them; the command gets the words as one string.

    With the option `unless`, there may be no words.
    """

    def declare(function: CommandFunction) -> CommandFunction:
        @functools.wraps(function)
        def run(*positional: object, **arguments: object) -> Exit | None:
            words = arguments.pop(name)
            assert isinstance(words, tuple)
            is_optional = unless is not None and arguments.get(unless) is not None
            if not words and not is_optional:
                raise click.UsageError(f"Missing argument '{usage}'.")
            text, directories = split_directories(words, min_words=0 if is_optional else 1)
            return function(*positional, **{name: text}, directories=tuple(directories), **arguments)

        usage = f"{name.upper()}... [DIRECTORY]..."
        return click.argument(name, nargs=-1, metavar=f"[{name.upper()}]... [DIRECTORY]..." if unless else usage)(run)

    return lambda function: declare(directory_option(function))


def split_directories(words: Sequence[str], *, min_words: int = 1) -> tuple[str, list[str]]:
    """Split `what is coffee ~/zims` into the words and the directories after them."""
    count = len(words)
    is_quoted = len(words[0].split()) > 1 if words else False
    while count > min_words and _is_directory(words[count - 1], is_after_quotes=is_quoted):
        count -= 1
    return " ".join(words[:count]), list(words[count:])


def _is_directory(word: str, *, is_after_quotes: bool) -> bool:
    """Whether a word is meant as a directory or archive: it exists, or is written as a path.

    The plain name of a directory counts after a quoted question, or if it has archives: a word may be one by chance.
    """
    path = os.path.expanduser(word)
    if os.path.isdir(path):
        return is_after_quotes or os.sep in word or word.startswith((".", "~")) or _has_archives(path)
    if os.path.isfile(path):
        return word.lower().endswith(_ARCHIVE_SUFFIXES)
    return is_after_quotes or word.startswith(_PATH_STARTS) or word.lower().endswith(_ARCHIVE_SUFFIXES)


def _has_archives(directory: str) -> bool:
    try:
        return any(name.lower().endswith(_ARCHIVE_SUFFIXES) for name in os.listdir(directory))
    except OSError:
        return False


def split_archives(words: Sequence[str], directories: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split `wiki ~/zims ./manual.zim` into archives and directories; a .zim file is both."""
    paths = [os.path.abspath(os.path.expanduser(word)) for word in words]
    served = [*directories, *(path for path in paths if os.path.isdir(path))]
    archives = []
    for word, path in zip(words, paths, strict=True):
        if os.path.isfile(path) and path.lower().endswith(_ARCHIVE_SUFFIXES):
            archives.append(path)
            served.append(path)
        elif not os.path.isdir(path):
            archives.append(word)
    return archives, served


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
