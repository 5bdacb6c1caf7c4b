"""Find streams of a PDF that unpack to more than PDFium can be given: it would take all memory and end the process."""

from __future__ import annotations

import re
import zlib

_MAX_UNPACKED_BYTES = 64 << 20
"""The content of a page, unpacked; the largest real ones have a few megabytes. PDFium takes 14 times as much."""
_MAX_RATIO = 1032
"""Deflate packs at most so well, so that a shorter stream needs no look."""
_CHUNK_BYTES = 1 << 20
_MAX_DICTIONARY_BYTES = 2000
_STREAM = re.compile(rb"stream\r?\n")
_END = b"endstream"
_PACKED = re.compile(rb"/Fl(?:ateDecode)?(?![\w])")
_IMAGE = re.compile(rb"/Subtype\s*/Image|/Image\b")


def find_bomb(content: bytes) -> str:
    """Return why a PDF is not read; empty if nothing of it unpacks to an absurd size."""
    for match in _STREAM.finditer(content):
        if content[match.start() - 3 : match.start()] == b"end":
            continue
        start = match.end()
        stop = content.find(_END, start)
        stop = len(content) if stop < 0 else stop
        dictionary = content[max(0, match.start() - _MAX_DICTIONARY_BYTES) : match.start()]
        dictionary = dictionary[dictionary.rfind(b" obj") + 1 :]
        levels = len(_PACKED.findall(dictionary))
        is_picture = _IMAGE.search(dictionary) is not None
        if levels and not is_picture and (stop - start) * _MAX_RATIO**levels > _MAX_UNPACKED_BYTES:
            size = _unpacked_size(content[start:stop], levels)
            if size > _MAX_UNPACKED_BYTES:
                return f"a part of it unpacks to over {_MAX_UNPACKED_BYTES >> 20} MB"
    return ""


def _unpacked_size(packed: bytes, levels: int) -> int:
    """Return how large a stream becomes, or the limit and more if it is larger."""
    if levels > 1:
        inner = _unpack(packed, _MAX_UNPACKED_BYTES)
        return len(inner) if len(inner) > _MAX_UNPACKED_BYTES else _unpacked_size(inner, levels - 1)
    total = 0
    unpacker = zlib.decompressobj()
    data = packed
    try:
        while data and not unpacker.eof and total <= _MAX_UNPACKED_BYTES:
            total += len(unpacker.decompress(data, _CHUNK_BYTES))
            data = unpacker.unconsumed_tail
    except zlib.error:
        pass
    return total


def _unpack(packed: bytes, limit: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(packed, limit + 1)
    except zlib.error:
        return b""
