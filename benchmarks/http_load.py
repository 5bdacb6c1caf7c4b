"""Serving over HTTP: how many calls a second for how many clients, beside other servers; and what hours of it leave.

python benchmarks/http_load.py                        all, into RESULTS.md
python benchmarks/http_load.py --quick                a few seconds of each, printed
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
from measure import OURS, PEER_VERSION, ROOT, ZIMS, Server, peer_command, report, table, tree

EVAL = ROOT.parent / "shared" / "eval"
SQLITE = ZIMS / "real" / "devdocs_en_sqlite_2025-04.zim"
LARGE = EVAL / "zims" / "ir_mid.zim"
THIS, PEER, KIWIX = "this project", f"openzim-mcp {PEER_VERSION}", "kiwix-serve"
MIX = ["search", "search", "search", "article", "article", "article", "outline", "outline", "question", "question"]
HANDSHAKE, MODERN = "2025-06-18", "2026-07-28"
HEADERS = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
MIB = 2**20

Call = tuple[str, dict[str, Any]]


@dataclass
class Asked:
    """What can be asked about an archive; nothing is asked twice before everything was."""

    archive: Path
    titles: list[tuple[str, str]]
    questions: list[str]
    picked: random.Random = field(default_factory=lambda: random.Random(11))

    def calls(self, kinds: list[str]) -> Iterator[Call]:
        """Return calls without end."""
        base = {"zim_file_path": str(self.archive)}
        for number in count(self.picked.randrange(len(self.titles))):
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
def about(archive: Path) -> Asked:
    """Return what can be asked about an archive."""
    zim = ZimArchive(archive)
    entries = map(zim._get_entry_by_id, range(zim.all_entry_count))  # noqa: SLF001
    items = [entry for entry in entries if not entry.is_redirect and entry.get_item().mimetype.startswith("text/html")]
    titles = [(entry.path, entry.title) for entry in items if entry.title.split()]
    random.Random(7).shuffle(titles)
    questions = [f"What is {title}?" for _, title in titles]
    if archive == LARGE:
        questions = [row["q"] for row in json.loads((EVAL / "data" / "squad_pub.json").read_text())["questions"]]
    return Asked(archive, titles, questions)


class Site(Server):
    """A running server that listens."""

    port: int

    @classmethod
    @contextmanager
    def serving(cls, command: list[str], **settings: str) -> Iterator[Site]:
        """Start a server on a free port, which the command has as {port}."""
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        site = cls.start([part.replace("{port}", str(port)) for part in command], **settings)
        site.port = port
        try:
            site.wait()
            yield site
        finally:
            site.process.terminate()
            site.process.wait(30)

    def wait(self) -> None:
        """Wait until it listens."""
        for _ in range(600):
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.1)
        raise RuntimeError("the server does not listen")


class Line:
    """A connection that says no more than it has to: client and server share the cores."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    @classmethod
    @asynccontextmanager
    async def open(cls, port: int, source: str | None = None) -> AsyncIterator[Line]:
        """Connect, from an address of this machine."""
        local = (source, 0) if source else None
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**24, local_addr=local)
        try:
            yield cls(reader, writer)
        finally:
            writer.close()

    async def exchange(self, method: str, path: str, headers: str = "", body: bytes = b"") -> tuple[int, str, bytes]:
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

    def drop(self) -> None:
        """Leave without a word."""
        own = self.writer.get_extra_info("socket")
        own.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Client:
    """A client of one revision of the protocol, with its session if that has any."""

    def __init__(self, line: Line, revision: str = HANDSHAKE) -> None:
        self.line, self.revision = line, revision
        self.session = ""
        self._numbers = count(1)

    async def begin(self) -> None:
        """Do the handshake, where there is one."""
        if self.revision == MODERN:
            return
        client = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": {"name": "b", "version": "1"}}
        _, head, _ = await self.post("initialize", client)
        self.session = f"Mcp-Session-Id: {re.findall(r'(?i)mcp-session-id: (.+)', head)[0].strip()}\r\n"
        await self.post("notifications/initialized", is_request=False)

    async def end(self) -> int:
        """End the session."""
        return (await self.line.exchange("DELETE", "/mcp", self.session))[0] if self.session else 200

    def message(self, method: str, params: dict[str, Any], *, is_request: bool = True) -> tuple[str, bytes]:
        """Return the headers and the body of a message."""
        told = f"{HEADERS}{self.session}MCP-Protocol-Version: {self.revision}\r\n"
        if method == "initialize":
            told = HEADERS
        if self.revision == MODERN:
            meta = {"protocolVersion": MODERN, "clientInfo": {"name": "b", "version": "1"}, "clientCapabilities": {}}
            params = params | {"_meta": {f"io.modelcontextprotocol/{name}": value for name, value in meta.items()}}
            told += f"Mcp-Method: {method}\r\n" + (f"Mcp-Name: {params['name']}\r\n" if "name" in params else "")
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        return told, json.dumps(message | ({"id": next(self._numbers)} if is_request else {})).encode()

    async def post(
        self, method: str, params: dict[str, Any] | None = None, *, is_request: bool = True
    ) -> tuple[int, str, bytes]:
        """Send a message and return the response."""
        return await self.line.exchange("POST", "/mcp", *self.message(method, params or {}, is_request=is_request))

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Call a tool and return how it ended."""
        status, _, body = await self.post("tools/call", {"name": tool, "arguments": arguments})
        if status == 200 and b'"isError":true' not in body and b'"error":{' not in body[:200]:
            return "ok"
        operation = re.search(rb"operation\W+(\w+)", body)
        return operation[1].decode() if operation else f"{status} {body[:200].decode()}"


class Reader:
    """A client of kiwix-serve, which ends a connection after each answer: what a browser asks for."""

    def __init__(self, line: Line) -> None:
        self._port = line.writer.get_extra_info("peername")[1]

    async def begin(self) -> None:
        """Have nothing to say first."""

    async def end(self) -> None:
        """Have nothing to say last."""

    async def call(self, tool: str, arguments: dict[str, Any]) -> str:
        """Ask for the page that shows what a tool would tell."""
        book = Path(arguments["zim_file_path"]).stem
        path = f"/{book}/{quote(arguments.get('entry_path', ''))}"
        if tool == "zim_search":
            path = f"/search?content={book}&pattern={quote_plus(arguments['query'])}&pageLength=10"
        async with Line.open(self._port) as line:
            status, _, _ = await line.exchange("GET", path)
        return "ok" if status == 200 else str(status)


@dataclass
class Figures:
    """What was measured with some clients."""

    took: list[float]
    seconds: float
    ends: Counter[str]

    @property
    def rate(self) -> float:
        """Calls a second."""
        return len(self.took) / self.seconds

    @property
    def cells(self) -> list[str]:
        """What a table shows."""
        late = statistics.quantiles(self.took, n=20)[18] if len(self.took) > 1 else self.took[0]
        return [f"{self.rate:.1f}", f"{statistics.median(self.took) * 1000:.0f}", f"{late * 1000:.0f}"]


async def measured(site: Site, kind: type[Client | Reader], clients: int, calls: Iterator[Call], given: Any) -> Figures:
    """Have clients call one thing after another; those under way when the time is over count too."""
    took: list[float] = []
    ends: Counter[str] = Counter()

    async def ask(client: Client | Reader, over: float) -> None:
        while (start := time.perf_counter()) < over:
            ends[await client.call(*next(calls))] += 1
            took.append(time.perf_counter() - start)

    async with AsyncExitStack() as lines:
        sources = [f"127.0.1.{number + 1}" for number in range(clients)]
        every = [kind(await lines.enter_async_context(Line.open(site.port, source))) for source in sources]
        await asyncio.gather(*(client.begin() for client in every))
        start = time.perf_counter()
        await asyncio.gather(*(ask(client, start + given.seconds) for client in every))
        seconds = time.perf_counter() - start
        # A server may have closed the connection of a client that had its last answer before the others had theirs.
        await asyncio.gather(*(client.end() for client in every), return_exceptions=True)
    return Figures(took, seconds, ends)


def compare(archive: Path, system: str, kinds: list[str], clients: list[int], given: Any) -> list[Figures]:
    """Measure one server with more and more clients; each server is asked the same in the same order."""
    commands = {
        THIS: [*OURS, "--mode", "advanced", "--transport", "http", "--port", "{port}"],
        PEER: [*peer_command(), "--mode", "advanced", "--transport", "http", "--port", "{port}"],
        KIWIX: [KIWIX, "--port", "{port}"],
    }
    with tempfile.TemporaryDirectory() as folder:
        own = Path(shutil.copy(archive, folder))
        served = folder if system != KIWIX else str(own)
        calls = replace(about(archive), archive=own, picked=random.Random(11)).calls(kinds)
        with Site.serving([*commands[system], served], CACHE__ENABLED="false") as site:
            kind: type[Client | Reader] = Reader if system == KIWIX else Client
            asyncio.run(measured(site, kind, 1, calls, argparse.Namespace(seconds=min(2.0, given.seconds))))
            found = [asyncio.run(measured(site, kind, number, calls, given)) for number in clients]
    for figures in found:
        if set(figures.ends) != {"ok"}:
            print(f"{system}, {archive.name}: {figures.ends.most_common(3)}", file=sys.stderr)
    return found


def throughput(given: argparse.Namespace) -> str:
    """Measure calls a second."""
    parts = []
    for archive in (SQLITE, LARGE):
        ours, theirs = (compare(archive, system, MIX, given.clients, given) for system in (THIS, PEER))
        rows = [
            [str(number), *one.cells, *other.cells, f"{one.rate / other.rate:.0f}"]
            for number, one, other in zip(given.clients, ours, theirs, strict=True)
        ]
        columns = [f"{name}: {what}" for name in (THIS, PEER) for what in ("calls/s", "median ms", "95 % ms")]
        parts.append(table([f"`{archive.name}`, clients", *columns, "times"], rows))
        parts.append(alone(archive, given))
    return "\n\n".join([_ABOUT, *parts])


def alone(archive: Path, given: argparse.Namespace) -> str:
    """Measure searching and reading alone, which kiwix-serve does too."""
    systems = [THIS, PEER, *([KIWIX] if shutil.which(KIWIX) else [])]
    rows = []
    for kind in ("search", "article"):
        for system in systems:
            figures = compare(archive, system, [kind], [8], given)[0]
            rows.append([f"{kind}, {system}", *figures.cells])
    return table([f"`{archive.name}`, 8 clients", "calls/s", "median ms", "95 % ms"], rows)


_ABOUT = (
    "Of ten calls three are searches, three articles, two outlines and two questions, by clients that each have an "
    f"address, a session ({HANDSHAKE}) and a connection, and ask again as soon as they have an answer. The answer "
    "caches are off and nothing is asked twice before all was, which on the small archive happens: a page that a "
    "worker has parsed may still be with it. No rate limit. Client and server share the cores. "
    "`kiwix-serve` answers with pages for browsers: its own search result, and the article as it is in the archive."
)


@dataclass
class Burden:
    """What a server takes at one moment."""

    server: float
    workers: float
    descriptors: int
    processes: int

    @classmethod
    def of(cls, site: Site) -> Burden:
        """Look at a server's processes."""
        own, *others = list(tree(site.process.pid))
        files = sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in (own, *others))
        return cls(_resident([own]), _resident(others), files, 1 + len(others))

    @property
    def cells(self) -> list[str]:
        """What a table shows."""
        return [f"{self.server:.1f}", f"{self.workers:.1f}", str(self.descriptors), str(self.processes)]


def _resident(pids: Iterable[int]) -> float:
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE") / MIB


class Day:
    """Clients as they come: of both eras, with sessions and streams that begin and end, and some that err."""

    def __init__(self, site: Site, every: list[Asked], seconds: float) -> None:
        self._site = site
        self._over = time.monotonic() + seconds
        self.ends: Counter[str] = Counter()
        self._asked = [asked.calls(MIX) for asked in every]

    async def pass_by(self, visitors: int) -> None:
        """Have all clients do what they do until the time is over."""
        eras = [(HANDSHAKE, MODERN)[number % 2] for number in range(visitors)]
        visits = [self._visits(f"127.0.1.{number + 1}", era) for number, era in enumerate(eras)]
        await asyncio.gather(*visits, self._errs("127.0.2.1"), self._errs("127.0.2.2"))

    async def _visits(self, source: str, revision: str) -> None:
        """Come, open a stream, ask, leave, and come again."""
        drawn = random.Random(source)
        while time.monotonic() < self._over:
            async with Line.open(self._site.port, source) as line, Line.open(self._site.port, source) as stream:
                client = Client(line, revision)
                await client.begin()
                await self._listen(client, stream)
                for _ in range(drawn.randrange(5, 30)):
                    self.ends[await client.call(*next(drawn.choice(self._asked)))] += 1
                    await asyncio.sleep(drawn.random() * 0.4)
                if drawn.random() < 0.5:
                    stream.drop()
                status = await client.end()
                self.ends["ok" if status == 200 else f"the end: {status}"] += 1

    async def _listen(self, client: Client, stream: Line) -> None:
        if client.revision == MODERN:
            wanted = {"resourcesListChanged": True, "resourceSubscriptions": ["zim://files"]}
            stream.send("POST", "/mcp", *client.message("subscriptions/listen", {"notifications": wanted}))
        else:
            await client.post("resources/subscribe", {"uri": "zim://files"})
            stream.send("GET", "/mcp", f"Accept: text/event-stream\r\n{client.session}")

    async def _errs(self, source: str) -> None:
        """Ask for what there is not, in ways that are wrong."""
        wrong = [
            ("POST", "/mcp", HEADERS, b"{"),
            ("POST", "/mcp", HEADERS + "Mcp-Session-Id: nobody\r\n", b"{}"),
            ("POST", "/nothing", HEADERS, b"{}"),
            ("PUT", "/mcp", "", b"x" * 1000),
            ("GET", "/mcp", "Origin: https://evil.example\r\n", b""),
            ("GET", "/mcp", "", b""),
        ]
        while time.monotonic() < self._over:
            async with Line.open(self._site.port, source) as line:
                for request in wrong:
                    with suppress(asyncio.IncompleteReadError):
                        status, _, body = await line.exchange(*request)
                        refused = 400 <= status < 500
                        self.ends["refused" if refused else f"{status} {body[:200].decode()}"] += 1
                    if line.reader.at_eof():
                        break
                    await asyncio.sleep(0.2)


def soak(given: argparse.Namespace) -> str:
    """Serve for a while and see what it leaves behind."""
    with tempfile.TemporaryDirectory() as folder:
        every = [replace(about(archive), archive=Path(shutil.copy(archive, folder))) for archive in (SQLITE, LARGE)]
        command = [*OURS, "--mode", "advanced", "--transport", "http", "--port", "{port}", folder]
        with Site.serving(command, RATE_LIMIT__ENABLED="true") as site:
            ends, rows = asyncio.run(_soak(site, every, given))
    header = [f"{given.visitors + 2} clients", "server, MB", "its workers, MB", "descriptors", "processes"]
    told = ", ".join(f"{number} {how}" for how, number in sorted(ends.items()))
    return f"{table(header, rows)}\n\nCalls that ended: {told}."


async def _soak(site: Site, every: list[Asked], given: argparse.Namespace) -> tuple[Counter[str], list[list[str]]]:
    warm = 60.0 if given.soak >= 2 else given.soak * 20
    whole = given.soak * 60
    day = Day(site, every, warm + whole)
    passing = asyncio.create_task(day.pass_by(given.visitors))
    await asyncio.sleep(warm)
    rows = [[f"after {warm:.0f} s of it", *Burden.of(site).cells]]
    for part in range(1, 5):
        await asyncio.sleep(whole / 4 - (1 if part == 4 else 0))
        rows.append([f"{warm + whole * part / 4:.0f} s", *Burden.of(site).cells])
    await passing
    await asyncio.sleep(3)
    rows.append(["when all have left", *Burden.of(site).cells])
    return day.ends, rows


PARTS = {"throughput": throughput, "soak": soak}


def main() -> None:
    """Run all and write the report, or print a part of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, help="a part; the result is printed only")
    parser.add_argument("--quick", action="store_true", help="a few seconds of each; the result is printed only")
    parser.add_argument("--soak", type=float, help="minutes of mixed use (10)")
    parser.add_argument("--seconds", type=float, help="seconds for each number of clients (10)")
    parser.add_argument("--clients", type=int, nargs="+", help="numbers of clients (1 8 32 128)")
    parser.add_argument("--visitors", type=int, default=16, help="clients of the mixed use (16)")
    given = parser.parse_args()
    given.soak = given.soak or (0.5 if given.quick else 10)
    given.seconds = given.seconds or (2 if given.quick else 10)
    given.clients = given.clients or ([1, 8] if given.quick else [1, 8, 32, 128])
    body = "\n\n".join(PARTS[name](given) for name in ([given.only] if given.only else PARTS))
    if given.only or given.quick:
        print(body)
    else:
        report("http_load", shlex.join(["python", "benchmarks/http_load.py", *sys.argv[1:]]), body)


if __name__ == "__main__":
    main()
