"""Access tokens of an identity provider: signed by its keys, made for this server, not expired."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

import jwt
from anyio import to_thread
from mcp.server.auth.provider import AccessToken

from openzim_mcp.http.visitors import fingerprint

if TYPE_CHECKING:
    from openzim_mcp.config import OAuthSettings

log = logging.getLogger(__name__)

# Signatures by a key pair; with a shared secret a public key could be passed off as the secret.
_ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"]
_LEEWAY_SECONDS = 30
_KEYS_SECONDS = 600
_FETCH_SECONDS = 5


class Issuer:
    """The identity provider whose access tokens open the door."""

    def __init__(self, settings: OAuthSettings) -> None:
        self._issuer = str(settings.issuer)
        self._resource = str(settings.resource)
        self._scopes = set(settings.scopes)
        self._keys = None
        self._client = None
        if settings.jwks_file:
            self._keys = jwt.PyJWKSet.from_dict(json.loads(settings.jwks_file.read_bytes()))
        else:
            self._client = jwt.PyJWKClient(
                str(settings.jwks_url), lifespan=_KEYS_SECONDS, timeout=_FETCH_SECONDS, cache_keys=True
            )

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return whom a token stands for, or nobody."""
        try:
            claims = jwt.decode(
                token,
                await self._key(token),
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

    async def _key(self, token: str) -> jwt.PyJWK:
        if self._client is not None:
            return await to_thread.run_sync(self._client.get_signing_key_from_jwt, token)
        name = jwt.get_unverified_header(token).get("kid")
        keys = self._keys.keys if self._keys else []
        for key in keys:
            if key.key_id == name or (name is None and len(keys) == 1):
                return key
        raise jwt.PyJWKClientError("no key of that name")

    def _access(self, token: str, claims: dict[str, Any]) -> AccessToken | None:
        scopes = claims.get("scope", claims.get("scp", []))
        return AccessToken(
            token=token,
            client_id=f"subject-{fingerprint(str(claims['sub']))}",
            scopes=scopes.split() if isinstance(scopes, str) else [str(scope) for scope in scopes],
            expires_at=int(claims["exp"]) + _LEEWAY_SECONDS,
            resource=self._resource,
            subject=str(claims["sub"]),
            claims={"iss": claims["iss"]},
        )
