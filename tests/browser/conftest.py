from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from support.browser import open_browser


# Not for the whole session: while Playwright runs, no other test of its process can run an event loop.
@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as started:
        yield started
