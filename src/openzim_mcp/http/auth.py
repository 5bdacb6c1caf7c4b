"""Who may come in: a token or an access token, where the settings ask for one; guessing is slowed down."""

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
from openzim_mcp.http.errors import Refusal
from openzim_mcp.token_bucket import TokenBucket

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

log = logging.getLogger(__name__)

_SCHEME = "bearer"
_WRONG_PER_SECOND, _WRONG_AT_ONCE = 0.2, 10
_ADDRESSES = 10_000
_LONGEST = 8192
_LOOK_AGAIN_SECONDS = 1.0


class Verifier(Protocol):
    """Knows tokens."""

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whom a token stands for, or nobody."""
        ...


class Entrance:
    """Lets in who shows a token that one of the verifiers knows."""

    def __init__(
        self, app: ASGIApp, verifiers: Sequence[Verifier], *, scopes: Sequence[str] = (), metadata: str | None = None
    ) -> None:
        self._app = app
        self._verifiers = verifiers
        self._scopes = scopes
        self._metadata = metadata
        self._wrong: LRUCache[str, TokenBucket] = LRUCache(_ADDRESSES)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request in or refuse it."""
        token = _bearer(scope)
        access = await self._verified(token) if token else None
        if access is None:
            await self._refusal(scope, token)(scope, receive, send)
        elif missing := self._missing(access):
            await self._challenge(403, "insufficient_scope", f"The token lacks the scope {missing}.")(
                scope, receive, send
            )
        else:
            scope["user"] = AuthenticatedUser(access)
            set_caller(scope, replace(get_caller(scope), client=access.client_id))
            await self._app(scope, receive, send)

    async def _verified(self, token: str) -> AccessToken | None:
        for verifier in self._verifiers:
            if access := await verifier.verify_token(token):
                return access
        return None

    def _missing(self, access: AccessToken) -> str | None:
        """Return a scope that an access token lacks; the tokens of the settings have none and need none."""
        return next((s for s in self._scopes if access.subject and s not in access.scopes), None)

    def _refusal(self, scope: Scope, token: str | None) -> Refusal:
        if token is None:
            return self._challenge(401, None, "A bearer token is needed: send it as 'Authorization: Bearer TOKEN'.")
        address = get_caller(scope).client
        guesses = self._wrong.setdefault(address, TokenBucket(_WRONG_PER_SECOND, _WRONG_AT_ONCE))
        if wait := guesses.take():
            return Refusal(429, "Too many wrong tokens from this address.", retry_after=wait)
        log.warning("a wrong token was sent from %s", address)
        return self._challenge(401, "invalid_token", "This token is not, or no longer, accepted.")

    def _challenge(self, status: int, error: str | None, sentence: str) -> Refusal:
        parts = {"error": error, "scope": " ".join(self._scopes), "resource_metadata": self._metadata}
        told = ", ".join(f'{name}="{value}"' for name, value in parts.items() if value)
        return Refusal(status, sentence, headers={"WWW-Authenticate": f"Bearer {told}".strip()})


def _bearer(scope: Scope) -> str | None:
    """Return the token of a request that has one."""
    given = [value for name, value in scope["headers"] if name == b"authorization"]
    kind, _, token = given[0].decode("latin-1").partition(" ") if len(given) == 1 else ("", "", "")
    token = token.strip()
    return token if kind.lower() == _SCHEME and 0 < len(token) <= _LONGEST else None


class Keyring:
    """The tokens that open the door now; several may, so that one can take the place of another."""

    def __init__(self, tokens: Iterable[str], file: Path | None = None) -> None:
        self._fixed = _digests(tokens)
        self._file = file
        self._state: tuple[int, ...] | None = None
        self._looked_at = 0.0
        self._of_file: list[bytes] = []
        self._look()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whom a token stands for, or nobody; how long that takes tells nothing about the tokens."""
        self._look()
        given = hashlib.sha256(token.encode()).digest()
        known = [hmac.compare_digest(given, digest) for digest in (*self._fixed, *self._of_file)]
        return AccessToken(token=token, client_id=f"token-{fingerprint(token)}", scopes=[]) if any(known) else None

    def _look(self) -> None:
        """Read the file if it has changed; one that cannot be read leaves the tokens as they were."""
        now = time.monotonic()
        if self._file is None or (now - self._looked_at < _LOOK_AGAIN_SECONDS and self._state is not None):
            return
        self._looked_at = now
        try:
            stat = os.stat(self._file)
            state = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
            if state != self._state:
                self._of_file = _digests(read_tokens(self._file))
                log.info("%d tokens are accepted from the token file", len(self._of_file))
                self._state = state
        except (OSError, ValueError) as error:
            log.warning("the token file cannot be read, its last tokens stay: %s", getattr(error, "strerror", error))


def _digests(tokens: Iterable[str]) -> list[bytes]:
    return [hashlib.sha256(token.encode()).digest() for token in tokens]


def fingerprint(secret: str) -> str:
    """Return a name for a secret that does not tell it."""
    return hashlib.sha256(secret.encode()).hexdigest()[:12]
