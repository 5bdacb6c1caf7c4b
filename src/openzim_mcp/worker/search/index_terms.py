"""The terms of a full-text index and how many articles have each, read from the index itself.

libzim tells the frequency of one word after the other, but not which words there are. The first table of the index has
a row per term, which starts with the number of articles. A long list of articles goes on in rows whose keys have a zero
byte.
"""

from __future__ import annotations

from openzim_mcp.worker.search.index_blocks import HEADER_BYTES, BlockTree, NotReadable, read_header, read_number


def count_rows(index: bytes) -> int:
    """Return about how many terms an index has; `NotReadable` if it has another format."""
    return read_header(index[:HEADER_BYTES]).words.rows


def read_terms(index: bytes) -> dict[bytes, int]:
    """Return how many articles have each term of an index; the stem of a word, where its language has stems."""
    tree = BlockTree(lambda offset, size: index[offset : offset + size], read_header(index[:HEADER_BYTES]).words)
    try:
        return {key: read_number(row, 0)[0] for key, row in tree.rows_from(b"") if key and b"\0" not in key}
    except IndexError as error:
        raise NotReadable from error
