"""Signing in on the page: a form for the token, and a cookie that stands for it.

The cookie is signed with the hash of the token (`web/signatures`): it ends when the token is removed, and does not
reveal it. A token of an identity provider is its own proof and is kept as it is. SameSite=Strict keeps the cookie from
requests of other sites, but not from other ports of this machine, so requests with it must come from our own pages.
"""

from __future__ import annotations

import time
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from mcp.server.auth.provider import AccessToken
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from openzim_mcp import addresses
from openzim_mcp.app.caller import get_caller
from openzim_mcp.config import MAX_TOKEN_CHARS
from openzim_mcp.http.auth import TokenRefused, VerifierUnavailable
from openzim_mcp.http.errors import ErrorResponse
from openzim_mcp.http.security import is_own_origin
from openzim_mcp.http.token_file import TokenFile
from openzim_mcp.web import signatures
from openzim_mcp.web.page import render_page

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request
    from starlette.types import Scope

    from openzim_mcp.http.auth import TokenVerifier, WrongTokens
    from openzim_mcp.web.page import Site

_COOKIE = "openzim_mcp_session"
_SESSION_SECONDS = 30 * 86_400
_MAX_COOKIE_CHARS = 3900
_SIGNED, _TOKEN = "s.", "t."
_OWN_SITES = frozenset({"same-origin", "none"})


class PageSessions:
    """The sessions of people who signed in."""

    def __init__(self, site: Site, verifiers: Sequence[TokenVerifier], wrong_tokens: WrongTokens) -> None:
        self._site = site
        self._verifiers = verifiers
        self._wrong_tokens = wrong_tokens

    def routes(self) -> list[Route]:
        """Return the routes of the form and of signing out."""
        return [
            Route(addresses.SIGN_IN, self._sign_in, methods=["GET", "POST"]),
            Route(addresses.SIGN_OUT, self._sign_out, methods=["POST"]),
        ]

    async def find_access(self, scope: Scope) -> AccessToken | None:
        """Return what the session of a request grants, if one of our own pages sent it."""
        value = _cookie(scope)
        if value is None or not _is_from_own_page(scope):
            return None
        if value.startswith(_TOKEN):
            return await self._verify(value.removeprefix(_TOKEN))
        verified = signatures.verify(_token_digests(self._verifiers), "session", value.removeprefix(_SIGNED))
        if verified is None:
            return None
        return AccessToken(token="", client_id=f"token-{verified[1].hex()[:12]}", scopes=[])

    async def _verify(self, token: str) -> AccessToken | None:
        try:
            for verifier in self._verifiers:
                if access := await verifier.verify_token(token):
                    return access
        except (VerifierUnavailable, TokenRefused):
            return None
        return None

    def sign_in_page(self, scope: Scope, refused: ErrorResponse) -> Response | None:
        """Return the form for a request of a browser that lacks a token; programs get the error itself."""
        headers = dict(scope["headers"])
        is_browser = b"text/html" in headers.get(b"accept", b"") and not addresses.is_api(scope["path"])
        if not is_browser or refused.status_code not in {401, 403}:
            return None
        query = scope["query_string"].decode("latin-1")
        target = scope["raw_path"].decode("latin-1") + (f"?{query}" if query else "")
        challenge = {"WWW-Authenticate": refused.headers.get("www-authenticate", "Bearer")}
        is_from_elsewhere = headers.get(b"sec-fetch-site") in {b"cross-site", b"same-site"}
        if is_from_elsewhere and headers.get(b"sec-fetch-mode") == b"navigate":
            # A link on another site comes without the cookie; the same request from our own page has it.
            challenge["Refresh"] = f"0; url={target}"
        return self._form(scope, target, status=401, headers=challenge)

    def _form(
        self, scope: Scope, target: str, *, status: int, message: str = "", headers: dict[str, str] | None = None
    ) -> Response:
        safe_target = target if _is_own_path(target) else addresses.HOME
        return render_page(
            self._site, scope, "sign_in.html", status=status, headers=headers, target=safe_target, message=message
        )

    async def _sign_in(self, request: Request) -> Response:
        if request.method != "POST":  # the address after a wrong token, loaded again
            return RedirectResponse(addresses.HOME, 303)
        if not _is_from_own_form(request):
            return ErrorResponse(403, "Sign in on the page of this server.")
        form = parse_qs((await request.body()).decode("latin-1"), max_num_fields=10)
        token, target = form.get("token", [""])[0].strip(), form.get("target", ["/"])[0]
        access = await self._verify(token) if 0 < len(token) <= MAX_TOKEN_CHARS else None
        if access is None:
            wait = self._wrong_tokens.count(get_caller(request.scope).client)
            message = "Too many wrong tokens; wait a moment." if wait else "This token is not accepted."
            return self._form(request.scope, target, status=429 if wait else 401, message=message)
        response = RedirectResponse(target if _is_own_path(target) else addresses.HOME, 303)
        _set_cookie(response, request, await self._session_value(token), _SESSION_SECONDS)
        return response

    async def _session_value(self, token: str) -> str:
        for verifier in self._verifiers:
            if isinstance(verifier, TokenFile) and await verifier.verify_token(token):
                expires = int(time.time()) + _SESSION_SECONDS
                return _SIGNED + signatures.sign(verifier.digest_of(token), "session", "", expires)
        return _TOKEN + token

    async def _sign_out(self, request: Request) -> Response:
        if not _is_from_own_form(request):
            return ErrorResponse(403, "Sign out on the page of this server.")
        response = RedirectResponse(addresses.HOME, 303)
        _set_cookie(response, request, "", 0)
        return response


def signing_keys(verifiers: Sequence[TokenVerifier]) -> Callable[[], Sequence[bytes]]:
    """Return a function for the keys that sign sessions and capabilities: of the valid tokens, or our own."""
    return lambda: _token_digests(verifiers) or [signatures.own_key()]


def _token_digests(verifiers: Sequence[TokenVerifier]) -> list[bytes]:
    return [digest for verifier in verifiers if isinstance(verifier, TokenFile) for digest in verifier.digests]


def _cookie(scope: Scope) -> str | None:
    header = b"; ".join(value for name, value in scope["headers"] if name == b"cookie").decode("latin-1")
    try:
        morsel = SimpleCookie(header).get(_COOKIE) if _COOKIE in header else None
    except CookieError:
        return None
    return morsel.value if morsel is not None and len(morsel.value) <= _MAX_COOKIE_CHARS else None


def _set_cookie(response: Response, request: Request, value: str, max_age: int) -> None:
    is_secure = get_caller(request.scope).base_url.startswith("https://")
    response.set_cookie(_COOKIE, value, max_age, path="/", secure=is_secure, httponly=True, samesite="strict")


def _is_from_own_page(scope: Scope) -> bool:
    """Return whether a request with a cookie comes from our own page, or opens one; old browsers do not say."""
    headers = dict(scope["headers"])
    site = headers.get(b"sec-fetch-site", b"none").decode("latin-1")
    is_opened = headers.get(b"sec-fetch-mode") == b"navigate" and headers.get(b"sec-fetch-dest") == b"document"
    is_safe = scope["method"] in {"GET", "HEAD"}
    return site in _OWN_SITES or (is_safe and is_opened)


def _is_from_own_form(request: Request) -> bool:
    origin = request.headers.get("origin")
    site = request.headers.get("sec-fetch-site", "same-origin")
    return origin is not None and is_own_origin(request.scope, origin) and site == "same-origin"


def _is_own_path(target: str) -> bool:
    """Return whether a path leads to this server, so that the form cannot lead elsewhere."""
    return target.startswith("/") and not target.startswith("//") and "\\" not in target and target.isprintable()
