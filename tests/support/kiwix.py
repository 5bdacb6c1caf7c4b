"""A real library: kiwix-manage writes its library.xml, kiwix-serve serves the catalog."""

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


def write_library_xml(folder: Path, archives: Sequence[Path], base_url: str) -> Path:
    """Write a library.xml with kiwix-manage; the Metalinks of the archives are below `base_url`."""
    kiwix_manage = shutil.which("kiwix-manage")
    if not kiwix_manage:
        pytest.skip("kiwix-manage is not installed (Debian: kiwix-tools)")
    library = folder / "library.xml"
    subprocess.run([kiwix_manage, str(library), "add", *map(str, archives)], check=True, capture_output=True)
    text = re.sub(
        r' path="[^"]*?([^"/]+\.zim)"', rf' path="\1" url="{base_url}/\1.meta4"', library.read_text(encoding="utf-8")
    )
    library.write_text(text, encoding="utf-8")
    for archive in archives:
        shutil.copy(archive, folder)
    return library


@contextmanager
def kiwix_serve(library: Path) -> Iterator[str]:
    """Serve a library.xml; yield the URL."""
    program = shutil.which("kiwix-serve")
    if not program:
        pytest.skip("kiwix-serve is not installed (Debian: kiwix-tools)")
    with socket.create_server(("127.0.0.1", 0)) as unused:
        port = unused.getsockname()[1]
    command = [program, "--address", "127.0.0.1", "--port", str(port), "--library", str(library)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        for _ in range(100):
            try:
                opener.open(f"{url}/catalog/v2/root.xml").close()
                break
            except OSError:
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(10)
