"""Bearer authentication: tokens of the settings or of an identity provider; guessing is slowed down.

On the page and the API, the session of a person who signed in counts as their token.
"""

from __future__ import annotations

import hashlib
import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from cachetools import LRUCache
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser

from openzim_mcp.app.caller import get_caller, set_caller
from openzim_mcp.config import MAX_TOKEN_CHARS
from openzim_mcp.http.errors import ErrorResponse
from openzim_mcp.token_bucket import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.server.auth.provider import AccessToken
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)

_WRONG_TOKENS_PER_SECOND, _WRONG_TOKENS_BURST = 0.2, 10
_MAX_ADDRESSES = 10_000


class VerifierUnavailable(Exception):
    """A verifier cannot tell now whether a token is valid."""

    def __init__(self, description: str, retry_after: float) -> None:
        super().__init__(description)
        self.description = description
        self.retry_after = retry_after


class TokenRefused(Exception):
    """A token is genuine, so nobody guessed it, but it grants nothing: it has expired, or is for another server."""


class TokenVerifier(Protocol):
    """Verifies bearer tokens."""

    has_scopes: bool
    """Whether its tokens carry scopes, which are then required."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what a token grants, or None if it is not valid.

        Raise `TokenRefused` for a genuine token that is not accepted, and `VerifierUnavailable` if nobody can tell now.
        """
        ...


class Sessions(Protocol):
    """The sessions of people who signed in on the page, and the page that asks them to."""

    async def find_access(self, scope: Scope) -> AccessToken | None:
        """Return what the session of a request grants, or None."""
        ...

    def sign_in_page(self, scope: Scope, refused: ErrorResponse) -> Response | None:
        """Return the page for a request that lacks a token, or None if a program sent it."""
        ...


class WrongTokens:
    """Counts the wrong tokens of each address; one throttle serves all paths that require a token."""

    def __init__(self) -> None:
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(_MAX_ADDRESSES)

    def count(self, address: str) -> float:
        """Count a wrong token and return 0; or, after too many, return how many seconds the address has to wait."""
        return self._buckets.setdefault(address, TokenBucket(_WRONG_TOKENS_PER_SECOND, _WRONG_TOKENS_BURST)).take()


class BearerAuthMiddleware:
    """Serve requests with a token that one of the verifiers accepts."""

    def __init__(
        self,
        app: ASGIApp,
        verifiers: Sequence[TokenVerifier],
        wrong_tokens: WrongTokens,
        *,
        scopes: Sequence[str] = (),
        metadata_url: str | None = None,
        sessions: Sessions | None = None,
    ) -> None:
        self._app = app
        self._sessions = sessions
        self._verifiers = verifiers
        self._wrong_tokens = wrong_tokens
        self._scopes = scopes
        self._metadata_url = metadata_url

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        refused = await self._authenticate(scope)
        page = self._sessions.sign_in_page(scope, refused) if refused and self._sessions else None
        await (page or refused or self._app)(scope, receive, send)

    async def _authenticate(self, scope: Scope) -> ErrorResponse | None:
        """Record who sends a request, or return the error."""
        token = _bearer_token(scope)
        if token is None and self._sessions is not None and (access := await self._sessions.find_access(scope)):
            record_access(scope, access)
            return None
        if token is None:
            return self._challenge(401, None, "A bearer token is required: send 'Authorization: Bearer TOKEN'.")
        try:
            for verifier in self._verifiers:
                if access := await verifier.verify_token(token):
                    return self._authorize(scope, verifier, access)
        except VerifierUnavailable as error:
            return ErrorResponse(503, error.description, retry_after=error.retry_after)
        except TokenRefused as error:
            return self._challenge(401, "invalid_token", str(error))
        return self._refuse_wrong_token(get_caller(scope).client)

    def _authorize(self, scope: Scope, verifier: TokenVerifier, access: AccessToken) -> ErrorResponse | None:
        missing = [name for name in self._scopes if verifier.has_scopes and name not in access.scopes]
        if missing:
            return self._challenge(403, "insufficient_scope", f"The token lacks the scope {missing[0]}.")
        record_access(scope, access)
        return None

    def _refuse_wrong_token(self, address: str) -> ErrorResponse:
        if wait := self._wrong_tokens.count(address):
            return ErrorResponse(429, "Too many wrong tokens from this address.", retry_after=wait)
        log.warning("wrong token from %s", address)
        return self._challenge(401, "invalid_token", "The token is wrong.")

    def _challenge(self, status: int, error: str | None, description: str) -> ErrorResponse:
        fields = {"error": error, "scope": " ".join(self._scopes), "resource_metadata": self._metadata_url}
        challenge = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
        return ErrorResponse(status, description, headers={"WWW-Authenticate": f"Bearer {challenge}".strip()})


def record_access(scope: Scope, access: AccessToken) -> None:
    """Record who sends a request."""
    scope["user"] = AuthenticatedUser(access)
    set_caller(scope, replace(get_caller(scope), client=access.client_id))


def _bearer_token(scope: Scope) -> str | None:
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(values) != 1:
        return None
    scheme, _, token = values[0].decode("latin-1").partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and 0 < len(token) <= MAX_TOKEN_CHARS else None


def fingerprint(secret: str) -> str:
    """Return a short name for a secret that does not reveal it."""
    return hashlib.sha256(secret.encode()).hexdigest()[:12]
