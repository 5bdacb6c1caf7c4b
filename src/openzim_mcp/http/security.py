"""Check Host and Origin, so that a web page cannot reach a server on the local network (DNS rebinding); CORS."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware

from openzim_mcp import addresses
from openzim_mcp.app.caller import get_caller, set_caller
from openzim_mcp.config import HOST, LOOPBACK_HOSTS
from openzim_mcp.http.errors import ErrorResponse
from openzim_mcp.http.middleware import is_trusted_proxy
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

    from openzim_mcp.http.middleware import Network

MAX_HEADER_BYTES = 32 * 1024
# Probes reveal nothing, and ask by whatever address they know.
UNCHECKED_PATHS = ("/healthz", "/readyz")
_EXPOSED_HEADERS = ("Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate", "Retry-After", "X-Request-Id")
_PREFLIGHT_MAX_AGE_SECONDS = 86_400
_MAX_SHOWN_CHARS = 100
_ABSOLUTE_TARGET = re.compile(rb"https?://(?P<authority>[^/]*)(?P<path>/.*)?", re.IGNORECASE | re.DOTALL)


class HostOriginMiddleware:
    """Refuse requests whose Host or Origin is not allowed, and name the setting that would allow it."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: Collection[str],
        origins: Collection[str],
        is_local: bool,
        public_url: str | None = None,
        proxies: Sequence[Network] = (),
    ) -> None:
        self._app = app
        self._public_url = public_url
        self._proxies = proxies
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._is_local = is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        scope = resolve_target(scope)
        error = check_framing(scope)
        if error is None and scope["path"] not in UNCHECKED_PATHS:
            error = self._check_host(scope) or self._check_origin(scope)
            base_url = self._public_url or _request_url(scope, self._proxies)
            set_caller(scope, replace(get_caller(scope), base_url=base_url))
        await (error or self._app)(scope, receive, send)

    def _check_host(self, scope: Scope) -> ErrorResponse | None:
        hosts = Headers(scope=scope).getlist("host")
        if len(hosts) != 1:
            return ErrorResponse(400, "A request must have exactly one Host header.")
        host = HOST.fullmatch(hosts[0].lower())
        if host and (
            host["name"] in {*LOOPBACK_HOSTS, _server_address(scope)} or {host["name"], host[0]} & self._hosts
        ):
            return None
        return ErrorResponse(
            421,
            f"Host {safe_line(hosts[0], _MAX_SHOWN_CHARS)!r} is not allowed; add it to OPENZIM_MCP_ALLOWED_HOSTS.",
        )

    def _check_origin(self, scope: Scope) -> ErrorResponse | None:
        origins = Headers(scope=scope).getlist("origin")
        # The fonts of a page without an origin of its own are asked for with `null`; its path is the secret.
        is_content = scope["path"].startswith(f"{addresses.CONTENT}/") and scope["method"] == "GET"
        if is_content or all(self.allows_origin(origin) or is_own_origin(scope, origin) for origin in origins):
            return None
        return _origin_error(origins[0])

    def allows_origin(self, origin: str) -> bool:
        """Whether pages of an origin may send requests: listed ones, and local ones if the server is local."""
        scheme, _, authority = origin.lower().partition("://")
        host = HOST.fullmatch(authority)
        is_loopback = host is not None and host["name"] in LOOPBACK_HOSTS and scheme in {"http", "https"}
        return (self._is_local and is_loopback) or origin.lower() in self._origins


def is_own_origin(scope: Scope, origin: str) -> bool:
    """Return whether a request comes from a page of this server, by the name that the request was sent to."""
    scheme, _, authority = origin.lower().partition("://")
    return scheme in {"http", "https"} and authority == Headers(scope=scope).get("host", "").lower()


class OriginCorsMiddleware(CORSMiddleware):
    """CORS for the origins that `HostOriginMiddleware` allows; pages can read error responses too."""

    def __init__(self, app: HostOriginMiddleware) -> None:
        super().__init__(
            app,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            allow_private_network=True,
            expose_headers=_EXPOSED_HEADERS,
            max_age=_PREFLIGHT_MAX_AGE_SECONDS,
        )
        self._allows_origin = app.allows_origin

    def is_allowed_origin(self, origin: str) -> bool:
        """Whether pages of an origin may send requests."""
        return self._allows_origin(origin)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answer a preflight request."""
        origin = request_headers["origin"]
        return super().preflight_response(request_headers) if self._allows_origin(origin) else _origin_error(origin)


def _request_url(scope: Scope, proxies: Sequence[Network]) -> str:
    """Return the address that a client sent its request to; a trusted proxy tells whether that was over TLS."""
    headers = Headers(scope=scope)
    peer = scope.get("client")
    is_proxied = peer is not None and is_trusted_proxy(str(peer[0]), proxies)
    forwarded = headers.get("x-forwarded-proto", "").lower() if is_proxied else ""
    scheme = forwarded if forwarded in {"http", "https"} else scope["scheme"]
    return f"{scheme}://{headers.get('host', '')}"


def resolve_target(scope: Scope) -> Scope:
    """Return the request with a path, if its target is a whole URL; its host then counts, not the header's."""
    match = _ABSOLUTE_TARGET.fullmatch(scope["raw_path"])
    if match is None:
        return scope
    path = match["path"] or b"/"
    headers = [(name, value) for name, value in scope["headers"] if name != b"host"]
    return {
        **scope,
        "path": unquote(path.decode("ascii")),
        "raw_path": path,
        "headers": [(b"host", match["authority"]), *headers],
    }


def check_framing(scope: Scope) -> ErrorResponse | None:
    """Refuse a request that a proxy could split differently (request smuggling), or with too many headers."""
    headers = scope["headers"]
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}:
        return ErrorResponse(400, "A request must not have both Content-Length and Transfer-Encoding.")
    if len(scope["raw_path"]) + sum(len(name) + len(value) for name, value in headers) > MAX_HEADER_BYTES:
        return ErrorResponse(431, f"The headers of a request may have up to {MAX_HEADER_BYTES} bytes.")
    return None


def _origin_error(origin: str) -> ErrorResponse:
    return ErrorResponse(
        403, f"Origin {safe_line(origin, _MAX_SHOWN_CHARS)!r} is not allowed; add it to OPENZIM_MCP_CORS_ORIGINS."
    )


def _server_address(scope: Scope) -> str:
    """Return the address that the request was sent to, which a page of another site cannot have as its host."""
    server = scope.get("server")
    address = str(server[0]) if server else ""
    return f"[{address}]" if ":" in address else address
