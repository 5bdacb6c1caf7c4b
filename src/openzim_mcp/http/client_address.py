"""From which address a request comes; behind a proxy, the one that the proxy vouches for."""

from __future__ import annotations

import hashlib
import ipaddress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from starlette.types import Scope

    Network = ipaddress.IPv4Network | ipaddress.IPv6Network
    Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_UNKNOWN = "unknown"
_HOME_BITS = 64
"""An IPv6 household has this many bits of addresses at its will: they count as one."""


def fingerprint(secret: str) -> str:
    """Return a name for a secret that does not tell it."""
    return hashlib.sha256(secret.encode()).hexdigest()[:12]


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
