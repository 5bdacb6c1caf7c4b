"""The routes of the API and of the page, as `http/` mounts them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from openzim_mcp.web.api import api_routes
from openzim_mcp.web.openapi import description_routes
from openzim_mcp.web.pages import page_routes, public_routes

if TYPE_CHECKING:
    from starlette.routing import Route

    from openzim_mcp.web.page import Site


@dataclass(frozen=True)
class WebRoutes:
    """Routes by who may use them: `protected` ones need a token where the server has one, `public` ones never do.

    All pass the checks of Host and Origin, and the limits per client.
    """

    protected: tuple[Route, ...]
    public: tuple[Route, ...] = ()


def web_routes(site: Site) -> WebRoutes:
    """Return the routes of the API and of the page."""
    return WebRoutes(
        protected=(*api_routes(site.app), *page_routes(site)),
        public=(*description_routes(), *public_routes(site)),
    )
