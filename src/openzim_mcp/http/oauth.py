"""Access tokens of an identity provider: signed by its keys, made for this server, not expired."""

from __future__ import annotations

import logging
import math
import time
from typing import TYPE_CHECKING, Any

import jwt
from anyio import to_thread
from mcp.server.auth.provider import AccessToken

from openzim_mcp.http.auth import fingerprint

if TYPE_CHECKING:
    from openzim_mcp.config import OAuthSettings

log = logging.getLogger(__name__)

# Signatures by a key pair; with a shared secret a public key could be passed off as the secret.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_LEEWAY_SECONDS = 30
_KEYS_SECONDS = 600
_AGAIN_SECONDS = 10
"""Names that nobody knows do not make the server ask more often than that."""
_FETCH_SECONDS = 5


class Issuer:
    """The identity provider whose access tokens open the door."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._issuer = str(settings.issuer)
        self._resource = str(settings.resource)
        self._keys = _Keys(settings)

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whom a token stands for, or nobody."""
        try:
            claims = jwt.decode(
                token,
                await self._keys.of(jwt.get_unverified_header(token).get("kid")),
                _ALGORITHMS,
                audience=self._resource,
                issuer=self._issuer,
                leeway=_LEEWAY_SECONDS,
                options={"require": ["exp", "aud", "iss", "sub"]},
            )
        except jwt.PyJWTError as error:
            log.info("an access token was refused: %s", type(error).__name__)
            return None
        return self._access(token, claims)

    def _access(self, token: str, claims: dict[str, Any]) -> AccessToken:
        scopes = claims.get("scope") or claims.get("scp") or []
        return AccessToken(
            token=token,
            client_id=f"subject-{fingerprint(str(claims['sub']))}",
            scopes=scopes.split()
            if isinstance(scopes, str)
            else [*map(str, scopes if isinstance(scopes, list) else ())],
            expires_at=int(claims["exp"]) + _LEEWAY_SECONDS,
            resource=self._resource,
            subject=str(claims["sub"]),
            claims={"iss": claims["iss"]},
        )


class _Keys:
    """The public keys of the provider, got anew when they are old or a token names one that is not among them."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._file = settings.jwks_file
        self._url = settings.jwks_url
        self._known: list[jwt.PyJWK] = []
        self._got_at = -math.inf

    async def of(self, name: str | None) -> jwt.PyJWK:
        """Return the key of a name; without a name, the only key there is."""
        age = time.monotonic() - self._got_at
        found = self._find(name)
        if age > _KEYS_SECONDS or (found is None and age > _AGAIN_SECONDS):
            self._got_at = time.monotonic()
            try:
                self._known = await to_thread.run_sync(self._get)
            except (jwt.PyJWTError, OSError, ValueError) as error:
                log.warning("the keys of the identity provider cannot be got: %s", type(error).__name__)
            found = self._find(name)
        if found is None:
            raise jwt.InvalidKeyError("no key of that name")
        return found

    def _find(self, name: str | None) -> jwt.PyJWK | None:
        named = [key for key in self._known if name is None or key.key_id == name]
        return named[0] if len(named) == 1 else None

    def _get(self) -> list[jwt.PyJWK]:
        if self._file:
            return jwt.PyJWKSet.from_json(self._file.read_text(encoding="utf-8")).keys
        return jwt.PyJWKClient(str(self._url), cache_jwk_set=False, timeout=_FETCH_SECONDS).get_jwk_set().keys
