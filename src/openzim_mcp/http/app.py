"""The HTTP application: its routes, and what a request passes on its way to them.

Hall        names the request, notes its client, counts it; headers that every response has
Cors        lets the pages that may ask read the answers
Doors       Host and Origin
routes      /healthz /readyz                            open
            /.well-known/oauth-protected-resource/…     open, where there is an identity provider
            /metrics                                    Entrance
            /mcp                                        Entrance → Bounds → Replica → the SDK
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.auth.routes import build_resource_metadata_url, create_protected_resource_routes
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from pydantic import AnyHttpUrl
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from openzim_mcp.http import concurrency, middleware
from openzim_mcp.http.auth import Entrance, Keyring
from openzim_mcp.http.errors import Refusal
from openzim_mcp.http.metrics import CONTENT_TYPE, Metrics
from openzim_mcp.http.oauth import Issuer
from openzim_mcp.http.security import Cors, Doors
from openzim_mcp.protocol.access_log import AccessLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from mcp.server import Server
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from openzim_mcp.app.app import Backend
    from openzim_mcp.config import Settings
    from openzim_mcp.http.auth import Verifier
    from openzim_mcp.protocol.subscriptions import Subscriptions

PATH = "/mcp"
_READY_SECONDS = 2.0


class Application:
    """The whole of it: an ASGI application, and what has to run while it serves."""

    def __init__(self, server: Server[Any], backend: Backend, subscriptions: Subscriptions) -> None:
        settings = backend.settings
        self.shutdown = concurrency.Shutdown(subscriptions.close)
        self.proxies = middleware.networks(settings.trusted_proxies)
        self.sessions = StreamableHTTPSessionManager(
            server,
            stateless=not settings.has_sessions,
            session_idle_timeout=concurrency.SESSION_IDLE_SECONDS,
            max_request_body_size=concurrency.BODY_BYTES,
            max_sessions=concurrency.SESSIONS,
        )
        handle: ASGIApp = self.sessions.handle_request if settings.has_sessions else _Streamless(self.sessions)
        served = _afresh(handle)
        bounded = concurrency.Bounds(
            middleware.Replica(served, settings.replica) if settings.replica else served, self.shutdown
        )
        metrics = _metrics(backend, subscriptions, bounded)
        server.middleware.append(AccessLog(metrics))
        app = Starlette(
            routes=_routes(settings, bounded, metrics, backend), exception_handlers={404: _nothing_here, 500: _failed}
        )
        app.router.redirect_slashes = False
        hosts = {settings.host, *settings.allowed_hosts}
        doors = Doors(app, hosts=hosts, origins=settings.cors_origins, is_local=settings.is_local)
        self.asgi = middleware.Hall(Cors(doors), self.proxies, metrics)


def _afresh(app: ASGIApp) -> ASGIApp:
    """Let every stream begin afresh: nothing is kept that one could go on from."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in scope["headers"] if name != b"last-event-id"]
        await app({**scope, "headers": headers}, receive, send)

    return serve


def _metrics(backend: Backend, subscriptions: Subscriptions, bounded: concurrency.Bounds) -> Metrics:
    return Metrics(
        in_flight=("Requests under way.", lambda: bounded.in_flight),
        sessions=("Connections of the handshake revisions.", lambda: subscriptions.connection_count),
        subscriptions=("Addresses that clients wait for.", lambda: subscriptions.subscription_count),
        limits_shared=("Processes that share their rate limits with others now.", lambda: backend.limiter.is_shared),
    )


def _routes(settings: Settings, mcp: ASGIApp, metrics: Metrics, backend: Backend) -> list[Route]:
    guard = _guard(settings)
    guarded = guard(mcp)
    return [
        Route(PATH, guarded),
        Route(f"{PATH}/", guarded),
        Route("/healthz", _alive, methods=["GET"]),
        Route("/readyz", _Ready(backend), methods=["GET"]),
        Route("/metrics", guard(_Numbers(metrics)), methods=["GET"]),
        *_metadata(settings),
    ]


def _guard(settings: Settings) -> Callable[[ASGIApp], ASGIApp]:
    """Return what puts an entrance before an application, if clients have to show a token."""
    verifiers: list[Verifier] = []
    if settings.tokens or settings.auth_token_file:
        verifiers.append(Keyring(settings.tokens, settings.auth_token_file))
    metadata = None
    if settings.oauth.issuer:
        verifiers.append(Issuer(settings.oauth))
        metadata = str(build_resource_metadata_url(AnyHttpUrl(str(settings.oauth.resource))))
    if not verifiers:
        return lambda app: app
    return lambda app: Entrance(app, verifiers, scopes=settings.oauth.scopes, metadata=metadata)


def _metadata(settings: Settings) -> list[Route]:
    """Return the routes that tell clients which identity provider to ask (RFC 9728)."""
    if not settings.oauth.issuer:
        return []
    return create_protected_resource_routes(
        AnyHttpUrl(str(settings.oauth.resource)),
        [AnyHttpUrl(settings.oauth.issuer)],
        scopes_supported=list(settings.oauth.scopes) or None,
        resource_name=settings.server_name,
    )


async def _alive(_request: Request) -> Response:
    return PlainTextResponse("ok\n")


class _Streamless:
    """Refuses the stream of the handshake revisions: without a session nothing would ever come on it."""

    def __init__(self, sessions: StreamableHTTPSessionManager) -> None:
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "POST":
            await self._sessions.handle_request(scope, receive, send)
        else:
            refusal = Refusal(405, "There are no sessions here, so there is only POST.", headers={"Allow": "POST"})
            await refusal(scope, receive, send)


class _Ready:
    """Says whether the directories of the archives answer."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response: Response = Refusal(503, "The directories of the archives do not answer.", retry_after=_READY_SECONDS)
        with anyio.move_on_after(_READY_SECONDS):
            await self._backend.scan()
            response = PlainTextResponse("ok\n")
        await response(scope, receive, send)


class _Numbers:
    """Shows the metrics."""

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await Response(self._metrics.text(), media_type=CONTENT_TYPE)(scope, receive, send)


async def _nothing_here(_request: Request, _error: Exception) -> Response:
    return Refusal(404, f"There is nothing here; MCP is at {PATH}.")


async def _failed(_request: Request, _error: Exception) -> Response:
    return Refusal(500, "The server failed; its log has the details.")
