"""The API under `/api/v1`: one row per endpoint, each a thin front end of `app/`."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from starlette.responses import Response
from starlette.routing import Route

from openzim_mcp import addresses, errors
from openzim_mcp.app import links
from openzim_mcp.app.arguments import parse_request
from openzim_mcp.app.caller import get_caller
from openzim_mcp.app.search import fingerprint_archives
from openzim_mcp.web import front_ends, parameters, results
from openzim_mcp.web.conditional import CACHE_CONTROL, hash_body, is_current, make_tag, not_modified
from openzim_mcp.web.open_webui import open_webui_routes
from openzim_mcp.web.problems import refuse
from openzim_mcp.web.raw import raw_endpoint

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.requests import Request

    from openzim_mcp.app.app import App
    from openzim_mcp.app.caller import Caller
    from openzim_mcp.config import Operation

_MARKDOWN = "text/markdown"
_ACCEPTS_MARKDOWN = re.compile(r"(?:^|,)\s*text/markdown\s*(?:,|;(?!\s*q=0(?:\.0*)?\s*(?:,|$))|$)", re.IGNORECASE)


@dataclass(frozen=True)
class Endpoint:
    """One GET endpoint: what it takes from the query string, and the function that returns its result.

    `cost` is the operation that the rate limit charges for; if it is None, the parameters' `cost()` decides.
    `changes_with` says what a result depends on: the files of the archives alone, or more, such as an index that the
    server builds; then the result itself is compared.
    """

    name: str
    summary: str
    parameters: type[parameters.Parameters]
    run: Callable[[App, Any, Caller], Awaitable[msgspec.Struct]]
    result: type[msgspec.Struct]
    cost: Operation | None = None
    changes_with: Literal["archives", "more"] = "archives"
    has_markdown: bool = False

    @property
    def path(self) -> str:
        """The path of the endpoint."""
        return f"{addresses.API}/{self.name}"


ENDPOINTS = (
    Endpoint(
        "ask",
        "Answer a question from the archives, with passages and their sources",
        parameters.AskParameters,
        front_ends.answer,
        results.Answer,
        changes_with="more",
        has_markdown=True,
    ),
    Endpoint(
        "search",
        "Search the archives for words, a question or a title, or near a place",
        parameters.SearchParameters,
        front_ends.search_entries,
        results.HitPage,
        changes_with="more",
    ),
    Endpoint(
        "suggest",
        "Complete a title while it is typed",
        parameters.SuggestParameters,
        front_ends.suggest_titles,
        results.SuggestionList,
    ),
    Endpoint(
        "read",
        "Read an article, its lead, its outline or one section; or find words in it",
        parameters.ReadParameters,
        front_ends.read_entry,
        results.ReadResult,
        has_markdown=True,
    ),
    Endpoint(
        "links",
        "List the links of an article, the pages that link to it, or the articles related to it",
        parameters.LinksParameters,
        front_ends.read_links,
        links.LinksPage,
        changes_with="more",
    ),
    Endpoint(
        "archives",
        "List the archives and their states",
        parameters.NoParameters,
        front_ends.list_archives,
        results.ArchiveRows,
        cost="default",
        changes_with="more",
    ),
    Endpoint(
        "health",
        "Report the state of the server and of its archives",
        parameters.NoParameters,
        front_ends.report_health,
        results.Health,
        cost="default",
        changes_with="more",
    ),
)


def api_routes(app: App) -> Iterator[Route]:
    """Yield the routes of the API."""
    for endpoint in ENDPOINTS:
        yield Route(endpoint.path, _handler(app, endpoint), methods=["GET"])
    yield Route(f"{addresses.API}/archives/{{name}}", _describe_handler(app), methods=["GET"])
    yield Route(addresses.RAW_ROUTE, raw_endpoint(app), methods=["GET"])
    yield from open_webui_routes(app)


def _handler(app: App, endpoint: Endpoint) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        caller = replace(get_caller(request.scope), charges=[])
        try:
            arguments = parse_request(endpoint.parameters, _query_arguments(request))
            await app.charge(caller, *((endpoint.cost, 1) if endpoint.cost else arguments.cost()))
            return await _respond(app, endpoint, arguments, request, caller)
        except errors.OpenZimMcpError as error:
            return await refuse(app, caller, error, endpoint.name)

    return handle


def _describe_handler(app: App) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        caller = replace(get_caller(request.scope), charges=[])
        try:
            parse_request(parameters.NoParameters, _query_arguments(request))
            await app.charge(caller, "get_metadata")
            details = await front_ends.describe_archive(app, request.path_params["name"], caller)
            return json_response(msgspec.json.encode(details), request)
        except errors.OpenZimMcpError as error:
            return await refuse(app, caller, error, "archives")

    return handle


def _query_arguments(request: Request) -> dict[str, str]:
    """Return the parameters of a request, each given once."""
    names = Counter(name for name, _ in request.query_params.multi_items())
    repeated = [name for name, count in names.items() if count > 1]
    if repeated:
        raise errors.OpenZimMcpValidationError(f"{repeated[0][:100]}: given more than once.", arguments=repeated[:1])
    return dict(request.query_params)


async def _respond(
    app: App, endpoint: Endpoint, arguments: parameters.Parameters, request: Request, caller: Caller
) -> Response:
    is_markdown = endpoint.has_markdown and wants_markdown(request, getattr(arguments, "format", None))
    tag = None
    # A summary or outline also tells what other archives have, as far as they are indexed.
    if endpoint.changes_with == "archives" and getattr(arguments, "view", "full") == "full":
        state = await _archives_state(app, getattr(arguments, "archive", None))
        tag = make_tag(state, endpoint.name, arguments.model_dump_json(), is_markdown, caller.base_url)
        if is_current(tag, request.headers):
            return not_modified(tag, {"Vary": "Accept"})
    result = await endpoint.run(app, arguments, caller)
    if is_markdown:
        text = getattr(result, "markdown", "").encode()
        return json_response(text, request, tag, f"{_MARKDOWN}; charset=utf-8")
    return json_response(msgspec.json.encode(result), request, tag)


def wants_markdown(request: Request, format_name: str | None) -> bool:
    """Whether a client asks for Markdown: by `format`, or else by `Accept`."""
    if format_name:
        return format_name == "markdown"
    return bool(_ACCEPTS_MARKDOWN.search(request.headers.get("accept", "")))


async def _archives_state(app: App, name: str | None) -> str:
    """Return what changes when the files of the archives do; of one archive, if it is named."""
    if name:
        return (await app.find_archive(name)).identity
    return fingerprint_archives((await app.scan()).archives)


def json_response(
    body: bytes, request: Request, tag: str | None = None, media_type: str = "application/json"
) -> Response:
    """Return a result, or that the client has it already."""
    tag = tag or hash_body(body)
    if is_current(tag, request.headers):
        return not_modified(tag, {"Vary": "Accept"})
    headers = {"ETag": tag, "Cache-Control": CACHE_CONTROL, "Vary": "Accept"}
    return Response(body, media_type=media_type, headers=headers)
