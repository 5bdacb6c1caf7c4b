"""How many entries an archive has of each MIME type, as its metadata `Counter` tells."""

from __future__ import annotations

import re
from collections import Counter

from openzim_mcp.text import safe_line

_MAX_TYPE_CHARS = 100
_MAX_COUNT_DIGITS = 15
# As in `text/html=5`, `text/html;raw=true=3` and `image/svg+xml; charset=utf-8; profile="https://a;b"=1`.
_COUNTER = re.compile(
    r"(?:^|;)\s*(?P<type>[^\s;=\"]+)(?:\s*;\s*[\w.-]+=(?:\"[^\"]*\"|[^;=\"]*))*\s*=\s*(?P<count>\d+)\s*(?=;|$)"
)


def count_types(text: str) -> dict[str, int]:
    """Return how many entries there are of each MIME type, whatever its parameters."""
    counts: Counter[str] = Counter()
    for match in _COUNTER.finditer(text):
        counts[safe_line(match["type"].lower(), _MAX_TYPE_CHARS)] += int(match["count"][:_MAX_COUNT_DIGITS])
    return dict(counts)
