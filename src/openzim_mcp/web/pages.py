"""The routes of the page for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.routing import Route

from openzim_mcp import addresses
from openzim_mcp.web import answer_pages, library_pages, reader_pages
from openzim_mcp.web.content import content_route
from openzim_mcp.web.page import page_route
from openzim_mcp.web.templates import static_files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

    from openzim_mcp.web.page import Site

_STATIC_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff"}


def page_routes(site: Site) -> Iterator[Route]:
    """Yield the routes of pages, which show what the archives hold."""
    yield page_route(site, addresses.HOME, answer_pages.show_home)
    yield page_route(site, addresses.ASK, answer_pages.show_answer, cost=None)
    yield page_route(site, addresses.SEARCH, answer_pages.show_search, cost=None)
    yield page_route(site, addresses.ARCHIVES, library_pages.show_archives)
    yield page_route(site, addresses.ICON_ROUTE, library_pages.show_icon, cost=None)
    yield page_route(site, addresses.RANDOM_ROUTE, library_pages.show_random)
    yield page_route(site, addresses.ARCHIVE_ROUTE, library_pages.show_archive)
    yield page_route(site, addresses.CONNECT, library_pages.show_connections)
    yield page_route(site, addresses.READER_ROUTE, reader_pages.show_article, cost="get_entry")
    yield page_route(site, addresses.RELATED_ROUTE, reader_pages.show_related, cost=None)
    yield page_route(site, addresses.ORIGINAL_ROUTE, reader_pages.show_original, cost="get_entry")


def public_routes(site: Site) -> Iterator[Route]:
    """Yield the routes that need no token: files of our own, and content under a capability."""
    yield Route(addresses.STATIC_ROUTE, _serve_static, methods=["GET"])
    yield Route(addresses.FAVICON, _serve_favicon, methods=["GET"])
    yield content_route(site)


async def _serve_static(request: Request) -> Response:
    file = static_files().get(request.path_params["file"])
    if file is None:
        return Response(status_code=404)
    return Response(file.content, 200, _STATIC_HEADERS, file.media_type)


async def _serve_favicon(_request: Request) -> Response:
    file = static_files()["icon.svg"]
    return Response(file.content, 200, _STATIC_HEADERS, file.media_type)
