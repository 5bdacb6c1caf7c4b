"""HTTP under load: calls per second by number of clients, compared with other servers; memory after long use.

python benchmarks/http_load.py                        everything, into RESULTS.md
python benchmarks/http_load.py --quick                a few seconds per measurement, printed
python benchmarks/http_load.py --only soak --soak 60  one part, printed
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
    if archive == LARGE:
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
        self.session = f"Mcp-Session-Id: {re.findall(r'(?i)mcp-session-id: (.+)', head)[0].strip()}\r\n"
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

    @property
    def rate(self) -> float:
        """Calls per second."""
        return len(self.latencies) / self.seconds

    @property
    def cells(self) -> list[str]:
        """The cells of a table row."""
        p95 = statistics.quantiles(self.latencies, n=20)[18] if len(self.latencies) > 1 else self.latencies[0]
        return [f"{self.rate:.1f}", f"{statistics.median(self.latencies) * 1000:.0f}", f"{p95 * 1000:.0f}"]


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
        start = time.perf_counter()
        await asyncio.gather(*(make_calls(client, start + options.seconds) for client in running))
        seconds = time.perf_counter() - start
        # A server may have closed the connection of a client that got its last response before the others did.
        await asyncio.gather(*(client.end() for client in running), return_exceptions=True)
    return Figures(latencies, seconds, results)


def measure_server(archive: Path, system: str, kinds: list[str], clients: list[int], options: Any) -> list[Figures]:
    """Measure one server with increasing numbers of clients; all servers get the same calls in the same order."""
    commands = {
        THIS: [*OURS, "--mode", "advanced", "--transport", "http", "--port", "{port}"],
        PEER: [*peer_command(), "--mode", "advanced", "--transport", "http", "--port", "{port}"],
        KIWIX: [KIWIX, "--port", "{port}"],
    }
    with tempfile.TemporaryDirectory() as folder:
        archive_copy = Path(shutil.copy(archive, folder))
        target = folder if system != KIWIX else str(archive_copy)
        calls = replace(workload(archive), archive=archive_copy, generator=random.Random(11)).calls(kinds)
        with HttpServer.running([*commands[system], target], CACHE__ENABLED="false") as server:
            kind: type[Client | KiwixClient] = KiwixClient if system == KIWIX else Client
            asyncio.run(run_clients(server, kind, 1, calls, argparse.Namespace(seconds=min(2.0, options.seconds))))
            measurements = [asyncio.run(run_clients(server, kind, number, calls, options)) for number in clients]
    for figures in measurements:
        if set(figures.results) != {"ok"}:
            print(f"{system}, {archive.name}: {figures.results.most_common(3)}", file=sys.stderr)
    return measurements


def measure_throughput(options: argparse.Namespace) -> str:
    """Measure calls per second."""
    parts = []
    for archive in (SQLITE, LARGE):
        ours, theirs = (measure_server(archive, system, MIX, options.clients, options) for system in (THIS, PEER))
        rows = [
            [str(number), *our.cells, *their.cells, f"{our.rate / their.rate:.0f}"]
            for number, our, their in zip(options.clients, ours, theirs, strict=True)
        ]
        columns = [f"{name}: {what}" for name in (THIS, PEER) for what in ("calls/s", "median ms", "95 % ms")]
        parts.append(table([f"`{archive.name}`, clients", *columns, "times"], rows))
        parts.append(measure_single_kinds(archive, options))
    return "\n\n".join([_ABOUT, *parts])


def measure_single_kinds(archive: Path, options: argparse.Namespace) -> str:
    """Measure searching and reading separately, which kiwix-serve can do too."""
    systems = [THIS, PEER, *([KIWIX] if shutil.which(KIWIX) else [])]
    rows = []
    for kind in ("search", "article"):
        for system in systems:
            figures = measure_server(archive, system, [kind], [8], options)[0]
            rows.append([f"{kind}, {system}", *figures.cells])
    return table([f"`{archive.name}`, 8 clients", "calls/s", "median ms", "95 % ms"], rows)


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


class MixedUse:
    """Clients of both protocol versions, with sessions and streams that begin and end; some send wrong requests."""

    def __init__(self, server: HttpServer, workloads: list[Workload], seconds: float) -> None:
        self._server = server
        self._end_time = time.monotonic() + seconds
        self.results: Counter[str] = Counter()
        self._calls = [work.calls(MIX) for work in workloads]

    async def run(self, clients: int) -> None:
        """Run all clients until the end time."""
        versions = [(INITIALIZE_VERSION, STATELESS_VERSION)[number % 2] for number in range(clients)]
        good = [self._run_client(f"127.0.1.{number + 1}", version) for number, version in enumerate(versions)]
        await asyncio.gather(*good, self._run_wrong_client("127.0.2.1"), self._run_wrong_client("127.0.2.2"))

    async def _run_client(self, source: str, version: str) -> None:
        """Connect, open a stream, make calls, disconnect; repeat."""
        generator = random.Random(source)
        while time.monotonic() < self._end_time:
            async with (
                Connection.open(self._server.port, source) as connection,
                Connection.open(self._server.port, source) as stream,
            ):
                client = Client(connection, version)
                await client.begin()
                await self._listen(client, stream)
                for _ in range(generator.randrange(5, 30)):
                    self.results[await client.call(*next(generator.choice(self._calls)))] += 1
                    await asyncio.sleep(generator.random() * 0.4)
                if generator.random() < 0.5:
                    stream.reset()
                status = await client.end()
                self.results["ok" if status == 200 else f"DELETE: {status}"] += 1

    async def _listen(self, client: Client, stream: Connection) -> None:
        if client.version == STATELESS_VERSION:
            filters = {"resourcesListChanged": True, "resourceSubscriptions": ["zim://files"]}
            stream.send("POST", "/mcp", *client.message("subscriptions/listen", {"notifications": filters}))
        else:
            await client.post("resources/subscribe", {"uri": "zim://files"})
            stream.send("GET", "/mcp", f"Accept: text/event-stream\r\n{client.session}")

    async def _run_wrong_client(self, source: str) -> None:
        """Send invalid requests."""
        requests = [
            ("POST", "/mcp", HEADERS, b"{"),
            ("POST", "/mcp", HEADERS + "Mcp-Session-Id: nobody\r\n", b"{}"),
            ("POST", "/nothing", HEADERS, b"{}"),
            ("PUT", "/mcp", "", b"x" * 1000),
            ("GET", "/mcp", "Origin: https://evil.example\r\n", b""),
            ("GET", "/mcp", "", b""),
        ]
        while time.monotonic() < self._end_time:
            async with Connection.open(self._server.port, source) as connection:
                for request in requests:
                    with suppress(asyncio.IncompleteReadError):
                        status, _, body = await connection.request(*request)
                        refused = 400 <= status < 500
                        self.results["refused" if refused else f"{status} {body[:200].decode()}"] += 1
                    if connection.reader.at_eof():
                        break
                    await asyncio.sleep(0.2)


def measure_soak(options: argparse.Namespace) -> str:
    """Serve mixed use for a while and measure memory, descriptors and processes."""
    with tempfile.TemporaryDirectory() as folder:
        workloads = [
            replace(workload(archive), archive=Path(shutil.copy(archive, folder))) for archive in (SQLITE, LARGE)
        ]
        command = [*OURS, "--mode", "advanced", "--transport", "http", "--port", "{port}", folder]
        with HttpServer.running(command, RATE_LIMIT__ENABLED="true") as server:
            results, rows = asyncio.run(_soak(server, workloads, options))
    header = [
        f"{options.mixed_clients + 2} clients",
        "server, MB",
        "worker processes, MB",
        "file descriptors",
        "processes",
    ]
    counts = ", ".join(f"{number} {outcome}" for outcome, number in sorted(results.items()))
    return f"{table(header, rows)}\n\nResults: {counts}."


async def _soak(
    server: HttpServer, workloads: list[Workload], options: argparse.Namespace
) -> tuple[Counter[str], list[list[str]]]:
    warm = 60.0 if options.soak >= 2 else options.soak * 20
    duration = options.soak * 60
    mixed_use = MixedUse(server, workloads, warm + duration)
    clients = asyncio.create_task(mixed_use.run(options.mixed_clients))
    await asyncio.sleep(warm)
    rows = [[f"{warm:.0f} s", *Usage.of(server).cells]]
    for part in range(1, 5):
        await asyncio.sleep(duration / 4 - (1 if part == 4 else 0))
        rows.append([f"{warm + duration * part / 4:.0f} s", *Usage.of(server).cells])
    await clients
    await asyncio.sleep(3)
    rows.append(["after the last client left", *Usage.of(server).cells])
    return mixed_use.results, rows


PARTS = {"throughput": measure_throughput, "soak": measure_soak}


def main() -> None:
    """Run all parts and write the report, or print one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="run one part and print it")
    parser.add_argument("--quick", action="store_true", help="measure a few seconds each and print the results")
    parser.add_argument("--soak", type=float, help="minutes of mixed use (10)")
    parser.add_argument("--seconds", type=float, help="seconds per number of clients (10)")
    parser.add_argument("--clients", type=int, nargs="+", help="numbers of clients (1 8 32 128)")
    parser.add_argument("--mixed-clients", type=int, default=16, help="clients of the mixed use (16)")
    options = parser.parse_args()
    options.soak = options.soak or (0.5 if options.quick else 10)
    options.seconds = options.seconds or (2 if options.quick else 10)
    options.clients = options.clients or ([1, 8] if options.quick else [1, 8, 32, 128])
    body = "\n\n".join(PARTS[name](options) for name in ([options.only] if options.only else PARTS))
    if options.only or options.quick:
        print(body)
    else:
        report("http_load", shlex.join(["python", "benchmarks/http_load.py", *sys.argv[1:]]), body)


if __name__ == "__main__":
    main()
