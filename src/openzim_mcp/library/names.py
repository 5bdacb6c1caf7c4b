"""Names of archives: `wikipedia_en_all_maxi_2026-01` is a base name and a date."""

from __future__ import annotations

import re

# A letter after the date tells editions of one month apart: 2026-01a.
_DATED_NAME = re.compile(r"(?P<base>.+)_(?P<date>\d{4}-\d{2}(?:-\d{2})?[a-z]?)")


def split_date(name: str) -> tuple[str, str]:
    """Split a name, without `.zim`, into its base name and its date, which is empty where it has none."""
    match = _DATED_NAME.fullmatch(name)
    return (match["base"], match["date"]) if match else (name, "")
