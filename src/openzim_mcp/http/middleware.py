"""What every request passes: its name and client, and session ids that name a replica."""

from __future__ import annotations

import ipaddress
import secrets
from typing import TYPE_CHECKING

from starlette.datastructures import MutableHeaders

from openzim_mcp.app.caller import Caller, set_caller

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openzim_mcp.http.metrics import Metrics

    Network = ipaddress.IPv4Network | ipaddress.IPv6Network
    Address = ipaddress.IPv4Address | ipaddress.IPv6Address

SESSION_ID = b"mcp-session-id"
_HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer"}
_UNKNOWN = "unknown"
_HOME_BITS = 64
"""An IPv6 household has this many bits of addresses at its will: they count as one."""


class Hall:
    """Where every request comes in: it gets a name, its client is noted, its response counted."""

    def __init__(self, app: ASGIApp, proxies: Sequence[Network], metrics: Metrics) -> None:
        self._app = app
        self._proxies = proxies
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        name = secrets.token_hex(6)
        set_caller(scope, Caller(address_of(scope, self._proxies), name))

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for header, value in {**_HEADERS, "X-Request-Id": name}.items():
                    headers.setdefault(header, value)
                self._metrics.respond(message["status"])
                self._metrics.publish()
            await send(message)

        try:
            await self._app(scope, receive, told)
        finally:
            self._metrics.publish()


class Replica:
    """Puts a name in front of the session ids that leave, and takes it off those that come."""

    def __init__(self, app: ASGIApp, name: str) -> None:
        self._app = app
        self._prefix = f"{name}-".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""

        async def named(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = [(k, self._prefix + v if k.lower() == SESSION_ID else v) for k, v in message["headers"]]
                message = {**message, "headers": headers}
            await send(message)

        own = [(k, v.removeprefix(self._prefix) if k == SESSION_ID else v) for k, v in scope["headers"]]
        await self._app({**scope, "headers": own}, receive, named)


def address_of(scope: Scope, proxies: Sequence[Network]) -> str:
    """Return the address of a client: of the nearest one that is no trusted proxy."""
    peer = scope.get("client")
    client = _UNKNOWN
    for hop in [peer[0] if peer else "", *reversed(_forwarded(scope))]:
        address = _parsed(hop)
        if address is None:
            break
        client = _grouped(address)
        if not _is_in(address, proxies):
            break
    return client


def networks(given: Iterable[str]) -> list[Network]:
    """Return the networks that some addresses and networks are."""
    return [ipaddress.ip_network(one) for one in given]


def is_proxy(peer: str, proxies: Sequence[Network]) -> bool:
    """Say whether the other end of a connection is a trusted proxy."""
    address = _parsed(peer)
    return address is not None and _is_in(address, proxies)


def _is_in(address: Address, given: Sequence[Network]) -> bool:
    return any(address in network for network in given)


def _forwarded(scope: Scope) -> list[str]:
    values = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return [hop.strip() for hop in ",".join(values).split(",") if hop.strip()]


def _parsed(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text.strip("[]"))
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _grouped(address: Address) -> str:
    if address.version == 6:  # noqa: PLR2004
        return str(ipaddress.ip_network((address, _HOME_BITS), strict=False))
    return str(address)
