"""A file server for tests: it supports ranges and If-Range, records requests, and fails on demand.

`python tests/support/mirror.py DIRECTORY` serves a directory and prints its URL.
"""

from __future__ import annotations

import asyncio
import hashlib
import ssl
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

_WRITE_BYTES = 1 << 16


@dataclass(frozen=True)
class Fault:
    """How requests for a path fail; by default they do not."""

    times: int = 10**9
    """How many requests fail before the next ones succeed."""
    status: int | None = None
    redirect: str | None = None
    cut_after: int | None = None
    """The connection is closed after this many bytes of the body."""
    missing_bytes: int = 0
    """How many bytes are missing at the end of the file."""
    flip_at: int | None = None
    """The offset of a byte that is wrong."""
    no_range: bool = False
    no_length: bool = False
    stalls: bool = False
    """Nothing is sent after the headers."""
    bytes_per_second: int | None = None
    compressed: bool = False
    etag: str | None = None
    no_etag: bool = False


@dataclass
class RecordedRequest:
    path: str
    headers: dict[str, str]


@dataclass
class Mirror:
    """Files by path, faults by path, and the requests that were received."""

    files: dict[str, bytes | Path] = field(default_factory=dict)
    faults: dict[str, Fault] = field(default_factory=dict)
    requests: list[RecordedRequest] = field(default_factory=list)
    port: int = 0
    required_user_agent: str = ""
    """Clients whose User-Agent has another start get 403."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def add(self, path: str, content: bytes) -> str:
        self.files[path] = content
        return self.url + path

    def requests_for(self, path: str) -> list[dict[str, str]]:
        """Return the headers of the requests for a path."""
        return [request.headers for request in self.requests if request.path == path]

    def _next_fault(self, path: str) -> Fault:
        fault = self.faults.get(path, Fault())
        if fault.times <= 0:
            return Fault()
        self.faults[path] = replace(fault, times=fault.times - 1)
        return fault

    async def handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._handle_request(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        target = urlsplit(head[0].split(" ")[1])
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        path = unquote(target.path) + (f"?{target.query}" if target.query else "")
        self.requests.append(RecordedRequest(path, headers))
        fault = self._next_fault(path)
        content = self.files.get(path)
        if self.required_user_agent and not headers.get("user-agent", "").startswith(self.required_user_agent):
            fault = Fault(status=403)
        if fault.redirect:
            return await _send_status(writer, f"302 Found\r\nLocation: {fault.redirect}")
        if fault.status or content is None:
            return await _send_status(writer, f"{fault.status or 404} No")
        if isinstance(content, Path):
            await _send_file(writer, content)
            return False
        await _send_content(writer, content, headers, fault)
        return False


async def _send_status(writer: asyncio.StreamWriter, status: str) -> bool:
    writer.write(f"HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n".encode())
    await writer.drain()
    return True


async def _send_file(writer: asyncio.StreamWriter, path: Path) -> None:
    with path.open("rb") as file:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {path.stat().st_size}\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        await asyncio.get_running_loop().sendfile(writer.transport, file)


async def _send_content(writer: asyncio.StreamWriter, content: bytes, headers: dict[str, str], fault: Fault) -> None:
    content = content[: len(content) - fault.missing_bytes]
    if fault.flip_at is not None:
        content = content[: fault.flip_at] + bytes([content[fault.flip_at] ^ 1]) + content[fault.flip_at + 1 :]
    etag = fault.etag or f'"{hashlib.md5(content).hexdigest()}"'
    first, last = 0, len(content) - 1
    lines = ["Connection: close", "Accept-Ranges: bytes"]
    if not fault.no_etag:
        lines.append(f"ETag: {etag}")
    if fault.compressed:
        lines.append("Content-Encoding: gzip")
    status = "200 OK"
    requested = headers.get("range", "").removeprefix("bytes=")
    if requested and not fault.no_range and headers.get("if-range", etag) == etag:
        start, _, end = requested.partition("-")
        first, last = int(start), min(int(end), last) if end else last
        status = "206 Partial Content" if first < len(content) else "416 Range Not Satisfiable"
        span = f"{first}-{last}" if first < len(content) else "*"
        lines.append(f"Content-Range: bytes {span}/{len(content)}")
    body = content[first : last + 1]
    if not fault.no_length:
        lines.append(f"Content-Length: {len(body)}")
    writer.write("\r\n".join([f"HTTP/1.1 {status}", *lines, "", ""]).encode())
    if fault.stalls:
        await asyncio.sleep(60)
    await _send_slowly(writer, body[: fault.cut_after], fault.bytes_per_second)


async def _send_slowly(writer: asyncio.StreamWriter, body: bytes, rate: int | None) -> None:
    step = min(_WRITE_BYTES, max(1, rate // 50)) if rate else _WRITE_BYTES
    for at in range(0, len(body), step):
        writer.write(body[at : at + step])
        await writer.drain()
        if rate:
            await asyncio.sleep(step / rate)


@contextmanager
def serve_mirror(mirror: Mirror, tls: ssl.SSLContext | None = None) -> Iterator[Mirror]:
    """Serve on a free port of this machine, in another thread."""
    loop = asyncio.new_event_loop()
    started = threading.Event()
    server: list[Any] = []

    async def start() -> None:
        server.append(await asyncio.start_server(mirror.handle_connection, "127.0.0.1", mirror.port, ssl=tls))
        mirror.port = server[0].sockets[0].getsockname()[1]
        started.set()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(start())
        loop.run_forever()

    async def end() -> None:
        server[0].close()
        tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    started.wait(10)
    try:
        yield mirror
    finally:
        asyncio.run_coroutine_threadsafe(end(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


def metalink_xml(name: str, content: bytes, *urls: str, sha256: str | None = None, piece: int = 0) -> bytes:
    """Return the Metalink of a file; the first URL has the best priority."""
    sha256 = sha256 or hashlib.sha256(content).hexdigest()
    mirrors = "".join(
        f'<url location="ch" priority="{number}">{url}</url>' for number, url in reversed([*enumerate(urls, 1)])
    )
    hashes = (
        [hashlib.sha1(content[at : at + piece]).hexdigest() for at in range(0, len(content), piece or 1)]
        if piece
        else []
    )
    pieces = (
        f'<pieces length="{piece}" type="sha-1">{"".join(f"<hash>{h}</hash>" for h in hashes)}</pieces>'
        if piece
        else ""
    )
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink">
  <file name="{name}"><size>{len(content)}</size>
    <hash type="md5">{hashlib.md5(content).hexdigest()}</hash><hash type="sha-256">{sha256}</hash>
    {pieces}<metaurl mediatype="torrent">{name}.torrent</metaurl>{mirrors}
    <url priority="1">ftp://example.org/{name}</url>
  </file>
</metalink>""".encode()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    with serve_mirror(Mirror({f"/{path.name}": path for path in folder.iterdir()})) as local:
        print(local.url, flush=True)  # noqa: T201
        sys.stdin.read()
