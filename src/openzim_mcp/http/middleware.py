"""Middleware for every request: request id, client address, response headers; and session ids with a prefix."""

from __future__ import annotations

import ipaddress
import secrets
from typing import TYPE_CHECKING

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import MutableHeaders

from openzim_mcp import addresses
from openzim_mcp.app.caller import Caller, get_caller, set_caller

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openzim_mcp.http.metrics import Metrics

    Network = ipaddress.IPv4Network | ipaddress.IPv6Network
    Address = ipaddress.IPv4Address | ipaddress.IPv6Address

SESSION_ID = b"mcp-session-id"
_RESPONSE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
}
_UNKNOWN_ADDRESS = "unknown"
# A household gets at least a /64 network, so its addresses count as one client.
_IPV6_CLIENT_BITS = 64


class RequestContextMiddleware:
    """Assign a request id, record the client and count the response."""

    def __init__(self, app: ASGIApp, proxies: Sequence[Network], metrics: Metrics) -> None:
        self._app = app
        self._proxies = proxies
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        request_id = secrets.token_hex(6)
        address = client_address(scope, self._proxies)
        caller = Caller(address, request_id, address)
        set_caller(scope, caller)

        async def send_response(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**_RESPONSE_HEADERS, "X-Request-Id": request_id}.items():
                    headers.setdefault(name, value)
                self._metrics.count_response(message["status"])
                self._metrics.update_gauges()
            await send(message)

        try:
            await self._app(scope, receive, send_response)
        finally:
            caller.recipient.leave()
            self._metrics.update_gauges()


class SessionPrefixMiddleware:
    """Put the replica's name in front of session ids, so that a proxy can route by it; remove it on the way in."""

    def __init__(self, app: ASGIApp, replica: str) -> None:
        self._app = app
        self._prefix = f"{replica}-".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def send_response(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [
                    (name, self._prefix + value if name.lower() == SESSION_ID else value)
                    for name, value in message["headers"]
                ]
                message = {**message, "headers": headers}
            await send(message)

        headers = [
            (name, value.removeprefix(self._prefix) if name == SESSION_ID else value)
            for name, value in scope["headers"]
        ]
        await self._app({**scope, "headers": headers}, receive, send_response)


def client_key(scope: Scope) -> str:
    """Return what tells clients apart as far as possible: the token and the address."""
    caller = get_caller(scope)
    return f"{caller.client} {caller.address}"


def get_header(headers: list[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the first header with a name in lower case."""
    return next((value for key, value in headers if key.lower() == name), None)


def is_stateless_version(scope: Scope) -> bool:
    """Whether a request names a protocol version without `initialize`."""
    version = get_header(scope["headers"], b"mcp-protocol-version")
    return version is not None and version.decode("latin-1") not in HANDSHAKE_PROTOCOL_VERSIONS


def is_event_stream(scope: Scope) -> bool:
    """Whether a request asks for a stream of notifications, which lasts as long as the client wants."""
    if scope["path"].rstrip("/") != addresses.MCP:
        return False
    # In the stateless version the header has to agree with the body; other versions do not know it.
    is_listen = get_header(scope["headers"], b"mcp-method") == b"subscriptions/listen"
    return scope["method"] == "GET" or (is_listen and is_stateless_version(scope))


def client_address(scope: Scope, proxies: Sequence[Network]) -> str:
    """Return the address of the client: of the nearest hop that is not a trusted proxy."""
    peer = scope.get("client")
    client = _UNKNOWN_ADDRESS
    for hop in [peer[0] if peer else "", *reversed(_forwarded_for(scope))]:
        address = _parse_address(hop)
        if address is None:
            break
        client = _mask_ipv6(address)
        if not _is_in(address, proxies):
            break
    return client


def parse_networks(texts: Iterable[str]) -> list[Network]:
    """Parse IP addresses and networks."""
    return [ipaddress.ip_network(text) for text in texts]


def is_trusted_proxy(peer: str, proxies: Sequence[Network]) -> bool:
    """Whether the peer of a connection is a trusted proxy."""
    address = _parse_address(peer)
    return address is not None and _is_in(address, proxies)


def _is_in(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


def _forwarded_for(scope: Scope) -> list[str]:
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return [hop.strip() for hop in ",".join(values).split(",") if hop.strip()]


def _parse_address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _mask_ipv6(address: Address) -> str:
    if address.version == 6:  # noqa: PLR2004
        return str(ipaddress.ip_network((address, _IPV6_CLIENT_BITS), strict=False))
    return str(address)
