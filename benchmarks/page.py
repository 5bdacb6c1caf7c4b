"""The page: what a browser loads for the first view, how long the first answer takes, and what reading costs.

Reading is compared with kiwix-serve and with Zimi, where they are installed (`ZIMI` names Zimi's command). CPU time of
all processes of a server is counted, so that a busy machine changes little.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
from measure import OURS, QUIET, ZIMS, process_tree
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator

ARCHIVE = ZIMS / "built" / "wiki_real_pub.zim"
ARTICLE_BYTES = 500_000
QUESTION = "when was the tunnel opened"
READS = 30
STARTS = 3
WARM_UP_SECONDS = 5
"""After its start, a server may still prepare indexes."""


def free_port() -> int:
    """Return a port that nobody uses."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def running(command: list[str], port: int, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server until the block ends."""
    environment = os.environ | QUIET | settings
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env=environment)
    try:
        while True:
            with contextlib.suppress(httpx2.TransportError):
                httpx2.get(f"http://127.0.0.1:{port}/", timeout=5)
                break
            time.sleep(0.02)
        yield process
    finally:
        process.terminate()
        process.wait(20)


def cpu_milliseconds(pid: int) -> float:
    """Return the CPU time of a process and its descendants."""
    ticks = 0
    for number in process_tree(pid):
        with contextlib.suppress(FileNotFoundError):
            fields = Path(f"/proc/{number}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += sum(map(int, fields[11:15]))
    return ticks * 1000 / os.sysconf("SC_CLK_TCK")


def our_command(port: int) -> list[str]:
    """Return the command of our server."""
    return [*OURS, "--transport", "http", "--port", str(port), str(ARCHIVE)]


def article_near(size: int) -> tuple[str, int]:
    """Return the path of the article whose size is nearest to a number of bytes, and that size."""
    code = (
        "import sys; from libzim.reader import Archive; z = Archive(sys.argv[1]); n = int(sys.argv[2])\n"
        "e = (z._get_entry_by_id(i) for i in range(z.all_entry_count))\n"
        "r = [(abs(x.get_item().size - n), x.path, x.get_item().size) for x in e if not x.is_redirect "
        "and x.get_item().mimetype.startswith('text/html')]\n"
        "print(*min(r)[1:], sep='\\t')"
    )
    done = subprocess.run([sys.executable, "-c", code, ARCHIVE, str(size)], capture_output=True, text=True, check=True)
    path, found = done.stdout.strip().split("\t")
    return path, int(found)


def first_view(url: str) -> str:
    """Return how many bytes and requests the start page takes."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        page = browser.new_page()
        sizes: list[int] = []
        page.on("response", lambda response: sizes.append(len(response.body())))
        page.goto(url, wait_until="networkidle")
        browser.close()
    return f"{sum(sizes):,} bytes in {len(sizes)} requests"


def first_answer() -> str:
    """Return the time from opening the address of an answer to seeing it, on a server that just started."""
    seconds = []
    with sync_playwright() as playwright:
        for _ in range(STARTS):
            port = free_port()
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            with running(our_command(port), port, XDG_CACHE_HOME=tempfile.mkdtemp()):
                page: Any = browser.new_page()
                started = time.perf_counter()
                page.goto(f"http://127.0.0.1:{port}/ask?q={QUESTION.replace(' ', '+')}", wait_until="commit")
                page.locator(".card, .not-found").first.wait_for()
                seconds.append(time.perf_counter() - started)
            browser.close()
    return f"{statistics.median(seconds):.2f} s (of {STARTS} starts: {min(seconds):.2f} to {max(seconds):.2f})"


def reading_cost(name: str, command: list[str], port: int, path: str, **settings: str) -> str:
    """Return the CPU time of a server for reading a page, and how much it sends."""
    url = f"http://127.0.0.1:{port}{path}"
    with running(command, port, **settings) as process:
        time.sleep(WARM_UP_SECONDS)
        response = httpx2.get(url, timeout=60, follow_redirects=True)
        response.raise_for_status()
        before = cpu_milliseconds(process.pid)
        for _ in range(READS):
            httpx2.get(url, timeout=60, follow_redirects=True)
        milliseconds = (cpu_milliseconds(process.pid) - before) / READS
    return f"| {name} | {milliseconds:.1f} | {len(response.content):,} |"


def main() -> None:
    """Measure everything and print it as Markdown."""
    port = free_port()
    with running(our_command(port), port):
        print(f"First view: {first_view(f'http://127.0.0.1:{port}/')}")
    print(f"First answer in Chromium, server just started: {first_answer()}")
    path, size = article_near(ARTICLE_BYTES)
    print(f"\nReading an article of {size:,} bytes ({path}):\n\n| | CPU, ms | bytes sent |\n| --- | --- | --- |")
    port = free_port()
    print(reading_cost("reader", our_command(port), port, f"/read/{ARCHIVE.stem}/{path}"))
    port = free_port()
    with running(our_command(port), port) as _:
        html = httpx2.get(f"http://127.0.0.1:{port}/original/{ARCHIVE.stem}/{path}").text
    content = re.search(r'src="(/content/[^"]+)"', html)
    port = free_port()
    print(reading_cost("as in the archive", our_command(port), port, content[1] if content else "/"))
    if kiwix := shutil.which("kiwix-serve"):
        port = free_port()
        command = [kiwix, "--port", str(port), str(ARCHIVE)]
        print(reading_cost("kiwix-serve", command, port, f"/{ARCHIVE.stem}/{path}"))
    if zimi := os.environ.get("ZIMI"):
        port, folder = free_port(), tempfile.mkdtemp()
        shutil.copy(ARCHIVE, folder)
        command = [zimi, "serve", "--port", str(port), "--host", "127.0.0.1", "--zim-dir", folder]
        print(reading_cost("Zimi", command, port, f"/w/{ARCHIVE.stem}/{path}"))


if __name__ == "__main__":
    main()
