"""The HTTP application: its routes, and the middleware that a request passes.

RequestContextMiddleware   request id, client, metrics, response headers
OriginCorsMiddleware       CORS
HostOriginMiddleware       Host and Origin
routes
  /healthz /readyz                            public
  /.well-known/oauth-protected-resource/…     public, if an identity provider is set
  /metrics                                    BearerAuthMiddleware
  /mcp                                        BearerAuthMiddleware → ConcurrencyMiddleware → MessageMiddleware
                                              → SessionPrefixMiddleware → the SDK's session manager
  the API and the page (`web/`)               BearerAuthMiddleware, which accepts the sessions of people (`sign_in`)
                                              → ConcurrencyMiddleware → WebMiddleware
  /static /content /sign-in /sign-out         ConcurrencyMiddleware → WebMiddleware
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Mount, Route, Router

from openzim_mcp import addresses
from openzim_mcp.http.auth import BearerAuthMiddleware, WrongTokens
from openzim_mcp.http.concurrency import ConcurrencyMiddleware
from openzim_mcp.http.connections import log_exhausted_files
from openzim_mcp.http.errors import ErrorResponse
from openzim_mcp.http.exchange import MAX_UNREAD_BYTES, MAX_UNREAD_BYTES_PER_CLIENT, ByteBudget
from openzim_mcp.http.messages import MAX_BODY_BYTES, MessageMiddleware
from openzim_mcp.http.metrics import CONTENT_TYPE, Metrics
from openzim_mcp.http.middleware import RequestContextMiddleware, SessionPrefixMiddleware, parse_networks
from openzim_mcp.http.oauth import JwtVerifier
from openzim_mcp.http.readiness import Readiness
from openzim_mcp.http.security import HostOriginMiddleware, OriginCorsMiddleware
from openzim_mcp.http.sessions import SESSION_IDLE_SECONDS
from openzim_mcp.http.shutdown import Shutdown
from openzim_mcp.http.sign_in import PageSessions, signing_keys
from openzim_mcp.http.token_file import TokenFile
from openzim_mcp.http.web_requests import WebMiddleware
from openzim_mcp.protocol.access_log import AccessLog
from openzim_mcp.web.page import Site
from openzim_mcp.web.routes import web_routes

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from mcp.server import Server
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from openzim_mcp.app.app import App
    from openzim_mcp.config import Settings
    from openzim_mcp.http.auth import TokenVerifier
    from openzim_mcp.protocol.subscriptions import Subscriptions
    from openzim_mcp.web.routes import WebRoutes

    TokenCheck = Callable[[ASGIApp, PageSessions | None], ASGIApp]

_GRACE_SECONDS = 1.0


class Application:
    """The ASGI application, and the session manager that has to run while it serves."""

    def __init__(self, server: Server[Any], app: App, subscriptions: Subscriptions) -> None:
        settings = app.settings
        self.shutdown = Shutdown(settings.worker.deadline_seconds + _GRACE_SECONDS, subscriptions.close)
        self.proxies = parse_networks(settings.trusted_proxies)
        self.sessions = StreamableHTTPSessionManager(
            server,
            stateless=not settings.has_sessions,
            session_idle_timeout=SESSION_IDLE_SECONDS,
            max_request_body_size=MAX_BODY_BYTES,
            # `SessionTable` ends unused sessions instead of refusing new ones.
            max_sessions=None,
        )
        unread = ByteBudget(MAX_UNREAD_BYTES_PER_CLIENT, MAX_UNREAD_BYTES)
        messages = MessageMiddleware(_session_endpoint(settings, self.sessions), self.shutdown, unread)
        verifiers = _token_verifiers(settings)
        wrong_tokens = WrongTokens()
        site = Site(app, signing_keys(verifiers), has_sign_in=bool(verifiers))
        people = PageSessions(site, verifiers, wrong_tokens)
        web = web_routes(site)
        if verifiers:
            web = replace(web, public=(*web.public, *people.routes()))
        require_token = _token_check(settings, verifiers, wrong_tokens)
        endpoints = [
            *_mcp_routes(messages),
            Mount("", WebMiddleware(Router([*web.protected, *web.public]), self.shutdown, unread)),
        ]
        limited = ConcurrencyMiddleware(Router(endpoints), unread)
        metrics = _make_metrics(app, subscriptions, limited)
        server.middleware.append(AccessLog(metrics))
        routed = Starlette(
            routes=_routes(settings, limited, web, metrics, app, require_token, people),
            exception_handlers={404: _not_found, 405: _not_allowed, 500: _failed},
        )
        routed.router.redirect_slashes = False
        hosts = {settings.host, *settings.allowed_hosts}
        if settings.public_url:
            hosts.add(settings.public_url.partition("://")[2])
        checked = HostOriginMiddleware(
            routed,
            hosts=hosts,
            origins=settings.cors_origins,
            is_local=settings.is_local,
            public_url=settings.public_url,
            proxies=self.proxies,
        )
        asyncio.get_running_loop().set_exception_handler(log_exhausted_files)
        self.asgi = RequestContextMiddleware(OriginCorsMiddleware(checked), self.proxies, metrics)


def _session_endpoint(settings: Settings, sessions: StreamableHTTPSessionManager) -> ASGIApp:
    app = _without_resume(sessions.handle_request if settings.has_sessions else _post_only(sessions.handle_request))
    return SessionPrefixMiddleware(app, settings.replica) if settings.replica else app


def _without_resume(app: ASGIApp) -> ASGIApp:
    """Ignore Last-Event-ID: no events are stored, so a stream cannot be resumed."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"last-event-id"]
        await app({**scope, "headers": headers}, receive, send)

    return serve


def _post_only(app: ASGIApp) -> ASGIApp:
    """Refuse GET and DELETE: without sessions, no event would ever be sent on a GET stream."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await app(scope, receive, send)
        else:
            error = ErrorResponse(405, "This server has no sessions; use POST.", headers={"Allow": "POST"})
            await error(scope, receive, send)

    return serve


def _make_metrics(app: App, subscriptions: Subscriptions, limited: ConcurrencyMiddleware) -> Metrics:
    return Metrics(
        in_flight=("Requests in progress, without event streams.", lambda: limited.in_flight),
        streams=("Event streams.", lambda: limited.stream_count),
        sessions=("Sessions of clients that sent initialize.", lambda: subscriptions.connection_count),
        subscriptions=("Resources that clients are subscribed to.", lambda: subscriptions.subscription_count),
        limits_shared=("Processes whose rate limits are shared through Redis.", lambda: app.limiter.is_shared),
    )


def _mcp_routes(app: ASGIApp) -> list[Route]:
    return [Route(addresses.MCP, app), Route(f"{addresses.MCP}/", app)]


def _routes(
    settings: Settings,
    limited: ASGIApp,
    web: WebRoutes,
    metrics: Metrics,
    app: App,
    require_token: TokenCheck,
    people: PageSessions,
) -> list[Route]:
    protected = require_token(limited, None)
    signed_in = require_token(limited, people)
    return [
        *_mcp_routes(protected),
        *(Route(route.path, signed_in, methods=route.methods) for route in web.protected),
        *(Route(route.path, limited, methods=route.methods) for route in web.public),
        Route("/healthz", _healthy, methods=["GET"]),
        Route("/readyz", _readiness_endpoint(app), methods=["GET"]),
        Route("/metrics", require_token(_MetricsEndpoint(metrics), None), methods=["GET"]),
        *_metadata_routes(settings),
    ]


def _token_verifiers(settings: Settings) -> list[TokenVerifier]:
    verifiers: list[TokenVerifier] = []
    if settings.tokens or settings.auth_token_file:
        verifiers.append(TokenFile(settings.tokens, settings.auth_token_file))
    if settings.oauth.issuer:
        verifiers.append(JwtVerifier(settings.oauth))
    return verifiers


def _token_check(settings: Settings, verifiers: list[TokenVerifier], wrong_tokens: WrongTokens) -> TokenCheck:
    """Return a function that puts authentication in front of an application, if a token is required."""
    if not verifiers:
        return lambda app, _sessions: app
    metadata_url = None
    if settings.oauth.issuer:
        metadata_url = str(build_resource_metadata_url(AnyHttpUrl(str(settings.oauth.resource))))
    return lambda app, sessions: BearerAuthMiddleware(
        app,
        verifiers,
        wrong_tokens,
        scopes=settings.oauth.scopes,
        metadata_url=metadata_url,
        sessions=sessions,
    )


def _metadata_routes(settings: Settings) -> list[Route]:
    """Return the routes that tell clients which identity provider to use (RFC 9728)."""
    if not settings.oauth.issuer:
        return []
    return create_protected_resource_routes(
        AnyHttpUrl(str(settings.oauth.resource)),
        [AnyHttpUrl(settings.oauth.issuer)],
        scopes_supported=list(settings.oauth.scopes) or None,
        resource_name=settings.server_name,
    )


def _readiness_endpoint(app: App) -> Callable[[Request], Awaitable[Response]]:
    readiness = Readiness(app)

    async def ready(_request: Request) -> Response:
        return await readiness.check() or PlainTextResponse("ok\n")

    return ready


class _MetricsEndpoint:
    # A class, because Starlette takes a function for a handler of requests, not for an ASGI application.
    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Response(self._metrics.render(), media_type=CONTENT_TYPE)(scope, receive, send)


async def _healthy(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _not_found(_request: Request, _error: Exception) -> Response:
    return ErrorResponse(404, f"Not found; the MCP endpoint is {addresses.MCP}.")


async def _not_allowed(_request: Request, error: Exception) -> Response:
    allowed = dict(getattr(error, "headers", None) or {})
    return ErrorResponse(405, f"Use one of these methods: {allowed.get('Allow', 'GET')}.", headers=allowed)


async def _failed(_request: Request, _error: Exception) -> Response:
    return ErrorResponse(500, "Internal error; the server's log has the details.")
