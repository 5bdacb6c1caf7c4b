"""Write the generated parts of the docs, or with `--check` only say which pages are out of date.

A part is between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import click
import record_terminal
from mcp import Client, StdioServerParameters
from mcp_types import TextContent

from openzim_mcp import config, config_errors, errors
from openzim_mcp.app import limits
from openzim_mcp.app.query import intents
from openzim_mcp.cli import clients, command, main, registry
from openzim_mcp.protocol import prompts, resources, tools

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_SERVER_ARGUMENTS = ["-m", "openzim_mcp", "--log-level", "WARNING"]
_GENERATED_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _format_default(value: object) -> str:
    if value in (None, (), {}):
        return "—"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def settings_table() -> str:
    """Return one row per setting."""
    rows = [
        [
            f"`{name}`",
            _format_default(field.get_default(call_default_factory=True)),
            config_errors.describe_accepted(field),
            field.description or "",
        ]
        for name, field in config.environment_variables().items()
    ]
    return _table(["variable", "default", "accepts", "meaning"], rows)


def tools_table() -> str:
    """Return one row per tool."""
    rows = [
        [f"`{tool.name}`", tool.description, "simple, advanced" if tool.simple else "advanced"] for tool in tools.TOOLS
    ]
    return _table(["tool", "what it does", "mode"], rows)


def requests_table() -> str:
    """Return one row per kind of request in plain words."""
    rows = [[intent.name.replace("_", " "), "; ".join(intent.examples)] for intent in intents.INTENTS]
    return _table(["request", "for example"], rows)


def argument_tables() -> str:
    """Return the arguments of each tool, and what a call costs."""
    parts = []
    for tool in tools.TOOLS:
        rows = [
            [f"`{name}`", _describe_type(property_schema), property_schema["description"]]
            for name, property_schema in tools.argument_schema(tool.request)["properties"].items()
        ]
        cost = _describe_cost(tool)
        parts.append(f"### {tool.name}\n\n{tool.description}\n\n{_table(['argument', 'type', ''], rows)}\n{cost}\n")
    return "\n".join(parts)


def _describe_cost(tool: tools.Tool) -> str:
    if tool.cost is None:
        return "The cost of a call for the rate limit depends on its arguments."
    cost = limits.COSTS[tool.cost]
    return f"A call costs {cost} rate-limit token{'s' * (cost > 1)} (operation `{tool.cost}`)."


def _describe_type(property_schema: dict[str, Any]) -> str:
    if "enum" in property_schema:
        return " or ".join(f"`{value}`" for value in property_schema["enum"])
    if "anyOf" in property_schema:
        return " or ".join(alternative["type"] for alternative in property_schema["anyOf"])
    bounds = [str(property_schema[bound]) for bound in ("minimum", "maximum") if bound in property_schema]
    return f"{property_schema['type']} from {' to '.join(bounds)}" if bounds else str(property_schema["type"])


def errors_table() -> str:
    """Return one row per class of error."""

    def with_subclasses(error: type[errors.OpenZimMcpError]) -> list[type[errors.OpenZimMcpError]]:
        return [error, *(subclass for child in error.__subclasses__() for subclass in with_subclasses(child))]

    rows = [
        [f"`{error.operation or '(the tool)'}`", f"`{error.__name__}`", (error.__doc__ or "").partition("\n")[0]]
        for error in with_subclasses(errors.OpenZimMcpError)
    ]
    return _table(["operation", "class", "meaning"], rows)


def clients_table() -> str:
    """Return one row per client that can be connected."""
    linux = {"HOME": "~"}
    windows = {"USERPROFILE": "%USERPROFILE%", "APPDATA": "%APPDATA%", "LOCALAPPDATA": "%LOCALAPPDATA%"}
    rows = []
    for client in clients.CLIENTS:
        paths = [
            clients.config_paths(client, system, windows if system == "win32" else linux)[-1]
            for system in ("linux", "darwin", "win32")
        ]
        rows.append([f"`{client.name}`", client.title, *(f"`{path}`" for path in paths), f"`{client.servers_key}`"])
    return _table(["client", "name", "Linux", "macOS", "Windows", "key"], rows)


def program_help() -> str:
    """Return the help of the program."""
    return f"```\n{main.format_help()}```\n"


def commands_table() -> str:
    """Return one row per command."""
    return _table(["command", "what it does"], [[f"`{row.name}`", row.summary] for row in registry.COMMANDS])


def command_help() -> str:
    """Return the help of each command."""
    parts = []
    for row in registry.COMMANDS:
        click_command = command.group.get_command(click.Context(command.group), row.name)
        assert click_command is not None
        context = click.Context(click_command, info_name=f"{command.PROGRAM} {row.name}", terminal_width=100)
        parts.append(f"### {row.name}\n\n```\n{click_command.get_help(context)}\n```\n")
    return "\n".join(parts)


def exit_codes_table() -> str:
    """Return one row per exit code."""
    return _table(["code", "meaning"], [[str(int(code)), meaning] for code, meaning in command.EXIT_MEANINGS.items()])


def demo_calls() -> str:
    """Return tool calls and the answers of a server for the handbook."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("zim_query", {"query": "are symbolic links followed?", "compact_budget": 200}),
        ("zim_get", {"entry_path": "safty", "max_content_length": 600}),
        ("zim_browse", {"namespce": "C"}),
    ]

    async def call_server() -> str:
        no_library = {"OPENZIM_MCP_LIBRARY": str(record_terminal.NO_LIBRARY)}
        arguments = [*_SERVER_ARGUMENTS, "--mode", "advanced"]
        server = StdioServerParameters(command=sys.executable, args=arguments, env=no_library)
        async with Client(server) as client:
            answers = [(await client.call_tool(tool, arguments)).content[0] for tool, arguments in calls]
        return "\n\n".join(
            f"> {tool} {json.dumps(arguments)}\n{answer.text}"
            for (tool, arguments), answer in zip(calls, answers, strict=True)
            if isinstance(answer, TextContent)
        )

    return f"````\n{anyio.run(call_server)}\n````\n"  # four, because an answer may contain a fence of three


def terminal_session() -> str:
    """Return commands and their output on a terminal."""
    # The size of the handbook changes with every word of the docs; rounded, the README does not.
    text = re.sub(r"(\d+)\d KB", r"\g<1>0 KB", record_terminal.record_text())
    return f"```\n{text}\n```\n"


def resources_table() -> str:
    """Return one row per kind of resource."""
    resource_list = [[f"`{resources.FILES.uri}`", str(resources.FILES.description)]]
    templates = [[f"`{row.uri_template}`", str(row.description)] for row in resources.TEMPLATES]
    return _table(["URI", "content"], resource_list + templates)


def prompts_table() -> str:
    """Return one row per prompt, with the tools it calls."""
    rows = [
        [
            f"`/{prompt.name}`",
            ", ".join(f"`{name}`" for name in prompt.arguments),
            prompt.description,
            " → ".join(f"`{step.tool}`" for step in prompt.steps["advanced"]),
        ]
        for prompt in prompts.PROMPTS
    ]
    return _table(["prompt", "arguments", "what it does", "tools called in advanced mode"], rows)


def costs_table() -> str:
    """Return the cost of each operation."""
    return _table(["operation", "tokens"], [[f"`{name}`", str(cost)] for name, cost in limits.COSTS.items()])


GENERATED = {
    "clients": clients_table,
    "commands": commands_table,
    "command_help": command_help,
    "exits": exit_codes_table,
    "session": terminal_session,
    "costs": costs_table,
    "demo": demo_calls,
    "prompts": prompts_table,
    "resources": resources_table,
    "settings": settings_table,
    "tools": tools_table,
    "arguments": argument_tables,
    "requests": requests_table,
    "errors": errors_table,
    "usage": program_help,
}


def render(text: str) -> str:
    """Return a page with its generated parts replaced."""
    return _GENERATED_PART.sub(lambda part: f"{part[1]}{GENERATED[part[2]]()}{part[3]}", text)


def write_or_check() -> int:
    """Write the pages, or with `--check` say which are out of date; return the exit code."""
    is_check = "--check" in sys.argv
    is_stale = False
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = render(text)
        if new != text and is_check:
            print(f"{page.relative_to(ROOT)} is out of date: run `make handbook`")
            is_stale = True
        elif new != text:
            page.write_text(new, encoding="utf-8")
    return int(is_stale)


if __name__ == "__main__":
    sys.exit(write_or_check())
