"""The app view (MCP Apps): one HTML file in which a host shows an answer, its sources, and articles to read."""

from __future__ import annotations

from functools import cache
from importlib import resources

import mcp_types as types

EXTENSION = "io.modelcontextprotocol/ui"
URI = "ui://openzim-mcp/answer.html"
MIME_TYPE = "text/html;profile=mcp-app"
TOOL_META: dict[str, object] = {"ui": {"resourceUri": URI}}
_RESOURCE_META: dict[str, object] = {
    "ui": {"csp": {"connectDomains": [], "resourceDomains": []}, "prefersBorder": True}
}
_TTL_MS = 3_600_000


@cache
def view_html() -> str:
    """Return the file with its style and script inside, as a host allows no other request."""
    folder = resources.files("openzim_mcp") / "data" / "app_view"
    html, css, script = ((folder / name).read_text(encoding="utf-8") for name in ("view.html", "view.css", "view.js"))
    return html.replace("/* view.css */", css).replace("/* view.js */", script)


def read_view() -> types.ReadResourceResult:
    """Return the view as a resource; it is the same for everyone and asks for no permission."""
    content = types.TextResourceContents(uri=URI, mime_type=MIME_TYPE, text=view_html(), _meta=_RESOURCE_META)
    return types.ReadResourceResult(contents=[content], ttl_ms=_TTL_MS, cache_scope="public")
