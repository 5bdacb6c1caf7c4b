from __future__ import annotations

from collections.abc import Iterator

import pytest

from openzim_mcp.worker.page_timer import timer


@pytest.fixture(autouse=True)
def reset_timer() -> Iterator[None]:
    """End the deadline that a test has set, which would make searches of later tests late."""
    yield
    timer.start_call(0, is_about_entry=False)
