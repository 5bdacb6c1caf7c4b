"""The tools: one row each, with its request, its cost and the function of `app/` that runs it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import mcp_types as types
import msgspec
from mcp import MCPError

from openzim_mcp import errors
from openzim_mcp.app import archives, health, reading, search
from openzim_mcp.app.arguments import ArchiveRequest, Request, parse_request
from openzim_mcp.app.query import ask
from openzim_mcp.app.query.reply import QueryRequest, Reply
from openzim_mcp.calls.reading import Article, BinaryEntry
from openzim_mcp.protocol.context import caller_of
from openzim_mcp.protocol.errors import fit_payload, hide_unexpected
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from openzim_mcp.app.app import App
    from openzim_mcp.app.caller import Caller
    from openzim_mcp.config import Operation
    from openzim_mcp.protocol.context import RequestContext

_STRUCTURED_CONTENT_SINCE = "2025-06-18"
_READ_ONLY = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)


@dataclass(frozen=True)
class Tool:
    """A tool; with `simple`, it is offered in simple mode too.

    `cost` is the operation that the rate limit charges for; if it is None, the request's `cost()` decides.
    """

    name: str
    title: str
    description: str
    request: type[Request]
    run: Callable[[App, Any, Caller], Awaitable[msgspec.Struct | Reply]]
    cost: Operation | None = None
    simple: bool = False
    introduction: Callable[[App], Awaitable[str]] | None = None
    """Returns the end of the description, if it depends on the archives."""

    def to_wire(self, introduction: str = "") -> types.Tool:
        """Return the tool as clients see it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description + introduction,
            input_schema=argument_schema(self.request),
            annotations=_READ_ONLY,
        )


TOOLS = (
    Tool(
        "zim_query",
        "Ask",
        "Ask offline archives (Wikipedia and others) in plain words. A question brings the passages that answer it, "
        "with their source. Or say: list archives; search for X; get article X; summary, outline or links of X; "
        "section S of X; related to X; compare X and Y; more; help. 'in NAME' asks one archive.",
        request=QueryRequest,
        run=ask.answer_query,
        simple=True,
        introduction=archives.introduce_archives,
    ),
    Tool(
        "zim_search",
        "Search",
        "Find articles by words, a question or a title, in one archive or in all; each with the passage that matches.",
        request=search.SearchRequest,
        run=search.search,
    ),
    Tool(
        "zim_get",
        "Read an entry",
        "Read an article by path, title or URL as Markdown; or its summary or outline, several entries, a file.",
        request=reading.EntryRequest,
        run=reading.read_entry,
    ),
    Tool(
        "zim_get_section",
        "Read a section",
        "Read one section of an article, with its subsections and the names of its neighbours.",
        request=reading.SectionRequest,
        run=reading.read_section,
        cost="default",
    ),
    Tool(
        "zim_browse",
        "Browse an archive",
        "List the entries of an archive by namespace or folder, in order of their paths.",
        request=archives.BrowseRequest,
        run=archives.browse,
        cost="browse_namespace",
    ),
    Tool(
        "zim_metadata",
        "Describe an archive",
        "What an archive is: title, language, date, counts, main page, namespaces, indexes.",
        request=ArchiveRequest,
        run=archives.describe_archive,
        cost="get_metadata",
    ),
    Tool(
        "zim_links",
        "Links of an article",
        "The links of an article and where they lead, or the articles that are related to it.",
        request=reading.LinksRequest,
        run=reading.read_links,
    ),
    Tool(
        "zim_health",
        "Archives and health",
        "List the archives and the state of the server; with zim_file_path verify that archive's checksum and indexes.",
        request=health.HealthRequest,
        run=health.report_health,
        cost="default",
    ),
)


def offered_tools(mode: str) -> list[Tool]:
    """Return the tools of a mode, always in the same order."""
    return [tool for tool in TOOLS if tool.simple or mode == "advanced"]


async def list_tools(app: App) -> list[types.Tool]:
    """Return the tools as clients see them now."""
    tools = offered_tools(app.settings.tool_mode)
    return [tool.to_wire(await tool.introduction(app) if tool.introduction else "") for tool in tools]


async def call_tool(app: App, context: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Run a tool; its errors become results."""
    tools = {tool.name: tool for tool in offered_tools(app.settings.tool_mode)}
    tool = tools.get(params.name)
    if tool is None:
        raise MCPError(
            types.INVALID_PARAMS, f"Unknown tool: {safe_line(params.name, 100)}. There are: {', '.join(tools)}."
        )
    caller = _tool_caller(context)
    try:
        with hide_unexpected(tool.name):
            request = parse_request(tool.request, params.arguments)
            await app.charge(caller, *((tool.cost, 1) if tool.cost else request.cost()))
            return _to_result(await tool.run(app, request, caller), context.protocol_version)
    except errors.OpenZimMcpError as error:
        if isinstance(error, errors.OpenZimMcpValidationError):
            await app.refund_half(caller)
        return _structured_result(fit_payload(error.payload(tool.name)), is_error=True)


def _tool_caller(context: RequestContext) -> Caller:
    reports_progress = "progress_token" in (context.meta or {})
    progress = context.session.report_progress if reports_progress else None
    return replace(caller_of(context), progress=progress, connection=context.session.client_params, charges=[])


def _to_result(result: msgspec.Struct | Reply, protocol_version: str) -> types.CallToolResult:
    if isinstance(result, Reply):
        return _reply_result(result)
    if isinstance(result, Article):
        return _text_result(result.markdown)
    if isinstance(result, BinaryEntry):
        return _binary_result(result, protocol_version)
    return _structured_result(msgspec.to_builtins(result))


def _reply_result(reply: Reply) -> types.CallToolResult:
    result = _text_result(reply.markdown, _reply_meta(reply))
    if reply.image is None:
        return result
    image = types.ImageContent(type="image", data=reply.image.data, mime_type=reply.image.mime_type)
    return result.model_copy(update={"content": [*result.content, image]})


def _binary_result(entry: BinaryEntry, protocol_version: str) -> types.CallToolResult:
    """Return the bytes of an entry once: as structured content or, for clients without it, in the text."""
    payload = msgspec.to_builtins(entry)
    if protocol_version < _STRUCTURED_CONTENT_SINCE:
        return _text_result(msgspec.json.encode(payload).decode())
    text = msgspec.json.encode({name: value for name, value in payload.items() if name != "data"}).decode()
    return _text_result(text).model_copy(update={"structured_content": payload})


def _reply_meta(reply: Reply) -> dict[str, object] | None:
    """Return what clients use beside the text: the cursor; of an answer also how likely it is, and from where."""
    meta: dict[str, object] = {"openzim/next_cursor": reply.next_cursor} if reply.next_cursor else {}
    if reply.answered is not None:
        meta["openzim/answered"] = reply.answered
        meta["openzim/confidence"] = reply.confidence
        meta["openzim/sources"] = msgspec.to_builtins(reply.cited)
    return meta or None


def _text_result(text: str, meta: dict[str, object] | None = None) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], _meta=meta)


def _structured_result(payload: dict[str, object], *, is_error: bool = False) -> types.CallToolResult:
    text = msgspec.json.encode(payload).decode()
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=payload, is_error=is_error
    )


# Keywords that do not change what a schema means, but cost the model tokens.
_REDUNDANT_KEYWORDS = (
    ("default", None),
    ("default", False),
    ("default", 0),
    ("default", ""),
    ("minimum", 0),
    ("maximum", 2**32),
)


def argument_schema(model: type[Request]) -> dict[str, Any]:
    """Return the JSON schema of a tool's arguments, without redundant keywords."""
    full = model.model_json_schema()
    fields = full.get("properties", {})
    required = full.get("required", [])
    names = [*required, *(name for name in fields if name not in required)]
    properties = {name: _shorten_property(fields[name]) for name in names}
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _shorten_property(field: dict[str, Any]) -> dict[str, Any]:
    """Drop titles, null alternatives, empty defaults and limits that no caller reaches."""
    kinds = [kind for kind in field.get("anyOf", ()) if kind != {"type": "null"}]
    flat = {keyword: value for keyword, value in field.items() if keyword != "anyOf"} | (
        kinds[0] if len(kinds) == 1 else {}
    )
    if len(kinds) > 1:
        flat["anyOf"] = kinds
    return {
        keyword: value
        for keyword, value in flat.items()
        if keyword not in {"title", "maxLength"} and (keyword, value) not in _REDUNDANT_KEYWORDS
    }
