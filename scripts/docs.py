"""Write the generated parts of the docs, or with `--check` only say which pages are out of date.

A part is between `<!-- generated: NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import click
import first_five_minutes

from openzim_mcp import config, config_errors, errors
from openzim_mcp.app import limits
from openzim_mcp.app.query import intents
from openzim_mcp.cli import clients, command, main, registry
from openzim_mcp.protocol import prompts, resources, tools
from openzim_mcp.web import api

ROOT = Path(__file__).parent.parent
SKILLS = ROOT / "src" / "openzim_mcp" / "data" / "skills"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [ROOT / "README.md", *DOCS, ROOT / "docs" / "llms.txt", *sorted(SKILLS.rglob("*.md"))]
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
    """Return one row per tool of the modes."""
    rows = [
        [f"`{tool.name}`", tool.description, "simple, advanced" if tool.simple else "advanced"]
        for tool in tools.offered_tools("advanced")
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


def skill_folders_table() -> str:
    """Return one row per client that reads skills from a folder."""
    rows = [
        [row.title, f"`{row.skills_directory.replace('{home}', '~')}`"]
        for row in clients.CLIENTS
        if row.skills_directory
    ]
    return _table(["client", "folder of its skills"], rows)


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


def tour() -> str:
    """Return the steps of a new user that matter most, as the transcript of the first five minutes has them."""
    lines = ("openzim-mcp ask can the police", "openzim-mcp ask how deep", "openzim-mcp connect claude-desktop")
    text = first_five_minutes.TRANSCRIPT.read_text(encoding="utf-8")
    found = [re.search(rf"^\$ {re.escape(line)}.*?(?=^\[)", text, re.DOTALL | re.MULTILINE) for line in lines]
    return "```\n" + "\n".join(match[0] for match in found if match).rstrip() + "\n```\n"


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


def api_table() -> str:
    """Return one row per endpoint of the API, and its parameters."""
    rows = []
    for endpoint in api.ENDPOINTS:
        names = [
            f"`{name}`" if field.is_required() else f"`{name}?`"
            for name, field in endpoint.parameters.model_fields.items()
        ]
        rows.append([f"`{endpoint.path}`", endpoint.summary, ", ".join(names) or "—"])
    return _table(["GET", "what it does", "parameters"], rows)


def list_pages() -> str:
    """Return a link to each page of the docs, with its first sentence."""
    lines = []
    for page in DOCS:
        text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        title, *blocks = filter(None, map(str.strip, text.split("\n\n")))
        prose = next(block for block in blocks if not block.startswith(("#", "|", "<", "- ")))
        sentence = re.split(r"(?<=[.:!?])\s", re.sub(r"\[([^\]]+)\]\([^)]+\)", r"\1", prose))[0]
        lines.append(f"- [{title.removeprefix('# ')}]({page.name}): {' '.join(sentence.split()).rstrip(':')}\n")
    return "".join(lines)


def costs_table() -> str:
    """Return the cost of each operation."""
    return _table(["operation", "tokens"], [[f"`{name}`", str(cost)] for name, cost in limits.COSTS.items()])


GENERATED = {
    "api": api_table,
    "clients": clients_table,
    "commands": commands_table,
    "command_help": command_help,
    "exits": exit_codes_table,
    "costs": costs_table,
    "tour": tour,
    "pages": list_pages,
    "prompts": prompts_table,
    "resources": resources_table,
    "settings": settings_table,
    "skill_folders": skill_folders_table,
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
