"""The tools: a row each, with its arguments, its cost and its few lines of work."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import mcp_types as types
from mcp import MCPError
from pydantic import Field, model_validator

from openzim_mcp import cursors, errors
from openzim_mcp.app import health, reading, search
from openzim_mcp.app.app import Markdown, Picture
from openzim_mcp.app.arguments import ArchiveArguments, Arguments, check_start, parse, schema
from openzim_mcp.app.caller import caller_of
from openzim_mcp.app.query import ask
from openzim_mcp.app.query.ask import QueryArguments
from openzim_mcp.app.reading import GetArguments, SectionArguments
from openzim_mcp.app.search import SearchArguments
from openzim_mcp.protocol.errors import hide_unexpected
from openzim_mcp.text import safe_line
from openzim_mcp.worker.archive import browse
from openzim_mcp.worker.reading import links
from openzim_mcp.worker.search import fulltext

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server import ServerRequestContext

    from openzim_mcp.app.app import Backend, Payload
    from openzim_mcp.config import Operation

_READ_ONLY = types.ToolAnnotations(read_only_hint=True, destructive_hint=False, open_world_hint=False)


_Cursored = TypeVar("_Cursored", bound=Arguments)


@dataclass(frozen=True)
class Call:
    """One call in progress."""

    backend: Backend
    context: ServerRequestContext[Any, Any]

    @property
    def listener(self) -> Callable[[int, int], Any] | None:
        """What to tell about progress, for a client that asked for it."""
        return self.context.session.report_progress if "progress_token" in (self.context.meta or {}) else None

    @property
    def client(self) -> str:
        """Who is charged for it."""
        return caller_of(self.context).client

    @property
    def connection(self) -> object:
        """What stands for the client's connection for as long as that lasts."""
        return self.context.session.client_params


@dataclass(frozen=True)
class Tool:
    """A tool: `simple` says whether it is offered in simple mode too.

    `operation` is what the rate limit charges for; where that depends on the arguments, a function of them that also
    says how often.
    """

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    operation: Operation | Callable[[Any], tuple[Operation, int]]
    run: Callable[[Call, Any], Awaitable[Payload | Markdown | Picture]]
    simple: bool = False
    about: Callable[[Backend], Awaitable[str]] | None = None
    """What the description goes on with, if that depends on the archives."""

    def cost(self, given: Arguments) -> tuple[Operation, int]:
        """Return the operation that a call stands for, and how often."""
        return (self.operation, 1) if isinstance(self.operation, str) else self.operation(given)

    def to_wire(self, about: str = "") -> types.Tool:
        """Return the tool as clients see it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description + about,
            input_schema=schema(self.arguments),
            annotations=_READ_ONLY,
        )


class BrowseArguments(ArchiveArguments):
    """What `zim_browse` takes."""

    namespace: str | None = Field(
        None, max_length=500, description="C or A: articles; M: metadata; or a folder, as in C/questions."
    )
    mode: Literal["page", "walk"] = Field("page", description="page: any offset; walk: every entry once, by cursor.")
    cursor: str | None = Field(None, description="next_cursor of the previous call (walk); enough by itself.")
    limit: int | None = Field(None, ge=1, le=500, description="Entries per call (default: page 50, walk 200).")
    offset: int = Field(0, ge=0, le=2**32, description="Entries to skip (page).")

    @model_validator(mode="after")
    def _check_combination(self) -> BrowseArguments:
        check_start(self.cursor, self.offset)
        if self.cursor and self.mode == "page" and "mode" in self.model_fields_set:
            raise ValueError("cursor belongs to mode='walk'; use offset with mode='page'")
        if self.mode == "walk" and self.offset:
            raise ValueError("offset belongs to mode='page'; use cursor with mode='walk'")
        if not self.cursor and not self.namespace:
            raise ValueError("namespace: required, but not given; zim_metadata lists what there is")
        return self


class LinksArguments(ArchiveArguments):
    """What `zim_links` takes."""

    entry_path: str | None = Field(None, max_length=70_000, description="Path or title of the article.")
    direction: Literal["outbound", "related"] = Field(
        "outbound", description="outbound: every link; related: the articles that belong with it."
    )
    cursor: str | None = Field(None, description="next_cursor of the previous call; enough by itself.")
    limit: int | None = Field(None, ge=1, le=500, description="Links per call (default: outbound 100, related 20).")
    offset: int = Field(0, ge=0, le=2**32, description="Links to skip.")

    @model_validator(mode="after")
    def _check_combination(self) -> LinksArguments:
        check_start(self.cursor, self.offset)
        if not self.cursor and not self.entry_path:
            raise ValueError("entry_path: required, but not given")
        return self


class HealthArguments(ArchiveArguments):
    """What `zim_health` takes."""

    zim_file_path: str | None = Field(
        None, max_length=1000, description="Archive to verify; left out: the whole server."
    )


async def _zim_browse(call: Call, given: BrowseArguments) -> Payload:
    given = _continued(BrowseArguments, browse.TOOL, given)
    archive = await call.backend.find(given.zim_file_path)
    if given.cursor or given.mode == "walk":
        rest = {"cursor": given.cursor, "limit": given.limit or 200}
        return await call.backend.run(browse.walk, archive, namespace=given.namespace, **rest)
    rest = {"offset": given.offset, "limit": given.limit or 50}
    return await call.backend.run(browse.page, archive, namespace=given.namespace, **rest)


async def _zim_links(call: Call, given: LinksArguments) -> Payload:
    given = _continued(LinksArguments, links.TOOL, given)
    archive = await call.backend.find(given.zim_file_path)
    function = links.related if given.direction == "related" else links.outbound
    limit = given.limit or (20 if given.direction == "related" else 100)
    page = {"limit": limit, "offset": given.offset, "cursor": given.cursor}
    return await reading.read(call.backend, archive, given.entry_path or "", function, **page)


def _continued(model: type[_Cursored], tool: str, given: _Cursored) -> _Cursored:
    """Complete a call that passes a cursor with the request that the cursor carries."""
    said = given.model_dump(exclude_unset=True)
    return parse(model, cursors.decode(said["cursor"], tool)[2] | said) if said.get("cursor") else given


async def _zim_search(call: Call, given: SearchArguments) -> Payload:
    return await search.zim_search(call, _continued(SearchArguments, fulltext.TOOL, given))


TOOLS = (
    Tool(
        "zim_query",
        "Ask",
        "Ask offline archives (Wikipedia and others) in plain words. A question brings the passages that answer it, "
        "with their source. Or say: list archives; search for X; get article X; summary, outline or links of X; "
        "section S of X; related to X; compare X and Y; next page. 'in NAME' asks one archive.",
        QueryArguments,
        "default",
        ask.zim_query,
        simple=True,
        about=ask.archives_there,
    ),
    Tool(
        "zim_search",
        "Search",
        "Find articles by words, a question or a title, in one archive or in all; each with the passage that matches.",
        SearchArguments,
        search.search_cost,
        _zim_search,
    ),
    Tool(
        "zim_get",
        "Read an entry",
        "Read an article by path, title or URL as Markdown; or its summary or outline, several entries, a file.",
        GetArguments,
        reading.get_cost,
        reading.zim_get,
    ),
    Tool(
        "zim_get_section",
        "Read a section",
        "Read one section of an article, with its subsections and the names of its neighbours.",
        SectionArguments,
        "default",
        reading.zim_get_section,
    ),
    Tool(
        "zim_browse",
        "Browse an archive",
        "List the entries of an archive by namespace or folder, in order of their paths.",
        BrowseArguments,
        "browse_namespace",
        _zim_browse,
    ),
    Tool(
        "zim_metadata",
        "Describe an archive",
        "What an archive is: title, language, date, counts, main page, namespaces, indexes.",
        ArchiveArguments,
        "get_metadata",
        health.zim_metadata,
    ),
    Tool(
        "zim_links",
        "Links of an article",
        "The links of an article and where they lead, or the articles that are related to it.",
        LinksArguments,
        lambda given: ("get_related_articles" if given.direction == "related" else "default", 1),
        _zim_links,
    ),
    Tool(
        "zim_health",
        "Archives and health",
        "List the archives and the state of the server; with zim_file_path verify that archive's checksum and indexes.",
        HealthArguments,
        "default",
        health.zim_health,
    ),
)


def offered(mode: str) -> list[Tool]:
    """Return the tools of a mode, always in the same order."""
    return [tool for tool in TOOLS if tool.simple or mode == "advanced"]


async def listing(backend: Backend) -> list[types.Tool]:
    """Return the tools as clients see them now."""
    known = offered(backend.settings.tool_mode)
    return [tool.to_wire(await tool.about(backend) if tool.about else "") for tool in known]


async def call_tool(
    backend: Backend, context: ServerRequestContext[Any, Any], params: types.CallToolRequestParams
) -> types.CallToolResult:
    """Run a tool; its errors become results."""
    known = {tool.name: tool for tool in offered(backend.settings.tool_mode)}
    tool = known.get(params.name)
    if tool is None:
        raise MCPError(
            types.INVALID_PARAMS, f"Unknown tool: {safe_line(params.name, 100)}. There are: {', '.join(known)}."
        )
    try:
        with hide_unexpected(tool.name):
            given = parse(tool.arguments, params.arguments)
            call = Call(backend, context)
            await backend.limiter.charge(call.client, *tool.cost(given))
            return _result(await tool.run(call, given))
    except errors.OpenZimMcpError as error:
        return _result(error.payload(tool.name), is_error=True)


def _result(payload: Payload | Markdown | Picture, *, is_error: bool = False) -> types.CallToolResult:
    if isinstance(payload, Markdown):
        return types.CallToolResult(content=[types.TextContent(type="text", text=payload.text)])
    if isinstance(payload, Picture):
        result = _result(payload.payload)
        picture = types.ImageContent(type="image", data=payload.payload["data"], mime_type=payload.payload["mime_type"])
        return result.model_copy(update={"content": [*result.content, picture]})
    text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=payload, is_error=is_error
    )
