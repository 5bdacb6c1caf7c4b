"""Chromium of the system, driven by Playwright; no browser is downloaded."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

EXECUTABLE = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
TIMEOUT_MS = 30_000


@contextlib.contextmanager
def open_browser() -> Iterator[Any]:
    """Start a browser, or skip the tests where there is none."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    if EXECUTABLE is None:
        pytest.skip("Chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=EXECUTABLE)
        yield browser
        browser.close()


@contextlib.contextmanager
def open_page(browser: Any, **options: Any) -> Iterator[Any]:
    """Open a page in a context of its own."""
    context = browser.new_context(viewport=options.pop("viewport", {"width": 1200, "height": 850}), **options)
    context.set_default_timeout(TIMEOUT_MS)
    try:
        yield context.new_page()
    finally:
        context.close()
