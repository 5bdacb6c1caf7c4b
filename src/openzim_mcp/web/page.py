"""What all pages share: how a request becomes a page, and an error a page that says what helps."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from openzim_mcp import __version__, addresses, errors
from openzim_mcp.app.caller import get_caller
from openzim_mcp.web import policies, signatures
from openzim_mcp.web.problems import status_of
from openzim_mcp.web.templates import render_template

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from starlette.requests import Request
    from starlette.types import Scope

    from openzim_mcp.app.app import App
    from openzim_mcp.app.caller import Caller
    from openzim_mcp.config import Operation

_CAPABILITY_SECONDS = 3600
_CAPABILITY_STEP_SECONDS = 300
"""Capabilities of one step are the same, so that a browser keeps the pictures that it has."""


@dataclass(frozen=True)
class Site:
    """The app behind the page, the keys that sign sessions and capabilities, and whether people sign in."""

    app: App
    signing_keys: Callable[[], Sequence[bytes]]
    has_sign_in: bool

    def issue_capability(self, name: str, caller: Caller) -> str:
        """Return a capability to read the entries of one archive for about an hour."""
        keys = self.signing_keys()
        now = int(time.time())
        expires = now - now % _CAPABILITY_STEP_SECONDS + _CAPABILITY_SECONDS
        return signatures.sign(signatures.key_of(caller.client, keys), "content", name, expires)

    def verify_capability(self, capability: str) -> str | None:
        """Return the name of the archive that a capability is good for."""
        verified = signatures.verify(self.signing_keys(), "content", capability)
        return verified[0] if verified else None


def page_route(
    site: Site,
    path: str,
    handler: Callable[[Site, Request, Caller], Awaitable[Response]],
    cost: Operation | None = "default",
) -> Route:
    """Return the route of a page; its errors are pages too. Without a cost, the handler charges the caller."""

    async def handle(request: Request) -> Response:
        caller = replace(get_caller(request.scope), charges=[])
        try:
            if cost is not None:
                await site.app.charge(caller, cost)
            return await handler(site, request, caller)
        except errors.OpenZimMcpError as error:
            return error_page(site, request, error)

    return Route(path, handle, methods=["GET"])


def render_page(
    site: Site, scope: Scope, template: str, *, status: int = 200, headers: dict[str, str] | None = None, **values: Any
) -> Response:
    """Return a page made from a template, with the policy of our own pages."""
    shared = {
        "server_name": site.app.settings.server_name,
        "version": __version__,
        "has_sign_in": site.has_sign_in,
        "question": "",
        "selected_archive": "",
        "archive_choices": (),
    }
    html = render_template(template, shared | values)
    host = get_caller(scope).base_url.partition("://")[2]
    return Response(html, status, {**policies.page_headers(host), **(headers or {})}, "text/html; charset=utf-8")


def error_page(site: Site, request: Request, error: errors.OpenZimMcpError) -> Response:
    """Return a page that says what went wrong, and what comes closest."""
    status = status_of(error)
    retry_after = error.details.get("retry_after")
    rows = error.details.get("did_you_mean") or error.details.get("candidates") or []
    return render_page(
        site,
        request.scope,
        "error.html",
        status=status,
        headers={"Retry-After": str(max(1, round(retry_after)))} if isinstance(retry_after, float) else None,
        phrase=HTTPStatus(status).phrase,
        message=error.message,
        offers=[(str(row["title"]), addresses.uri_address(str(row["uri"]))) for row in rows],
    )
