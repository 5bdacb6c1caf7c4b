"""What a browser may do with a response: the policies of our own pages, and of pages and files of an archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp import addresses

if TYPE_CHECKING:
    from collections.abc import Mapping

_NO_BROWSER_FEATURES = "camera=(), geolocation=(), microphone=(), payment=(), usb=()"


def page_headers(host: str) -> dict[str, str]:
    """Return the headers of our own pages; only our own script runs, though files of archives have the same origin."""
    policy = {
        "default-src": "'none'",
        "script-src": f"{host}{addresses.STATIC}/",
        "style-src": "'self'",
        "img-src": "'self'",
        "media-src": "'self'",
        "connect-src": "'self'",
        "frame-src": "'self'",
        "form-action": "'self'",
        "base-uri": "'none'",
        "frame-ancestors": "'none'",
    }
    return {
        "Content-Security-Policy": _join(policy),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": _NO_BROWSER_FEATURES,
        # With `no-referrer` a browser would send our own forms with `Origin: null`.
        "Referrer-Policy": "same-origin",
        "X-Frame-Options": "DENY",
    }


def content_headers(host: str, root: str) -> dict[str, str]:
    """Return the headers of pages and files of an archive: no script, no form, nothing but what is below `root`."""
    inside = f"{host}{root}"
    policy = {
        "sandbox": "",
        "default-src": "'none'",
        "img-src": f"{inside} data:",
        "style-src": f"{inside} 'unsafe-inline'",
        "font-src": f"{inside} data:",
        "media-src": inside,
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'self'",
    }
    return {
        "Content-Security-Policy": _join(policy),
        # A page with an opaque origin is cross-site even to itself; the path is the secret that protects it.
        "Access-Control-Allow-Origin": "*",
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Permissions-Policy": _NO_BROWSER_FEATURES,
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-DNS-Prefetch-Control": "off",
    }


def _join(policy: Mapping[str, str]) -> str:
    return "; ".join(f"{name} {value}".strip() for name, value in policy.items())
