"""Take the pictures of the page that the docs show: `python scripts/screenshots.py DIRECTORY`.

The directory holds the archives to show. Chromium of the system is used.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

OUTPUT = Path(__file__).parent.parent / "docs" / "images"
QUESTION = "ask?q=who+designed+the+Python+language"
ARTICLE = "read/wikipedia_en_ray_charles_2015-06_split/A/Ray_Charles.html"
WIDE = {"viewport": {"width": 1100, "height": 720}}
PHONE = {"viewport": {"width": 390, "height": 720}, "color_scheme": "dark"}


@dataclass(frozen=True)
class Picture:
    """A page, and how the browser shows it."""

    name: str
    path: str
    options: dict[str, Any] = field(default_factory=lambda: WIDE)
    typed: str = ""


PICTURES = (
    Picture("page-start", "", typed="ray ch"),
    Picture("page-answer", QUESTION),
    Picture("page-model", f"{QUESTION}&view=model"),
    Picture("page-reader", ARTICLE),
    Picture("page-reader-phone", ARTICLE, PHONE),
    Picture("page-archives", "archives"),
)


def main(directory: str) -> None:
    """Start a server for the archives, and take each picture."""
    OUTPUT.mkdir(exist_ok=True)
    environment = os.environ | {"XDG_CACHE_HOME": tempfile.mkdtemp(), "OPENZIM_MCP_RATE_LIMIT__ENABLED": "false"}
    command = [sys.executable, "-m", "openzim_mcp", "--transport", "http", "--port", "0", directory]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        assert server.stderr is not None
        url = next(found[1] for line in server.stderr if (found := re.search(r"on (http://\S+?)/mcp", line)))
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            for picture in PICTURES:
                take(browser, url, picture)
    finally:
        server.terminate()
        server.wait()


def take(browser: Any, url: str, picture: Picture) -> None:
    """Open a page and save what a person sees of it."""
    context = browser.new_context(**picture.options)
    page = context.new_page()
    page.goto(f"{url}/{picture.path}")
    if picture.typed:
        page.get_by_role("combobox").first.press_sequentially(picture.typed)
        page.get_by_role("option").first.wait_for()
        page.keyboard.press("ArrowDown")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=OUTPUT / f"{picture.name}.png")
    context.close()


if __name__ == "__main__":
    main(sys.argv[1])
