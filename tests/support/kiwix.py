"""A library to get archives from, as they are found in the world: kiwix-serve for the catalogue, a mirror for the files."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest


def library_xml(folder: Path, archives: Sequence[Path], urls: str) -> Path:
    """Let kiwix-manage describe archives; `urls` is where their Metalinks are said to be."""
    manage = shutil.which("kiwix-manage")
    if not manage:
        pytest.skip("kiwix-manage is not here (Debian: kiwix-tools)")
    made = folder / "library.xml"
    subprocess.run([manage, str(made), "add", *map(str, archives)], check=True, capture_output=True)
    text = re.sub(
        r' path="[^"]*?([^"/]+\.zim)"', rf' path="\1" url="{urls}/\1.meta4"', made.read_text(encoding="utf-8")
    )
    made.write_text(text, encoding="utf-8")
    for archive in archives:
        shutil.copy(archive, folder)
    return made


@contextmanager
def kiwix_serve(library: Path) -> Iterator[str]:
    """Serve a library.xml."""
    serve = shutil.which("kiwix-serve")
    if not serve:
        pytest.skip("kiwix-serve is not here (Debian: kiwix-tools)")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [serve, "--address", "127.0.0.1", "--port", str(port), "--library", str(library)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(100):
            try:
                urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"{url}/catalog/v2/root.xml").close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(10)
