"""Verification: compare a whole file with the checksum that it carries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openzim_mcp.calls.archive import ChecksumResult
from openzim_mcp.zimfile import NotAZim, checksum_matches

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from openzim_mcp.calls.archive import Verify


def verify(parts: Sequence[str], _job: Verify, report: Callable[[int, int], None]) -> ChecksumResult:
    """Hash a file, and say whether its checksum matches."""
    try:
        return ChecksumResult(checksum_matches(parts, report))
    except NotAZim:
        return ChecksumResult(valid=False)
    except OSError as error:
        return ChecksumResult(None, f"cannot be read to its end: {error.strerror or 'input/output error'}")
