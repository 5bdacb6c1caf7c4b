"""What to put into the configuration of each client, so that it connects to this server."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN = "YOUR_TOKEN"  # noqa: S105  a placeholder


@dataclass(frozen=True)
class Snippet:
    """What a person copies, and where it goes."""

    client: str
    place: str
    text: str


def connection_snippets(url: str, *, requires_token: bool) -> list[Snippet]:
    """Return a snippet for each client."""
    return [Snippet(client, place, make(url, requires_token)) for client, place, make in _CLIENTS]


def _claude_code(url: str, requires_token: bool) -> str:  # noqa: FBT001
    header = f' --header "Authorization: Bearer {_TOKEN}"' if requires_token else ""
    return f"claude mcp add --transport http zim {url}{header}"


def _json_maker(key: str, **fields: str) -> Callable[[str, bool], str]:
    def make(url: str, requires_token: bool) -> str:  # noqa: FBT001
        headers = {"headers": {"Authorization": f"Bearer {_TOKEN}"}} if requires_token else {}
        return json.dumps({key: {"zim": {**fields, "url": url, **headers}}}, indent=2)

    return make


def _goose(url: str, requires_token: bool) -> str:  # noqa: FBT001
    lines = ["extensions:", "  zim:", "    enabled: true", "    type: streamable_http", "    name: zim"]
    lines += [f"    uri: {json.dumps(url)}", "    timeout: 300"]
    lines += ["    headers:", f"      Authorization: Bearer {_TOKEN}"] if requires_token else []
    return "\n".join(lines)


def _open_webui(url: str, requires_token: bool) -> str:  # noqa: FBT001
    return f"{url}" + (f"   (authentication: Bearer, {_TOKEN})" if requires_token else "")


def _curl(url: str, requires_token: bool) -> str:  # noqa: FBT001
    header = f' -H "Authorization: Bearer {_TOKEN}"' if requires_token else ""
    return f"curl -G{header} --data-urlencode 'q=Who founded it?' {url.removesuffix('/mcp')}/api/v1/ask"


_CLIENTS: tuple[tuple[str, str, Callable[[str, bool], str]], ...] = (
    ("Claude Code", "In a terminal", _claude_code),
    ("VS Code", "mcp.json, or Command Palette: MCP: Add Server", _json_maker("servers", type="http")),
    ("Cursor", "~/.cursor/mcp.json", _json_maker("mcpServers")),
    ("LM Studio", "Program tab: Edit mcp.json", _json_maker("mcpServers")),
    ("Goose", "config.yaml", _goose),
    ("Open WebUI", "Admin panel: External tools, type MCP", _open_webui),
    ("A script", "The API, in a terminal", _curl),
)
