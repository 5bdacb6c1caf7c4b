"""Which names and origins a request may come by: a page on the web must not reach a server in the house."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware

from openzim_mcp.http.errors import Refusal
from openzim_mcp.text import safe_line

if TYPE_CHECKING:
    from collections.abc import Collection

    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
HEADER_BYTES = 32 * 1024
OPEN_PATHS = ("/healthz", "/readyz")
"""They tell nothing, and probes ask for them by whatever address they know."""
_HOST = re.compile(r"(?P<name>\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?P<port>:\d{1,5})?")
_TOLD = ("Mcp-Session-Id", "MCP-Protocol-Version", "WWW-Authenticate", "Retry-After", "X-Request-Id")
_A_DAY = 86_400


class Doors:
    """Refuses requests whose Host or Origin nobody has allowed, and says which setting would."""

    def __init__(self, app: ASGIApp, *, hosts: Collection[str], origins: Collection[str], is_local: bool) -> None:
        self._app = app
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._is_local = is_local

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in or refuse it."""
        refusal = _form_refusal(scope)
        if refusal is None and scope["path"] not in OPEN_PATHS:
            refusal = self._host_refusal(scope) or self._origin_refusal(scope)
        await (refusal or self._app)(scope, receive, send)

    def _host_refusal(self, scope: Scope) -> Refusal | None:
        given = Headers(scope=scope).getlist("host")
        if len(given) != 1:
            return Refusal(400, "A request has one Host header.")
        told = _HOST.fullmatch(given[0].lower())
        if told and (told["name"] in {*LOOPBACK, *_own(scope)} or {told["name"], told[0]} & self._hosts):
            return None
        return Refusal(
            421, f"Host {safe_line(given[0], 100)!r} is not served here; OPENZIM_MCP_ALLOWED_HOSTS would allow it."
        )

    def _origin_refusal(self, scope: Scope) -> Refusal | None:
        given = Headers(scope=scope).getlist("origin")
        return None if all(map(self.allows, given)) else refuse_origin(given[0])

    def allows(self, origin: str) -> bool:
        """Say whether pages of an origin may ask: those that were named, and this machine's own on this machine."""
        scheme, _, rest = origin.lower().partition("://")
        told = _HOST.fullmatch(rest)
        is_home = self._is_local and scheme in {"http", "https"} and told is not None and told["name"] in LOOPBACK
        return is_home or origin.lower() in self._origins


class Cors(CORSMiddleware):
    """Lets the pages that may ask read the answers too, refusals included."""

    def __init__(self, doors: Doors) -> None:
        super().__init__(
            doors,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("*",),
            allow_private_network=True,
            expose_headers=_TOLD,
            max_age=_A_DAY,
        )
        self._doors = doors

    def is_allowed_origin(self, origin: str) -> bool:
        """Say whether pages of an origin may ask."""
        return self._doors.allows(origin)

    def preflight_response(self, request_headers: Headers) -> Response:
        """Answer what a browser asks before it sends a request."""
        origin = request_headers["origin"]
        return super().preflight_response(request_headers) if self._doors.allows(origin) else refuse_origin(origin)


def _form_refusal(scope: Scope) -> Refusal | None:
    """Refuse a request that another server could read differently, or that is nearly all headers."""
    headers = scope["headers"]
    if {b"content-length", b"transfer-encoding"} <= {name for name, _ in headers}:
        return Refusal(400, "A request has a Content-Length or a Transfer-Encoding, not both.")
    if len(scope["raw_path"]) + sum(len(name) + len(value) for name, value in headers) > HEADER_BYTES:
        return Refusal(431, f"A request may have {HEADER_BYTES} bytes of headers.")
    return None


def refuse_origin(origin: str) -> Refusal:
    """Return the refusal of a page's origin."""
    return Refusal(403, f"Origin {safe_line(origin, 100)!r} is not allowed; OPENZIM_MCP_CORS_ORIGINS would allow it.")


def _own(scope: Scope) -> set[str]:
    """Return the address that the request has reached, which no page of another site can have as its name."""
    server = scope.get("server")
    address = str(server[0]) if server else ""
    return {f"[{address}]" if ":" in address else address}
