"""Bearer tokens: from the environment, or from a file that is read again when it changes."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import time
from typing import TYPE_CHECKING

from mcp.server.auth.provider import AccessToken

from openzim_mcp.config import read_tokens
from openzim_mcp.http.client_address import fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

log = logging.getLogger(__name__)

_LOOK_AGAIN_SECONDS = 1.0


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
