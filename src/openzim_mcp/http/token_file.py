"""The accepted bearer tokens, of the settings and of a file that may change while the server runs."""

from __future__ import annotations

import hashlib
import hmac
import logging
import threading
import time
from typing import TYPE_CHECKING

from mcp.server.auth.provider import AccessToken

from openzim_mcp.config import check_tokens, read_token_lines
from openzim_mcp.http.auth import VerifierUnavailable, fingerprint

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

log = logging.getLogger(__name__)

_CHECK_SECONDS = 1.0
_FIRST_READ_SECONDS = 5.0
_UNRESPONSIVE_SECONDS = 10.0


class TokenFile:
    """The accepted bearer tokens; several may be valid at once, for rotation.

    A thread reads the file, as a network mount may not answer: then the previous tokens stay valid.
    """

    has_scopes = False

    def __init__(self, tokens: Iterable[str], file: Path | None = None) -> None:
        self._digests = _hash_tokens(tokens)
        self._file_digests: list[bytes] = []
        self._file_version: tuple[int, ...] | None = None
        self._was_read = threading.Event()
        self._reading_since = 0.0
        self._problem = ""
        if file is None:
            self._was_read.set()
        else:
            threading.Thread(target=self._watch, args=(file,), daemon=True).start()
            self._was_read.wait(_FIRST_READ_SECONDS)

    @property
    def digests(self) -> list[bytes]:
        """What the valid tokens hash to."""
        return [*self._digests, *self._file_digests]

    @staticmethod
    def digest_of(token: str) -> bytes:
        """Return what a token hashes to."""
        return hashlib.sha256(token.encode()).digest()

    async def verify_token(self, token: str) -> AccessToken | None:
        """Return what a token grants, or None; the time that takes reveals nothing about the valid tokens."""
        digest = self.digest_of(token)
        matches = [hmac.compare_digest(digest, valid) for valid in self.digests]
        if self._reading_since and time.monotonic() - self._reading_since > _UNRESPONSIVE_SECONDS:
            self._log_problem("it does not respond")
        if not any(matches) and not self._was_read.is_set():
            raise VerifierUnavailable("The token file does not respond.", retry_after=_CHECK_SECONDS)
        return AccessToken(token=token, client_id=f"token-{fingerprint(token)}", scopes=[]) if any(matches) else None

    def _watch(self, file: Path) -> None:
        while True:
            self._reading_since = time.monotonic()
            try:
                self._reload_if_changed(file)
                self._problem = ""
                self._was_read.set()
            except (OSError, ValueError) as error:
                self._log_problem(str(getattr(error, "strerror", error)))
            self._reading_since = 0.0
            time.sleep(_CHECK_SECONDS)

    def _reload_if_changed(self, file: Path) -> None:
        stat = file.stat()
        version = (stat.st_mtime_ns, stat.st_size, stat.st_ino)
        if version != self._file_version:
            self._file_digests = _hash_tokens(_valid_tokens(read_token_lines(file)))
            self._file_version = version
            log.info("%d tokens read from the token file", len(self._file_digests))

    def _log_problem(self, problem: str) -> None:
        """Log why the file cannot be read, once."""
        if problem != self._problem:
            self._problem = problem
            log.warning("cannot read the token file, keeping the previous tokens: %s", problem)


def _valid_tokens(lines: dict[int, str]) -> list[str]:
    """Return the lines that are tokens, and log the others by their numbers."""
    tokens = []
    for number, line in lines.items():
        try:
            check_tokens([line])
            tokens.append(line)
        except ValueError as error:
            log.warning("line %d of the token file is not used: %s", number, error)
    return tokens


def _hash_tokens(tokens: Iterable[str]) -> list[bytes]:
    return [hashlib.sha256(token.encode()).digest() for token in tokens]
