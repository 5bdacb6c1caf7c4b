"""A server in use: clients of both protocol versions come and go, call tools and listen; some send wrong requests."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from http_load import HEADERS, INITIALIZE_VERSION, MIX, STATELESS_VERSION, Client, Connection

if TYPE_CHECKING:
    from http_load import HttpServer, Workload


class MixedUse:
    """Clients of both protocol versions, with sessions and streams that begin and end; some send wrong requests."""

    def __init__(self, server: HttpServer, workloads: list[Workload], seconds: float) -> None:
        self._server = server
        self._end_time = time.monotonic() + seconds
        self.results: Counter[str] = Counter()
        self.failures: list[str] = []
        """The calls that failed, with their arguments."""
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
                    await self._call(client, *next(generator.choice(self._calls)))
                    await asyncio.sleep(generator.random() * 0.4)
                if generator.random() < 0.5:
                    stream.reset()
                status = await client.end()
                self.results["ok" if status == 200 else f"DELETE: {status}"] += 1

    async def _call(self, client: Client, tool: str, arguments: dict[str, Any]) -> None:
        outcome = await client.call(tool, arguments)
        self.results[outcome] += 1
        if outcome != "ok":
            self.failures.append(f"{outcome}: {tool} {arguments}")

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
