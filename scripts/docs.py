"""Write the generated parts of the docs from the code, or check that they are up to date (`--check`).

A part stands between `<!-- generated: NAME -->` and `<!-- end -->`.
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

from openzim_mcp import config, config_errors, errors
from openzim_mcp.app import limits
from openzim_mcp.app.arguments import schema
from openzim_mcp.app.query import intents
from openzim_mcp.cli import clients, registry
from openzim_mcp.cli import command as frame
from openzim_mcp.cli import main as cli
from openzim_mcp.protocol import prompts, resources, tools

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_SERVER = ["-m", "openzim_mcp", "--log-level", "WARNING"]
_PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _default(value: Any) -> str:
    if value in (None, (), {}):
        return "—"
    return f"`{str(value).lower() if isinstance(value, bool) else value}`"


def settings() -> str:
    """Return a row for each setting."""
    rows = [
        [
            f"`{name}`",
            _default(field.get_default(call_default_factory=True)),
            config_errors.describe_accepted(field),
            field.description or "",
        ]
        for name, field in config.environment_variables().items()
    ]
    return _table(["variable", "default", "accepts", "what it is"], rows)


def tool_list() -> str:
    """Return a row for each tool."""
    rows = [
        [f"`{tool.name}`", tool.description, "simple, advanced" if tool.simple else "advanced"] for tool in tools.TOOLS
    ]
    return _table(["tool", "what it does", "mode"], rows)


def requests() -> str:
    """Return a row for each kind of request in plain words."""
    rows = [[intent.name.replace("_", " "), "; ".join(intent.examples)] for intent in intents.INTENTS]
    return _table(["request", "for example"], rows)


def arguments() -> str:
    """Return the arguments of each tool, and what a call costs."""
    parts = []
    for tool in tools.TOOLS:
        rows = [
            [f"`{name}`", _kind(kind), kind["description"]]
            for name, kind in schema(tool.arguments)["properties"].items()
        ]
        price = _price(tool)
        parts.append(f"### {tool.name}\n\n{tool.description}\n\n{_table(['argument', 'type', ''], rows)}\n{price}\n")
    return "\n".join(parts)


def _price(tool: tools.Tool) -> str:
    if not isinstance(tool.operation, str):
        return "What a call costs of the rate limit depends on what it asks for."
    cost = limits.COSTS[tool.operation]
    return f"A call costs {cost} token{'s' * (cost > 1)} of the rate limit (operation `{tool.operation}`)."


def _kind(kind: dict[str, Any]) -> str:
    if "enum" in kind:
        return " or ".join(f"`{value}`" for value in kind["enum"])
    if "anyOf" in kind:
        return " or ".join(alternative["type"] for alternative in kind["anyOf"])
    bounds = [str(kind[bound]) for bound in ("minimum", "maximum") if bound in kind]
    return f"{kind['type']} from {' to '.join(bounds)}" if bounds else str(kind["type"])


def error_list() -> str:
    """Return a row for each kind of error."""

    def kinds(kind: type[errors.OpenZimMcpError]) -> list[type[errors.OpenZimMcpError]]:
        return [kind, *(below for child in kind.__subclasses__() for below in kinds(child))]

    rows = [
        [f"`{kind.operation or '(the tool)'}`", f"`{kind.__name__}`", (kind.__doc__ or "").partition("\n")[0]]
        for kind in kinds(errors.OpenZimMcpError)
    ]
    return _table(["operation", "class", "meaning"], rows)


def client_list() -> str:
    """Return a row for each client that can be connected."""
    linux = {"HOME": "~"}
    windows = {"USERPROFILE": "%USERPROFILE%", "APPDATA": "%APPDATA%", "LOCALAPPDATA": "%LOCALAPPDATA%"}
    rows = []
    for client in clients.CLIENTS:
        places = [
            clients.config_paths(client, system, windows if system == "win32" else linux)[-1]
            for system in ("linux", "darwin", "win32")
        ]
        rows.append([f"`{client.name}`", client.title, *(f"`{place}`" for place in places), f"`{client.servers_key}`"])
    return _table(["client", "", "Linux", "macOS", "Windows", "below"], rows)


def usage() -> str:
    """Return the help of the command."""
    return f"```\n{cli.format_help()}```\n"


def command_list() -> str:
    """Return a row for each command."""
    return _table(["command", "what it does"], [[f"`{row.name}`", row.summary] for row in registry.COMMANDS])


def command_help() -> str:
    """Return the help of each command."""
    parts = []
    for row in registry.COMMANDS:
        command = frame.group.get_command(click.Context(frame.group), row.name)
        assert command is not None
        context = click.Context(command, info_name=f"{frame.PROGRAM} {row.name}", terminal_width=100)
        parts.append(f"### {row.name}\n\n```\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def exit_list() -> str:
    """Return a row for each exit code."""
    return _table(["code", "meaning"], [[str(int(code)), meaning] for code, meaning in frame.EXIT_MEANINGS.items()])


def demo() -> str:
    """Return calls and what the server answers to them on the handbook."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("zim_query", {"query": "what if an archive makes libzim crash?", "compact_budget": 200}),
        ("zim_get", {"entry_path": "safty", "max_content_length": 600}),
        ("zim_browse", {"namespce": "C"}),
    ]

    async def ask() -> str:
        server = StdioServerParameters(command=sys.executable, args=[*_SERVER, "--mode", "advanced"])
        async with Client(server) as client:
            answers = [(await client.call_tool(tool, given)).content[0].text for tool, given in calls]
        return "\n\n".join(
            f"> {tool} {json.dumps(given)}\n{answer}" for (tool, given), answer in zip(calls, answers, strict=True)
        )

    return f"````\n{anyio.run(ask)}\n````\n"  # an answer may hold a fence of three


def terminal_session() -> str:
    """Return what a person sees in a terminal."""
    return f"```\n{record_terminal.as_text()}\n```\n"


def resource_list() -> str:
    """Return a row for each kind of resource."""
    listed = [[f"`{resources.FILES.uri}`", str(resources.FILES.description)]]
    templates = [[f"`{row.uri_template}`", str(row.description)] for row in resources.TEMPLATES]
    return _table(["URI", "what it is"], listed + templates)


def prompt_list() -> str:
    """Return a row for each prompt, with the calls that it makes."""
    rows = [
        [
            f"`/{prompt.name}`",
            ", ".join(f"`{name}`" for name in prompt.arguments),
            prompt.description,
            " → ".join(f"`{step.tool}`" for step in prompt.steps["advanced"]),
        ]
        for prompt in prompts.PROMPTS
    ]
    return _table(["prompt", "takes", "what it does", "calls in advanced mode"], rows)


def costs() -> str:
    """Return what each operation costs."""
    return _table(["operation", "tokens"], [[f"`{name}`", str(cost)] for name, cost in limits.COSTS.items()])


GENERATED = {
    "clients": client_list,
    "commands": command_list,
    "command_help": command_help,
    "exits": exit_list,
    "session": terminal_session,
    "costs": costs,
    "demo": demo,
    "prompts": prompt_list,
    "resources": resource_list,
    "settings": settings,
    "tools": tool_list,
    "arguments": arguments,
    "requests": requests,
    "errors": error_list,
    "usage": usage,
}


def render(text: str) -> str:
    """Return a page with its generated parts made anew."""
    return _PART.sub(lambda part: f"{part[1]}{GENERATED[part[2]]()}{part[3]}", text)


def main() -> int:
    """Write the pages, or say which ones are not up to date."""
    check_only = "--check" in sys.argv
    stale = False
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        new = render(text)
        if new != text and check_only:
            print(f"{page.relative_to(ROOT)} is not up to date: run `make handbook`")
            stale = True
        elif new != text:
            page.write_text(new, encoding="utf-8")
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
