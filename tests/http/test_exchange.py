from __future__ import annotations

import base64
import contextlib
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import Message

from openzim_mcp.http.exchange import ByteBudget, Exchange
from support.archives import write_zim
from support.http_server import HttpServer, McpClient
from support.stdio_server import DEFAULT_VERSION, STATELESS_VERSION, wait_until

FILE_BYTES = 7_000_000


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    text = base64.b64encode(random.Random(5).randbytes(FILE_BYTES)).decode()[:FILE_BYTES]
    return write_zim(tmp_path_factory.mktemp("archives") / "large.zim", {"Page": "<p>Hello.</p>", "file.txt": text})


@pytest.fixture(scope="module")
def server(archive: Path) -> Iterator[HttpServer]:
    with HttpServer(("--mode", "advanced", archive), {"WORKER__COUNT": "1"}) as server:
        yield server


def resident_mib(server: HttpServer) -> float:
    """Return the memory of the server process that is not shared with others."""
    rows = dict(line.split(":") for line in Path(f"/proc/{server.process.pid}/status").read_text().splitlines())
    return int(rows["RssAnon"].split()[0]) / 1024


def send_unread(server: HttpServer, client: McpClient, stack: contextlib.ExitStack) -> socket.socket:
    """Ask for a large file over a connection that is not read."""
    connection = stack.enter_context(server.connect(receive_buffer=4096))
    request = client.request("tools/call", {"name": "zim_get", "arguments": {"entry_path": "file.txt", "binary": True}})
    head = b"".join(b"%s: %s\r\n" % header for header in request.headers.raw)
    connection.sendall(b"POST /mcp HTTP/1.1\r\n%s\r\n%s" % (head, request.content))
    return connection


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="memory is read from /proc")
@pytest.mark.parametrize("version", [DEFAULT_VERSION, STATELESS_VERSION])
def test_unread_responses_are_bounded_and_their_memory_comes_back(server: HttpServer, version: str) -> None:
    with McpClient(server.url, version) as client:
        size = len(client.call("zim_get", entry_path="file.txt", binary=True)["structuredContent"]["data"])
        wait_until(lambda: "openzim_mcp_in_flight 0.0" in server.get("/metrics").text)
        before = resident_mib(server)
        with contextlib.ExitStack() as stack:
            for _ in range(12):
                connection = send_unread(server, client, stack)
                connection.settimeout(30)
                assert connection.recv(15).startswith(b"HTTP/1.1 ")
            time.sleep(1)
            while_unread = resident_mib(server)
        wait_until(lambda: "openzim_mcp_in_flight 0.0" in server.get("/metrics").text)
        wait_until(lambda: resident_mib(server) - before < 30)

    assert size > FILE_BYTES
    # 32 MiB for this client, and what is on its way to there.
    assert while_unread - before < 150


def test_large_response_is_complete(server: HttpServer) -> None:
    with McpClient(server.url) as client:
        data = client.call("zim_get", entry_path="file.txt", binary=True)["structuredContent"]["data"]

    assert len(base64.b64decode(data)) == FILE_BYTES


async def send_all(exchange: Exchange, content_type: bytes, *bodies: bytes) -> None:
    """Send a response as an application does."""
    await exchange.send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", content_type)]})
    for body in bodies:
        await exchange.send({"type": "http.response.body", "body": body, "more_body": True})
    await exchange.send({"type": "http.response.body", "body": b"", "more_body": False})


@pytest.mark.anyio
@pytest.mark.parametrize("content_type", [b"application/json", b"text/event-stream"])
async def test_response_above_the_limit_becomes_an_error(content_type: bytes) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    exchange = Exchange(send, ByteBudget(100_000, 100_000), "client")
    await send_all(exchange, content_type, b"x" * 200_000)
    await exchange.finish()
    await exchange.fail(
        {"type": "http", "method": "POST", "path": "/mcp", "headers": []}, send_nothing, 7, "Read the others first."
    )

    body = b"".join(message.get("body", b"") for message in sent)
    assert b"Read the others first." in body
    assert b"xxx" not in body
    assert not sent[-1].get("more_body")
    assert sent[0]["status"] == (503 if content_type == b"application/json" else 200)


async def send_nothing() -> Message:
    return {"type": "http.disconnect"}


@pytest.mark.anyio
async def test_parts_of_a_response_stay_in_order() -> None:
    sent: list[bytes] = []
    budget = ByteBudget(1_000_000, 1_000_000)

    async def send(message: Message) -> None:
        sent.append(message.get("body", b""))

    bodies = [b"a" * 10, b"b" * 200_000, b"c" * 10, b"d" * 100_000, b"e"]
    exchange = Exchange(send, budget, "client")
    await send_all(exchange, b"text/event-stream", *bodies)
    await exchange.finish()

    assert b"".join(sent) == b"".join(bodies)
    assert max(map(len, sent)) <= 64 * 1024
    assert budget._bytes.total() == 0
