"""Two endpoints in the form that Open WebUI expects of an external web search and an external web loader."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from pydantic import Field, StringConstraints
from starlette.responses import Response
from starlette.routing import Route

from openzim_mcp import addresses, errors
from openzim_mcp.app.arguments import parse_request
from openzim_mcp.app.caller import get_caller
from openzim_mcp.calls import Struct
from openzim_mcp.web import front_ends, parameters
from openzim_mcp.web.problems import refuse

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.requests import Request

    from openzim_mcp.app.app import App
    from openzim_mcp.app.caller import Caller

SEARCH_PATH = f"{addresses.API}/open-webui/search"
LOAD_PATH = f"{addresses.API}/open-webui/load"
_MAX_URLS = 20
_MAX_PAGE_CHARS = 50_000


class WebSearch(parameters.Parameters):
    """What Open WebUI sends for a search."""

    query: parameters.Text = Field(description="Words or a question.")
    count: int = Field(5, ge=1, le=50, description="Results at most.")


class WebLoad(parameters.Parameters):
    """What Open WebUI sends to load pages."""

    urls: list[Annotated[str, StringConstraints(min_length=1, max_length=2000)]] = Field(
        max_length=_MAX_URLS, description="URLs of the reader, or of pages on the original sites."
    )


class WebResult(Struct, frozen=True):
    """A result as Open WebUI reads it."""

    link: str
    title: str
    snippet: str


class WebPageMetadata(Struct, frozen=True):
    """Where a page is from."""

    source: str
    title: str


class WebPage(Struct, frozen=True):
    """A page as Open WebUI reads it."""

    page_content: str
    metadata: WebPageMetadata


async def search(app: App, request: WebSearch, caller: Caller) -> list[WebResult]:
    """Search all archives."""
    query = parse_request(parameters.SearchParameters, {"q": request.query, "limit": request.count})
    page = await front_ends.search_entries(app, query, caller)
    return [WebResult(hit.url, hit.title, hit.snippet) for hit in page.results]


async def load(app: App, request: WebLoad, caller: Caller) -> list[WebPage]:
    """Read pages by their URLs; those that no archive has are left out, as Open WebUI expects."""
    pages = []
    for url in request.urls:
        await app.charge(caller, "get_entry")
        try:
            entry = parse_request(parameters.ReadParameters, {"ref": url, "limit": _MAX_PAGE_CHARS})
            page = await front_ends.read_entry(app, entry, caller)
        except (errors.OpenZimMcpValidationError, errors.OpenZimMcpArchiveError):
            continue
        pages.append(WebPage(page.markdown, WebPageMetadata(url, page.title)))
    return pages


def open_webui_routes(app: App) -> Iterator[Route]:
    """Yield the routes of the two endpoints."""
    yield Route(SEARCH_PATH, _handler(app, WebSearch, search), methods=["POST"])
    yield Route(LOAD_PATH, _handler(app, WebLoad, load), methods=["POST"])


def _handler(
    app: App, model: type[parameters.Parameters], run: Callable[[App, Any, Caller], Awaitable[Any]]
) -> Callable[[Request], Awaitable[Response]]:
    async def handle(request: Request) -> Response:
        caller = replace(get_caller(request.scope), charges=[])
        try:
            result = await run(app, parse_request(model, await _read_json(request)), caller)
            return Response(msgspec.json.encode(result), media_type="application/json")
        except errors.OpenZimMcpError as error:
            return await refuse(app, caller, error, "open-webui")

    return handle


async def _read_json(request: Request) -> dict[str, Any]:
    """Return the body of a request, which is a JSON object."""
    try:
        body: dict[str, Any] = msgspec.json.decode(await request.body(), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise errors.OpenZimMcpValidationError("The body is not a JSON object.") from None
    return body
