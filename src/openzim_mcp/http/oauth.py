"""Access tokens of an identity provider: JWTs signed with its keys, issued for this server, not expired."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any

import anyio
import jwt
from anyio import to_thread
from mcp.server.auth.provider import AccessToken

from openzim_mcp.http.auth import TokenRefused, VerifierUnavailable, fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openzim_mcp.config import OAuthSettings

log = logging.getLogger(__name__)

# Asymmetric signatures only: with HMAC, a token signed with the public key as the secret would be valid.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_LEEWAY_SECONDS = 30
_MAX_KEY_AGE_SECONDS = 600
# Tokens with made-up key ids do not make the server fetch more often than this.
_MIN_FETCH_INTERVAL_SECONDS = 10
_FETCH_TIMEOUT_SECONDS = 5
_CLAIM_ERRORS: dict[type[jwt.PyJWTError], str] = {
    jwt.ExpiredSignatureError: "The token has expired; get a new one.",
    jwt.ImmatureSignatureError: "The token is not valid yet.",
    jwt.InvalidIssuedAtError: "The token is not valid yet.",
    jwt.InvalidAudienceError: "The token was issued for another server.",
    jwt.InvalidIssuerError: "The token is from another issuer.",
    jwt.MissingRequiredClaimError: "The token lacks a claim; exp, aud, iss and sub are required.",
    jwt.exceptions.InvalidSubjectError: "The claim sub of the token is not a string.",
    jwt.exceptions.InvalidJTIError: "The claim jti of the token is not a string.",
}
"""What is wrong with a token whose signature is valid; the library checks that first."""


class JwtVerifier:
    """Verifies the access tokens of the identity provider."""

    has_scopes = True

    def __init__(self, settings: OAuthSettings) -> None:
        self._issuer = str(settings.issuer)
        self._resource = str(settings.resource)
        self._keys = JwksCache(settings)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what a token grants, or None if it is not valid; raise an error if there are no keys to tell."""
        try:
            claims = jwt.decode(
                token,
                await self._keys.get_key(jwt.get_unverified_header(token).get("kid")),
                _ALGORITHMS,
                audience=self._resource,
                issuer=self._issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "aud", "iss", "sub"]},
            )
            return self._to_access_token(token, claims)
        except tuple(_CLAIM_ERRORS) as error:
            log.info("access token refused: %s", type(error).__name__)
            raise TokenRefused(_CLAIM_ERRORS[type(error)]) from None
        except (jwt.PyJWTError, ValueError, OverflowError, RecursionError) as error:
            # The last three: lone surrogates, infinite numbers and deeply nested JSON.
            log.info("access token refused: %s", type(error).__name__)
            return None

    def _to_access_token(self, token: str, claims: Mapping[str, Any]) -> AccessToken:
        subject = str(claims["sub"])
        return AccessToken(
            token=token,
            # Bearers without a subject cannot be told apart by it.
            client_id=f"subject-{fingerprint(subject or token)}",
            scopes=_parse_scopes(claims.get("scope") or claims.get("scp")),
            expires_at=int(claims["exp"]) + _LEEWAY_SECONDS,
            resource=self._resource,
            subject=subject,
            claims={"iss": claims["iss"]},
        )


def _parse_scopes(claim: object) -> list[str]:
    """Accept both forms in use: one string separated by spaces, or a list."""
    if isinstance(claim, str):
        return claim.split()
    return [str(scope) for scope in claim] if isinstance(claim, list) else []


class JwksCache:
    """The provider's public keys, fetched again when they are old or a token names an unknown key."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._file = settings.jwks_file
        self._url = settings.jwks_url
        self._keys: list[jwt.PyJWK] = []
        self._fetched_at = -math.inf
        self._fetch_failed = False
        self._fetching = anyio.Lock()

    async def get_key(self, key_id: str | None) -> jwt.PyJWK:
        """Return the key with an id; without an id, the only key there is."""
        key = self._find_key(key_id)
        if key is not None and self._fetching.locked():
            return key
        if self._is_fetch_due(key):
            # Concurrent callers wait for one fetch, and then use its keys.
            async with self._fetching:
                key = self._find_key(key_id)
                if self._is_fetch_due(key):
                    await self._fetch_keys()
                    key = self._find_key(key_id)
        if key is None and self._fetch_failed:
            raise VerifierUnavailable(
                "The keys of the identity provider cannot be fetched.", retry_after=_MIN_FETCH_INTERVAL_SECONDS
            )
        if key is None:
            raise jwt.InvalidKeyError("no key with this id")
        return key

    def _is_fetch_due(self, key: jwt.PyJWK | None) -> bool:
        age = time.monotonic() - self._fetched_at
        return age > (_MIN_FETCH_INTERVAL_SECONDS if key is None else _MAX_KEY_AGE_SECONDS)

    async def _fetch_keys(self) -> None:
        try:
            self._keys = await to_thread.run_sync(self._read_keys)
            self._fetch_failed = False
        except (jwt.PyJWTError, OSError, ValueError) as error:
            log.warning("cannot fetch the identity provider's keys: %s", type(error).__name__)
            self._fetch_failed = True
        self._fetched_at = time.monotonic()

    def _find_key(self, key_id: str | None) -> jwt.PyJWK | None:
        matches = [key for key in self._keys if key_id is None or key.key_id == key_id]
        return matches[0] if len(matches) == 1 else None

    def _read_keys(self) -> list[jwt.PyJWK]:
        if self._file:
            return jwt.PyJWKSet.from_json(self._file.read_text(encoding="utf-8")).keys
        return jwt.PyJWKClient(str(self._url), cache_jwk_set=False, timeout=_FETCH_TIMEOUT_SECONDS).get_jwk_set().keys
