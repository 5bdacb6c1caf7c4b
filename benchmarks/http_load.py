"""HTTP under load: calls per second and CPU per call by number of clients, compared with other servers.

python benchmarks/http_load.py           everything, into RESULTS.md
python benchmarks/http_load.py --quick   a few seconds per measurement, printed
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import re
import shlex
import shutil
import socket
import statistics
import struct
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

from libzim.reader import Archive as ZimArchive
from measure import OURS, PEER_VERSION, ROOT, ZIMS, Server, peer_command, process_tree, report, table

EVAL = ROOT.parent / "shared" / "eval"
SQLITE = ZIMS / "real" / "devdocs_en_sqlite_2025-04.zim"
LARGE = EVAL / "zims" / "ir_mid.zim"
THIS, PEER, KIWIX = "this project", f"openzim-mcp {PEER_VERSION}", "kiwix-serve"
TWO = f"{THIS}, --workers 2"
LOAD_SYSTEMS = {SQLITE: (THIS, TWO), LARGE: (THIS, TWO, PEER)}
"""The other server takes minutes for the same calls on the first archive."""
MIX = ["search", "search", "search", "article", "article", "article", "outline", "outline", "question", "question"]
INITIALIZE_VERSION, STATELESS_VERSION = "2025-06-18", "2026-07-28"
HEADERS = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
MIB = 2**20

Call = tuple[str, dict[str, Any]]


@dataclass
class Workload:
    """Calls about an archive; none is repeated before all others were made."""

    archive: Path
    titles: list[tuple[str, str]]
    questions: list[str]
    generator: random.Random = field(default_factory=lambda: random.Random(11))

    def calls(self, kinds: list[str]) -> Iterator[Call]:
        """Yield calls without end."""
        base: dict[str, Any] = {"zim_file_path": str(self.archive)}
        for number in count(self.generator.randrange(len(self.titles))):
            path, title = self.titles[number % len(self.titles)]
            other = self.titles[(number * 31 + 7) % len(self.titles)][1]
            words = f"{title.split()[0]} {other.split()[-1]}"
            question = self.questions[number % len(self.questions)]
            yield {
                "search": ("zim_search", base | {"query": words, "limit": 10}),
                "article": ("zim_get", base | {"entry_path": path}),
                "outline": ("zim_get", base | {"entry_path": path, "view": "toc"}),
                "question": ("zim_query", base | {"query": question}),
            }[kinds[number % len(kinds)]]


@cache
def workload(archive: Path) -> Workload:
    """Return the calls about an archive."""
    zim = ZimArchive(archive)
    entries = map(zim._get_entry_by_id, range(zim.all_entry_count))  # noqa: SLF001
    items = [entry for entry in entries if not entry.is_redirect and entry.get_item().mimetype.startswith("text/html")]
    titles = [(entry.path, entry.title) for entry in items if entry.title.split()]
    random.Random(7).shuffle(titles)
    questions = [f"What is {title}?" for _, title in titles]
    if archive.name == LARGE.name:
        questions = [row["q"] for row in json.loads((EVAL / "data" / "squad_pub.json").read_text())["questions"]]
    return Workload(archive, titles, questions)


class HttpServer(Server):
    """A running HTTP server."""

    port: int

    @classmethod
    @contextmanager
    def running(cls, command: list[str], **settings: str) -> Iterator[HttpServer]:
        """Start a server on a free port, which replaces {port} in the command."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
        server = cls.start([part.replace("{port}", str(port)) for part in command], **settings)
        server.port = port
        try:
            server.wait()
            yield server
        finally:
            server.process.terminate()
            server.process.wait(30)

    def wait(self) -> None:
        """Wait until the port accepts connections."""
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)
        raise RuntimeError("the server does not accept connections")


class Connection:
    """A minimal HTTP/1.1 connection: client and server share the cores."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    @asynccontextmanager
    async def open(cls, port: int, source: str | None = None) -> AsyncIterator[Connection]:
        """Connect, from a options loopback address if there is one."""
        local = (source, 0) if source else None
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24, local_addr=local)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    async def request(self, method: str, path: str, headers: str = "", body: bytes = b"") -> tuple[int, str, bytes]:
        """Send a request and return the status, the headers and the body of the response."""
        self.send(method, path, headers, body)
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        return int(head[9:12]), head, await self._body(head.lower())

    def send(self, method: str, path: str, headers: str, body: bytes = b"") -> None:
        """Send a request."""
        length = f"Content-Length: {len(body)}\r\n" if body else ""
        self.writer.write(f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{length}{headers}\r\n".encode() + body)

    async def _body(self, head: str) -> bytes:
        if length := re.search(r"content-length: (\d+)", head):
            return await self.reader.readexactly(int(length[1]))
        parts = []
        while size := int((await self.reader.readuntil(b"\r\n")).split(b";")[0], 16):
            parts.append(await self.reader.readexactly(size + 2))
        await self.reader.readexactly(2)
        return b"".join(part[:-2] for part in parts)

    def reset(self) -> None:
        """Close with a TCP reset."""
        tcp_socket = self.writer.get_extra_info("socket")
        tcp_socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Client:
    """A client of one protocol version, with its session if that version has sessions."""

    def __init__(self, connection: Connection, version: str = INITIALIZE_VERSION) -> None:
        self.connection, self.version = connection, version
        self.session = ""
        self._numbers = count(1)

    async def begin(self) -> None:
        """Initialize, if the version has `initialize`."""
        if self.version == STATELESS_VERSION:
            return
        client = {
            "protocolVersion": INITIALIZE_VERSION,
            "capabilities": {},
            "clientInfo": {"name": "b", "version": "1"},
        }
        _, head, _ = await self.post("initialize", client)
        session = re.search(r"(?i)mcp-session-id: (.+)\r", head)  # several processes have none
        self.session = f"Mcp-Session-Id: {session[1]}\r\n" if session else ""
        await self.post("notifications/initialized", is_request=False)

    async def end(self) -> int:
        """End the session."""
        return (await self.connection.request("DELETE", "/mcp", self.session))[0] if self.session else 200

    def message(self, method: str, params: dict[str, Any], *, is_request: bool = True) -> tuple[str, bytes]:
        """Return the headers and the body of a message."""
        headers = f"{HEADERS}{self.session}MCP-Protocol-Version: {self.version}\r\n"
        if method == "initialize":
            headers = HEADERS
        if self.version == STATELESS_VERSION:
            meta = {
                "protocolVersion": STATELESS_VERSION,
                "clientInfo": {"name": "b", "version": "1"},
                "clientCapabilities": {},
            }
            params = params | {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}}
            headers += f"Mcp-Method: {method}\r\n" + (f"Mcp-Name: {params['name']}\r\n" if "name" in params else "")
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        return headers, json.dumps(message | ({"id": next(self._numbers)} if is_request else {})).encode()

    async def post(
        self, method: str, params: dict[str, Any] | None = None, *, is_request: bool = True
    ) -> tuple[int, str, bytes]:
        """Send a message and return the response."""
        return await self.connection.request("POST", "/mcp", *self.message(method, params or {}, is_request=is_request))

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool and return `ok` or the error."""
        status, _, body = await self.post("tools/call", {"name": tool, "arguments": arguments})
        if status == 200 and b'"isError":true' not in body and b'"error":{' not in body[:200]:
            return "ok"
        operation = re.search(rb"operation\W+(\w+)", body)
        return operation[1].decode() if operation else f"{status} {body[:200].decode()}"


class KiwixClient:
    """A client of kiwix-serve, which closes the connection after each response; it requests what a browser would."""

    def __init__(self, connection: Connection) -> None:
        self._port = connection.writer.get_extra_info("peername")[1]

    async def begin(self) -> None:
        """Do nothing: there is no session."""

    async def end(self) -> None:
        """Do nothing: there is no session."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Request the page that corresponds to a tool call."""
        book = Path(arguments["zim_file_path"]).stem
        path = f"/{book}/{quote(arguments.get('entry_path', ''))}"
        if tool == "zim_search":
            path = f"/search?content={book}&pattern={quote_plus(arguments['query'])}&pageLength=10"
        async with Connection.open(self._port) as connection:
            status, _, _ = await connection.request("GET", path)
        return "ok" if status == 200 else str(status)


@dataclass
class Figures:
    """Measurements with one number of clients."""

    latencies: list[float]
    seconds: float
    results: Counter[str]
    cpu_ms: float = 0.0

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.latencies) / self.seconds

    @property
    def cells(self) -> list[str]:
        """The cells of a table row."""
        p95 = statistics.quantiles(self.latencies, n=20)[18] if len(self.latencies) > 1 else self.latencies[0]
        median = statistics.median(self.latencies)
        cpu = self.cpu_ms / len(self.latencies)
        return [f"{self.rate:.1f}", f"{median * 1000:.0f}", f"{p95 * 1000:.0f}", f"{cpu:.1f}"]


async def run_clients(
    server: HttpServer, kind: type[Client | KiwixClient], clients: int, calls: Iterator[Call], options: Any
) -> Figures:
    """Let clients make one call after another; calls in progress at the end count too."""
    latencies: list[float] = []
    results: Counter[str] = Counter()

    async def make_calls(client: Client | KiwixClient, end_time: float) -> None:
        while (start := time.perf_counter()) < end_time:
            results[await client.call(*next(calls))] += 1
            latencies.append(time.perf_counter() - start)

    async with AsyncExitStack() as connections:
        sources = [f"127.0.1.{number + 1}" for number in range(clients)]
        running = [
            kind(await connections.enter_async_context(Connection.open(server.port, source))) for source in sources
        ]
        await asyncio.gather(*(client.begin() for client in running))
        cpu_before, start = server.cpu(), time.perf_counter()
        await asyncio.gather(*(make_calls(client, start + options.seconds) for client in running))
        seconds, cpu_ms = time.perf_counter() - start, server.cpu() - cpu_before
        # A server may have closed the connection of a client that got its last response before the others did.
        await asyncio.gather(*(client.end() for client in running), return_exceptions=True)
    return Figures(latencies, seconds, results, cpu_ms)


def measure_server(archive: Path, system: str, kinds: list[str], clients: list[int], options: Any) -> list[Figures]:
    """Measure one server with increasing numbers of clients; all servers get the same calls in the same order."""
    http = ["--mode", "advanced", "--transport", "http", "--port", "{port}"]
    commands = {
        THIS: lambda: [*OURS, *http, str(archive.parent)],
        TWO: lambda: [*OURS, *http, "--workers", "2", str(archive.parent)],
        PEER: lambda: [*peer_command(), *http, str(archive.parent)],
        KIWIX: lambda: [KIWIX, "--port", "{port}", str(archive)],
    }
    calls = replace(workload(archive), generator=random.Random(11)).calls(kinds)
    with HttpServer.running(commands[system](), CACHE__ENABLED="false") as server:
        kind: type[Client | KiwixClient] = KiwixClient if system == KIWIX else Client
        asyncio.run(run_clients(server, kind, 1, calls, argparse.Namespace(seconds=min(2.0, options.seconds))))
        wait_for_jobs(server)
        measurements = [asyncio.run(run_clients(server, kind, number, calls, options)) for number in clients]
        print(f"{system}, {kinds[0]}: {Usage.of(server)}", file=sys.stderr)
    for figures in measurements:
        if set(figures.results) != {"ok"}:
            print(f"{system}, {archive.name}: {figures.results.most_common(3)}", file=sys.stderr)
    return measurements


def wait_for_jobs(server: HttpServer) -> None:
    """Wait until indexes are built that the first calls asked for: a job has no deadline."""
    for _ in range(600):
        time.sleep(0.5)
        commands = [Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0") for pid in process_tree(server.process.pid)]
        if not any(b"openzim_mcp.worker.main" in command and b"0" in command for command in commands):
            return


def measure_throughput(options: argparse.Namespace) -> str:
    """Measure calls per second, and what a call costs."""
    parts = []
    for original in options.archives:
        with tempfile.TemporaryDirectory() as folder:
            archive = Path(shutil.copy(original, folder))
            parts += [measure_load(archive, LOAD_SYSTEMS[original], options), measure_single_kinds(archive, options)]
    return "\n\n".join([_ABOUT, *parts])


def measure_load(archive: Path, systems: Iterable[str], options: argparse.Namespace) -> str:
    """Measure the mix of calls with increasing numbers of clients."""
    rows = []
    for system in systems:
        measurements = measure_server(archive, system, MIX, options.clients, options)
        rows += [
            [f"{system}, {number} clients", *figures.cells]
            for number, figures in zip(options.clients, measurements, strict=True)
        ]
    return table([f"`{archive.name}`, mixed calls", *COLUMNS], rows)


def measure_single_kinds(archive: Path, options: argparse.Namespace) -> str:
    """Measure searching and reading separately, which kiwix-serve can do too."""
    systems = [THIS, *([KIWIX] if shutil.which(KIWIX) else [])]
    rows = []
    for kind in ("search", "article"):
        for system in systems:
            figures = measure_server(archive, system, [kind], [8], options)[0]
            rows.append([f"{kind}, {system}", *figures.cells])
    return table([f"`{archive.name}`, 8 clients", *COLUMNS], rows)


COLUMNS = ["calls/s", "median ms", "95 % ms", "CPU ms per call"]
_ABOUT = (
    "Of ten calls, three are searches, three articles, two outlines and two questions. Each client has its own "
    f"address, session ({INITIALIZE_VERSION}) and connection, and sends the next call when it has a response. Result "
    "caches and rate limits are off. No call is repeated before all others were made; on the small archive calls do "
    "repeat, and a worker may still have the parsed page. Clients and server share the cores. `kiwix-serve` returns "
    "pages for browsers: its own search results, and the article as stored."
)


@dataclass
class Usage:
    """The resources that a server uses at one moment."""

    server_mib: float
    workers_mib: float
    descriptors: int
    processes: int

    @classmethod
    def of(cls, server: HttpServer) -> Usage:
        """Measure a server's processes."""
        main, *workers = list(process_tree(server.process.pid))
        files = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in (main, *workers))
        return cls(_resident_mib([main]), _resident_mib(workers), files, 1 + len(workers))

    @property
    def cells(self) -> list[str]:
        """The cells of a table row."""
        return [f"{self.server_mib:.1f}", f"{self.workers_mib:.1f}", str(self.descriptors), str(self.processes)]


def _resident_mib(pids: Iterable[int]) -> float:
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / MIB


def main() -> None:
    """Measure and write the report, or print it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="measure a few seconds each and print the results")
    parser.add_argument("--seconds", type=float, help="seconds per number of clients (10)")
    parser.add_argument("--clients", type=int, nargs="+", help="numbers of clients (1 8 32 128)")
    parser.add_argument("--archive", choices=["small", "large"], help="measure with one of the archives only")
    options = parser.parse_args()
    options.archives = {"small": [SQLITE], "large": [LARGE]}.get(options.archive or "", [SQLITE, LARGE])
    options.seconds = options.seconds or (2 if options.quick else 10)
    options.clients = options.clients or ([1, 8] if options.quick else [1, 8, 32, 128])
    body = measure_throughput(options)
    if options.quick:
        print(body)
    else:
        report("http_load", shlex.join(["python", "benchmarks/http_load.py", *sys.argv[1:]]), body)


if __name__ == "__main__":
    main()
