"""Signed texts that expire: the session of a signed-in person, and the capability to read one archive.

They are signed with what the accepted tokens hash to, so that every process and replica accepts them, and that they
end with the token. A server without such tokens signs with a key of its own in the cache directory.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import hashlib
import hmac
import os
import secrets
import time
from typing import TYPE_CHECKING, Literal

from openzim_mcp import files

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Purpose = Literal["session", "content"]
_KEY_BYTES = 32


def sign(key: bytes, purpose: Purpose, text: str, expires: int) -> str:
    """Return a text with its expiry and signature, for a cookie or a path."""
    body = f"{expires}.{base64.urlsafe_b64encode(text.encode()).decode().rstrip('=')}"
    return f"{body}.{_signature(key, purpose, body)}"


def verify(keys: Iterable[bytes], purpose: Purpose, value: str) -> tuple[str, bytes] | None:
    """Return the text and the key that signed it, unless the signature is wrong or has expired."""
    if not value.isascii():
        return None
    body, _, signature = value.rpartition(".")
    expires, _, encoded = body.partition(".")
    valid = [key for key in keys if hmac.compare_digest(_signature(key, purpose, body), signature)]
    if not valid or not expires.isdecimal() or int(expires) < time.time():
        return None
    try:
        return base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode(), valid[0]
    except (binascii.Error, ValueError):
        return None


def _signature(key: bytes, purpose: Purpose, body: str) -> str:
    digest = hmac.digest(key, f"openzim-mcp {purpose} {body}".encode(errors="replace"), hashlib.sha256)
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


@functools.cache
def own_key() -> bytes:
    """Return the key of this user's servers, made once; where it cannot be kept, it is good for this process."""
    path = os.path.join(files.cache_directory(), "page-key")
    with contextlib.suppress(OSError):
        if not os.path.exists(path):
            files.write_atomic(path, secrets.token_bytes(_KEY_BYTES))
        with open(path, "rb") as file:
            key = file.read()
        if len(key) == _KEY_BYTES:
            return key
    return secrets.token_bytes(_KEY_BYTES)


def key_of(client: str, keys: Sequence[bytes]) -> bytes:
    """Return the key of a client that was told by its token, else the first one."""
    name = client.removeprefix("token-")
    return next((key for key in keys if name and key.hex().startswith(name)), keys[0])
