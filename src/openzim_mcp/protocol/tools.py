"""The tools: one row each, with its request, its cost and the function of `app/` that runs it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import MCPError

from openzim_mcp import errors
from openzim_mcp.app import archives, connector, health, links, near, reading, search
from openzim_mcp.app.arguments import ArchiveRequest, Request, parse_request
from openzim_mcp.app.introduction import introduce_archives
from openzim_mcp.app.query import ask
from openzim_mcp.app.query.reply import QueryRequest
from openzim_mcp.protocol import app_view
from openzim_mcp.protocol.context import caller_of
from openzim_mcp.protocol.errors import fit_payload, hide_unexpected
from openzim_mcp.protocol.progress import ProgressReporter
from openzim_mcp.protocol.results import ResultForm, structured_result, to_result
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import msgspec

    from openzim_mcp.app.app import App
    from openzim_mcp.app.caller import Caller
    from openzim_mcp.app.query.reply import Reply
    from openzim_mcp.config import Operation
    from openzim_mcp.protocol.context import RequestContext

_LONG_RESULT: dict[str, object] = {"anthropic/maxResultSizeChars": 400_000}
"""For a client that else writes a long result to a file."""
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
    is_connector: bool = False
    """Whether it is offered only with `connector_tools`."""
    introduction: Callable[[App], Awaitable[str]] | None = None
    """Returns the end of the description, if it depends on the archives."""
    fields: dict[str, str] | None = None
    """The fields that a program goes through in a result, with their types; None if a result may be text only."""
    meta: dict[str, object] | None = None

    def to_wire(self, introduction: str = "") -> types.Tool:
        """Return the tool as clients see it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description + introduction,
            input_schema=argument_schema(self.request),
            output_schema=None if self.fields is None else _result_schema(self.fields),
            annotations=_READ_ONLY,
            _meta=self.meta,
        )


def _result_schema(fields: dict[str, str]) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in fields.items()}
    return {"type": "object", **({"properties": properties} if properties else {})}


TOOLS = (
    Tool(
        "zim_query",
        "Ask",
        "Ask offline archives (Wikipedia and others) in plain words. A question brings the passages that answer it, "
        "with their source. Or say: list archives; search for X; get article X; summary, outline or links of X; "
        "section S of X; find W in article X; related to X; compare X and Y; help. 'in NAME' asks one archive. "
        "For more, repeat with the offset shown.",
        request=QueryRequest,
        run=ask.answer_query,
        simple=True,
        introduction=introduce_archives,
        meta=app_view.TOOL_META,
    ),
    Tool(
        "zim_search",
        "Search",
        "Find articles by words, a question or a title, or near a place, in one archive or in all; each with the "
        "passage that matches.",
        request=search.SearchRequest,
        run=near.run_search,
        fields={"results": "array", "done": "boolean"},
    ),
    Tool(
        "zim_get",
        "Read an entry",
        "Read an article by path, title or URL as Markdown; or its summary or outline, the lines with some words, "
        "several entries, a file.",
        request=reading.EntryRequest,
        run=reading.read_entry,
        meta=_LONG_RESULT,
    ),
    Tool(
        "zim_get_section",
        "Read a section",
        "Read one section of an article, with its subsections and the names of its neighbours.",
        request=reading.SectionRequest,
        run=reading.read_section,
        fields={"content": "string"},
        cost="default",
    ),
    Tool(
        "zim_browse",
        "Browse an archive",
        "List the entries of an archive by namespace or folder, in order of their paths.",
        request=archives.BrowseRequest,
        run=archives.browse,
        fields={"entries": "array", "done": "boolean"},
        cost="browse_namespace",
    ),
    Tool(
        "zim_metadata",
        "Describe an archive",
        "What an archive is: title, language, date, counts, main page, namespaces, indexes.",
        request=ArchiveRequest,
        run=archives.describe_archive,
        fields={"metadata": "object"},
        cost="get_metadata",
    ),
    Tool(
        "zim_links",
        "Links of an article",
        "The links of an article and where they lead, the pages that link to it, or the articles related to it.",
        request=links.LinksRequest,
        run=links.read_links,
        fields={"outbound_links": "array", "done": "boolean"},
    ),
    Tool(
        "zim_health",
        "Archives and health",
        "List the archives and the state of the server; with zim_file_path verify that archive's checksum and indexes.",
        request=health.HealthRequest,
        run=health.report_health,
        cost="default",
        fields={},
    ),
    Tool(
        "search",
        "Search documents",
        "Search the offline archives for documents; fetch reads one by its id.",
        request=connector.ConnectorSearchRequest,
        run=connector.search_documents,
        is_connector=True,
        fields={"results": "array"},
    ),
    Tool(
        "fetch",
        "Fetch a document",
        "Read a document of the offline archives by its id.",
        request=connector.ConnectorFetchRequest,
        run=connector.fetch_document,
        is_connector=True,
        fields={"text": "string", "url": "string"},
        meta=_LONG_RESULT,
    ),
)


def offered_tools(mode: str, *, connector_tools: bool = False) -> list[Tool]:
    """Return the tools of a mode, always in the same order."""
    return [tool for tool in TOOLS if (connector_tools if tool.is_connector else tool.simple or mode == "advanced")]


def served_tools(app: App) -> list[Tool]:
    """Return the tools that this server offers."""
    return offered_tools(app.settings.tool_mode, connector_tools=app.settings.connector_tools)


async def list_tools(app: App) -> list[types.Tool]:
    """Return the tools as clients see them now."""
    tools = served_tools(app)
    return [tool.to_wire(await tool.introduction(app) if tool.introduction else "") for tool in tools]


async def call_tool(app: App, context: RequestContext, params: types.CallToolRequestParams) -> types.CallToolResult:
    """Run a tool; its errors become results."""
    tools = {tool.name: tool for tool in served_tools(app)}
    tool = tools.get(params.name)
    if tool is None:
        raise MCPError(
            types.INVALID_PARAMS, f"Unknown tool: {safe_line(params.name, 100)}. There are: {', '.join(tools)}."
        )
    progress = ProgressReporter(context.session.report_progress) if "progress_token" in (context.meta or {}) else None
    caller = _tool_caller(context, progress)
    try:
        with hide_unexpected(tool.name):
            request = parse_request(tool.request, params.arguments)
            await app.charge(caller, *((tool.cost, 1) if tool.cost else request.cost()))
            work = tool.run(app, request, caller)
            return to_result(await (progress.run(work) if progress else work), ResultForm.of(app, context))
    except errors.OpenZimMcpError as error:
        if isinstance(error, errors.OpenZimMcpValidationError):
            await app.refund_half(caller)
        return structured_result(fit_payload(error.payload(tool.name)), is_error=True)


def _tool_caller(context: RequestContext, progress: ProgressReporter | None) -> Caller:
    report = progress.report if progress else None
    return replace(caller_of(context), progress=report, connection=context.session.client_params, charges=[])


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
