"""How the server and its worker processes talk: JSON frames with a length in front.

JSON and not pickle, because a worker reads hostile files: whatever it may be made to send, it stays data.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from typing import Any

LENGTH = struct.Struct(">I")
LARGEST = 64 << 20
"""Bytes of a frame at most: what a worker sends must never fill the server's memory."""
OMIT_NONE = {"omit_none": True}
"""Metadata of a dataclass field that is left out of a reply while it is None."""


def _plain(value: object) -> dict[str, Any]:
    if not dataclasses.is_dataclass(value):
        raise TypeError(f"{type(value).__name__} cannot be sent to the server")
    pairs = ((field, getattr(value, field.name)) for field in dataclasses.fields(value))
    return {f.name: v for f, v in pairs if v is not None or not f.metadata.get("omit_none")}


def pack(message: object) -> bytes:
    """Return a frame; dataclasses become objects."""
    body = json.dumps(message, default=_plain, separators=(",", ":")).encode()
    return LENGTH.pack(len(body)) + body
