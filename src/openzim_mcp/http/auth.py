"""Bearer authentication: tokens of the settings or of an identity provider; guessing is slowed down."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from cachetools import LRUCache
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken

from openzim_mcp.app.caller import get_caller, set_caller
from openzim_mcp.config import read_tokens
from openzim_mcp.http.errors import ErrorResponse
from openzim_mcp.token_bucket import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)

_WRONG_TOKENS_PER_SECOND, _WRONG_TOKENS_BURST = 0.2, 10
_MAX_ADDRESSES = 10_000
_MAX_TOKEN_CHARS = 8192
_FILE_CHECK_SECONDS = 1.0


class VerifierUnavailable(Exception):
    """A verifier cannot tell now whether a token is valid."""

    def __init__(self, description: str, retry_after: float) -> None:
        super().__init__(description)
        self.description = description
        self.retry_after = retry_after


class TokenVerifier(Protocol):
    """Verifies bearer tokens."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what a token grants, or None if it is not valid; raise `VerifierUnavailable` if that is unknown."""
        ...


class BearerAuthMiddleware:
    """Serve requests with a token that one of the verifiers accepts."""

    def __init__(
        self,
        app: ASGIApp,
        verifiers: Sequence[TokenVerifier],
        *,
        scopes: Sequence[str] = (),
        metadata_url: str | None = None,
    ) -> None:
        self._app = app
        self._verifiers = verifiers
        self._scopes = scopes
        self._metadata_url = metadata_url
        self._wrong_tokens: LRUCache[str, TokenBucket] = LRUCache(_MAX_ADDRESSES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, or refuse it."""
        response = await self._authenticate(scope)
        await (response or self._app)(scope, receive, send)

    async def _authenticate(self, scope: Scope) -> ErrorResponse | None:
        """Record who sends a request, or return the error."""
        token = _bearer_token(scope)
        try:
            access = await self._verify(token) if token else None
        except VerifierUnavailable as error:
            return ErrorResponse(503, error.description, retry_after=error.retry_after)
        if access is None:
            return self._unauthorized(scope, token)
        if missing := self._missing_scope(access):
            return self._challenge(403, "insufficient_scope", f"The token lacks the scope {missing}.")
        scope["user"] = AuthenticatedUser(access)
        set_caller(scope, replace(get_caller(scope), client=access.client_id))
        return None

    async def _verify(self, token: str) -> AccessToken | None:
        for verifier in self._verifiers:
            if access := await verifier.verify_token(token):
                return access
        return None

    def _missing_scope(self, access: AccessToken) -> str | None:
        """Return a scope that an access token lacks; tokens of the settings have no scopes and need none."""
        return next((scope for scope in self._scopes if access.subject and scope not in access.scopes), None)

    def _unauthorized(self, scope: Scope, token: str | None) -> ErrorResponse:
        if token is None:
            return self._challenge(401, None, "A bearer token is required: send 'Authorization: Bearer TOKEN'.")
        address = get_caller(scope).client
        bucket = self._wrong_tokens.setdefault(address, TokenBucket(_WRONG_TOKENS_PER_SECOND, _WRONG_TOKENS_BURST))
        if wait := bucket.take():
            return ErrorResponse(429, "Too many wrong tokens from this address.", retry_after=wait)
        log.warning("wrong token from %s", address)
        return self._challenge(401, "invalid_token", "The token is wrong or has expired.")

    def _challenge(self, status: int, error: str | None, description: str) -> ErrorResponse:
        fields = {"error": error, "scope": " ".join(self._scopes), "resource_metadata": self._metadata_url}
        challenge = ", ".join(f'{name}="{value}"' for name, value in fields.items() if value)
        return ErrorResponse(status, description, headers={"WWW-Authenticate": f"Bearer {challenge}".strip()})


def _bearer_token(scope: Scope) -> str | None:
    values = [value for name, value in scope["headers"] if name == b"authorization"]
    if len(values) != 1:
        return None
    scheme, _, token = values[0].decode("latin-1").partition(" ")
    token = token.strip()
    return token if scheme.lower() == "bearer" and 0 < len(token) <= _MAX_TOKEN_CHARS else None


class TokenFile:
    """The accepted bearer tokens, of the settings and of a file; several may be valid at once, for rotation."""

    def __init__(self, tokens: Iterable[str], file: Path | None = None) -> None:
        self._digests = _hash_tokens(tokens)
        self._file = file
        self._file_digests: list[bytes] = []
        self._file_version: tuple[int, ...] | None = None
        self._checked_at = 0.0
        self._reload_if_changed()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what a token grants, or None; the time that takes reveals nothing about the valid tokens."""
        self._reload_if_changed()
        digest = hashlib.sha256(token.encode()).digest()
        matches = [hmac.compare_digest(digest, valid) for valid in (*self._digests, *self._file_digests)]
        return AccessToken(token=token, client_id=f"token-{fingerprint(token)}", scopes=[]) if any(matches) else None

    def _reload_if_changed(self) -> None:
        """Read the file again if it has changed; while it cannot be read, the previous tokens stay valid."""
        now = time.monotonic()
        if self._file is None or (now - self._checked_at < _FILE_CHECK_SECONDS and self._file_version is not None):
            return
        self._checked_at = now
        try:
            stat = os.stat(self._file)
            version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if version != self._file_version:
                self._file_digests = _hash_tokens(read_tokens(self._file))
                log.info("%d tokens read from the token file", len(self._file_digests))
                self._file_version = version
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", error)
            log.warning("cannot read the token file, keeping the previous tokens: %s", reason)


def _hash_tokens(tokens: Iterable[str]) -> list[bytes]:
    return [hashlib.sha256(token.encode()).digest() for token in tokens]


def fingerprint(secret: str) -> str:
    """Return a short name for a secret that does not reveal it."""
    return hashlib.sha256(secret.encode()).hexdigest()[:12]
