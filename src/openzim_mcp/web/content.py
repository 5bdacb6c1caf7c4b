"""Pages and files of an archive for a browser, under a capability in the path and a policy without rights.

A page of an archive has an opaque origin and gets no cookie, so its address carries the right to read this archive.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from openzim_mcp import addresses, errors
from openzim_mcp.app.caller import get_caller
from openzim_mcp.calls.page import ReadOriginal
from openzim_mcp.web import policies
from openzim_mcp.web.problems import status_of
from openzim_mcp.web.raw import read_raw

if TYPE_CHECKING:
    from starlette.requests import Request

    from openzim_mcp.app.app import App
    from openzim_mcp.calls.page import OriginalPage
    from openzim_mcp.web.page import Site
    from openzim_mcp.zimfile import ArchiveFile

_KEPT = {"Cache-Control": "private, max-age=3600"}
_EXPIRED = "This address has expired. Go back to the article and open it again."


def content_route(site: Site) -> Route:
    """Return the route of pages and files of archives."""

    async def handle(request: Request) -> Response:
        name = site.verify_capability(request.path_params["capability"])
        if name is None:
            return PlainTextResponse(_EXPIRED, 403)
        host = get_caller(request.scope).base_url.partition("://")[2]
        root = addresses.content_root(request.path_params["capability"])
        headers = policies.content_headers(host, root)
        try:
            response = await _serve(site.app, request, await site.app.find_archive(name), root)
        except errors.OpenZimMcpError as error:
            return PlainTextResponse(error.message, status_of(error), headers)
        response.headers.update(headers | _KEPT)
        return response

    return Route(addresses.CONTENT_ROUTE, handle, methods=["GET"])


async def _serve(app: App, request: Request, archive: ArchiveFile, root: str) -> Response:
    page = await _read_original(app, request, archive, root)
    if page.html is not None:
        return Response(page.html, media_type="text/html; charset=utf-8")
    response = await read_raw(app, archive, page.path, request)
    del response.headers["Content-Location"]
    return response


async def _read_original(app: App, request: Request, archive: ArchiveFile, root: str) -> OriginalPage:
    """Read the entry at the path of a request; archives keep the query of a URL as part of the path."""
    path, query = request.path_params["path"], request.url.query
    if query:
        try:
            return await app.workers.call(archive, ReadOriginal(f"{path}?{query}", root))
        except errors.EntryNotFound:
            pass
    return await app.workers.call(archive, ReadOriginal(path, root))
