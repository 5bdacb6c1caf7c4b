"""Measure the app view in Chromium: bytes, requests, time until it can be used, findings of axe-core.

It needs Chromium; Playwright and axe are installed with the tools for development.
"""

from __future__ import annotations

import itertools
import sys
import zlib
from pathlib import Path
from typing import Any

from measure import median, report, table

from openzim_mcp.protocol.app_view import view_html

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from support.app_host import axe_findings, open_view
from support.browser import open_browser
from support.stdio_server import StdioServer

_LOADS = 9
_QUERY = "are symbolic links followed?"
_WIDTHS = (320, 720)
_THEMES = ("light", "dark")


def measure_loads(browser: Any, server: Any) -> tuple[list[float], list[float], int]:
    """Return for some loads the ms to an interactive view and to the answer, and the number of further requests."""
    interactive, answered, requests = [], [], 0
    for _ in range(_LOADS):
        with open_view(browser, server, _QUERY) as shown:
            times = shown.page.evaluate("times")
            interactive.append(times["interactive"])
            answered.append(times["answered"])
            requests += len(shown.requests) - 1
            assert not shown.problems, shown.problems
    return interactive, answered, requests


def count_findings(browser: Any, server: Any) -> tuple[int, int]:
    """Return how many states of the view axe-core has seen, and its findings: answer and reader, themes and widths."""
    states = findings = 0
    for theme, width in itertools.product(_THEMES, _WIDTHS):
        with open_view(browser, server, _QUERY, size=(width, 760), context={"theme": theme}) as shown:
            findings += len(axe_findings(shown))
            shown.view.locator(".source").first.click()
            shown.view.locator("#reader:not([hidden])").wait_for()
            findings += len(axe_findings(shown))
            states += 2
    return states, findings


def main() -> None:
    """Measure everything and write the report."""
    html = view_html().encode()
    with open_browser() as browser, StdioServer() as server:
        interactive, answered, requests = measure_loads(browser, server)
        states, findings = count_findings(browser, server)
    rows = [
        ["bytes of the file (limit 60,000)", f"{len(html):,}"],
        ["bytes, compressed", f"{len(zlib.compress(html, 9)):,}"],
        [f"requests of the view in {_LOADS} loads, without the file itself", str(requests)],
        ["ms from the start of loading to `initialized`, median", f"{median(interactive):.0f}"],
        ["ms to the answer on screen, the result being there, median", f"{median(answered):.0f}"],
        [f"findings of axe-core in {states} states (answer and reader, light and dark, 320 and 720 px)", str(findings)],
    ]
    report("appview", "python benchmarks/appview.py", table(["app view in Chromium", ""], rows))


if __name__ == "__main__":
    main()
