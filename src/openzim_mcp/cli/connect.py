"""`connect`: add this server to a client's configuration."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from openzim_mcp import errors
from openzim_mcp.cli import clients, command, jsonc, probe, program, runtime, skill_folders, yaml_edit
from openzim_mcp.cli.terminal import Cell, Lines, Table
from openzim_mcp.library.scan import make_scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from openzim_mcp.cli.clients import Client
    from openzim_mcp.cli.terminal import Style, Terminal


_FLAGS = {"--connector-tools", "--follow-links", "-h", "--help", "--version"}
"""The options of the server that take no value."""


class ConfigOptions(TypedDict):
    """The options that `connect` and `disconnect` share."""

    server: str
    file: str | None
    write: bool
    skill: bool


server_option = click.option("--name", "server", default="zim", metavar="NAME", help="Name of the server (zim).")


def complete_client(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a client."""
    return [name for name in clients.CLIENTS_BY_NAME if name.startswith(incomplete)]


write_option = click.option("--write", is_flag=True, help="Change the file; a backup is kept beside it.")
file_option = click.option("--file", "file", type=click.Path(), help="Another file than the client's usual one.")


@command.command(
    "openzim-mcp connect                              # list the clients, and which are connected",
    "openzim-mcp connect claude-desktop ~/zims        # show what would change",
    "openzim-mcp connect claude-desktop --write       # the library, or the directories that it has already",
    "openzim-mcp connect cursor --url http://nas.local:8000/mcp --write",
    "openzim-mcp connect claude-code --skill --write  # with the skill that explains how to use it",
    "openzim-mcp connect --print ~/zims               # for any other client",
)
@click.argument("client", required=False, metavar="[CLIENT]", shell_complete=complete_client)
@click.option("--mode", type=click.Choice(["simple", "advanced"]), help="Which tools are offered (simple).")
@click.option("--url", metavar="URL", help="Connect to a server that is running, instead of starting one.")
@click.option("--token", metavar="TOKEN", help="The bearer token of that server.")
@click.option("--print", "print_only", is_flag=True, help="Only print the entry, for a client that is not listed.")
@click.option("--skill", is_flag=True, help="Also install the skill for research, where the client reads skills.")
@server_option
@file_option
@write_option
@command.directory_arguments
def run(
    terminal: Terminal,
    client: str | None,
    mode: str | None,
    url: str | None,
    token: str | None,
    directories: list[str],
    *,
    print_only: bool,
    **options: Unpack[ConfigOptions],
) -> None:
    """Add this server to a CLIENT: show the change to its configuration; --write makes it.

    CLIENT is claude-desktop, claude-code, vscode, cursor, lm-studio, goose or open-webui. Without a DIRECTORY, those
    that the client has already are kept; a new client gets the library.
    """
    if print_only and client is not None and client not in clients.CLIENTS_BY_NAME:
        directories = [client, *directories]
    if print_only:
        arguments = _given_arguments([], mode, directories)
        _print_entry(terminal, options["server"], program.server_command(arguments))
    elif client is None:
        _list_clients(terminal)
    elif url:
        _connect_url(terminal, require_client(client), url, token, options)
    else:
        _connect(terminal, require_client(client), mode, directories, options)


def _connect(
    terminal: Terminal, client: Client, mode: str | None, directories: Sequence[str], options: ConfigOptions
) -> None:
    path, server = options["file"] or clients.find_config(client), options["server"]
    arguments: list[str] = []
    variables: dict[str, str] = {}

    def add_server(text: str) -> str:
        old_command = client.find_command(text, server) if text.strip() else None
        arguments[:] = _given_arguments(clients.program_arguments(old_command or []), mode, directories)
        variables.update(client.find_environment(text, server) if old_command else {})
        return client.add_server(text, server, client.make_entry(program.server_command(arguments)))

    if change_config(terminal, client, options, add_server):
        terminal.info(client.next_step.format(file=path, server=server))
    terminal.info(f"{client.title} gets: {describe_served(arguments, variables)}")


def _connect_url(terminal: Terminal, client: Client, url: str, token: str | None, options: ConfigOptions) -> None:
    if client.make_url_entry is None:
        raise errors.OpenZimMcpConfigurationError(
            f"{client.title} starts commands only, it takes no URL.", hint="See docs/clients.md, A server with a URL."
        )
    entry = client.make_url_entry(url, {"Authorization": f"Bearer {token}"} if token else {})
    problem = probe.find_server_problem(url)
    if change_config(terminal, client, options, lambda text: client.add_server(text, options["server"], entry)):
        path = options["file"] or clients.find_config(client)
        terminal.info(client.next_step.format(file=path, server=options["server"]))
    terminal.info(f"{url} {problem or 'is ready'}.", "warn" if problem else "dim")


def serve_arguments(
    old: Sequence[str], mode: str | None, directories: Sequence[str], *, follow_links: bool
) -> list[str]:
    """Return the arguments of the server: the old ones, with what was given instead."""
    kept, kept_directories = split_arguments(old)
    if mode:
        kept["--mode"] = mode
    if follow_links:
        kept["--follow-links"] = None
    words = [word for option, value in kept.items() for word in (option, value) if word is not None]
    return [*words, *(directories or kept_directories)]


def split_arguments(arguments: Sequence[str]) -> tuple[dict[str, str | None], list[str]]:
    """Split arguments of the server into options, with their values, and directories."""
    options: dict[str, str | None] = {}
    directories = []
    words = iter(arguments)
    for word in words:
        if not word.startswith("-"):
            directories.append(word)
        elif "=" in word or word in _FLAGS:
            options[word] = None
        else:
            options[word] = next(words, "")
    return options, directories


def describe_served(arguments: Sequence[str], variables: Mapping[str, str]) -> str:
    """Say which archives a server with these arguments and variables serves, on this machine and now."""
    options, directories = split_arguments(arguments)
    named = variables.get("OPENZIM_MCP_ALLOWED_DIRECTORIES", "")
    try:
        settings = runtime.load_command_settings(directories or list(filter(None, named.split(os.pathsep))))
    except errors.OpenZimMcpConfigurationError as error:
        return f"nothing: {error.message}"
    if "--follow-links" in options:
        settings = settings.model_copy(update={"follow_links": True})
    if variables.get("OPENZIM_MCP_LIBRARY"):
        settings = settings.model_copy(update={"library": Path(variables["OPENZIM_MCP_LIBRARY"]).expanduser()})
    scan = make_scanner(settings).scan()
    if scan.is_handbook:
        library = runtime.display_path(settings.library_directory)
        return f"the handbook only, until there is an archive in {library} (openzim-mcp download NAME)"
    count = sum(not archive.problem for archive in scan.archives)
    missing = "".join(f"; {row.name}: {row.reason}" for row in scan.rejected if row.is_directory)
    return f"{count} archive{'s' * (count != 1)} in {runtime.name_directories(settings)}{missing}"


def _given_arguments(old: Sequence[str], mode: str | None, directories: Sequence[str]) -> list[str]:
    """Return the arguments to write: a client starts the server in another directory and another environment."""
    settings = runtime.load_command_settings(directories)
    # The default library needs no argument; it is found wherever the server is started.
    paths = settings.allowed_directories or ((settings.library,) if settings.library else ())
    # What the environment says is for a new client: it does not replace what a client has already.
    given = [os.path.abspath(path) for path in paths if directories or not split_arguments(old)[1]]
    return serve_arguments(old, mode, given, follow_links=settings.follow_links)


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
    rows = [(state.client, state.title, state.cell(), runtime.display_path(state.file)) for state in states]
    payload = {"clients": [asdict(state) for state in states]}
    header = ("client", "name", "state", "configuration")
    terminal.show(payload, Table(header, rows, whole=frozenset(header), optional=("name",)))


def _client_state(client: Client) -> _ClientState:
    path = clients.find_config(client)
    try:
        servers = client.find_servers(clients.read_config(path))
    except (ValueError, errors.OpenZimMcpError):
        servers = []
    return _ClientState(client.name, client.title, path, os.path.exists(path), servers)


def change_config(
    terminal: Terminal,
    client: Client,
    options: ConfigOptions,
    edit: Callable[[str], str],
    change_skills: Callable[..., list[str]] = skill_folders.install_skills,
) -> bool:
    """Show the diff of an edit to a client's configuration; with --write, make it. Return whether it was written.

    With --skill, `change_skills` does the same with the files of our skills.
    """
    path = options["file"] or clients.find_config(client)
    skill_files = change_skills(client, write=options["write"]) if options["skill"] else []
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
    payload |= {"skill_files": skill_files} if options["skill"] else {}
    terminal.show(payload, *([_color_diff(diff)] if diff else [] if skill_files else ["Nothing changes."]))
    for skill_file in skill_files:
        terminal.info(f"Skill: {skill_file}")
    if (diff or skill_files) and not options["write"]:
        terminal.info("Nothing is written; add --write.")
    elif diff:
        terminal.info(f"Backup: {backup}" if backup else "The file is new.")
    return written


def _color_diff(diff: str) -> Lines:
    styles: dict[str, Style] = {"+": "good", "-": "bad"}
    return Lines([Cell(line, styles.get(line[:1], "")) for line in diff.splitlines()])
