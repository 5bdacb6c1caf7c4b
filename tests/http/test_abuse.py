"""Malicious and faulty clients are refused with a clear error, and other clients are still served."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import select
import shutil
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest

from openzim_mcp.http.concurrency import BODY_TIMEOUT_SECONDS
from openzim_mcp.http.connections import HEADER_TIMEOUT_SECONDS, WRITE_TIMEOUT_SECONDS
from support.archives import write_zim
from support.frames import random_frames
from support.http_server import TOKEN, HttpServer, McpClient, read_reply
from support.stdio_server import (
    CLIENT_INFO,
    DEFAULT_VERSION,
    REQUEST_META,
    STATELESS_VERSION,
    TIMEOUT_SECONDS,
    child_pids,
    resident_mib,
    wait_until,
)

OTHER_TOKEN = "another-horse-battery"
ATTACKER, BYSTANDER, PROXY = "127.0.0.2", "127.0.0.7", "127.0.0.9"
INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": DEFAULT_VERSION, "capabilities": {}, "clientInfo": CLIENT_INFO},
    }
).encode()
CONTENT_TYPES = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
HOST = b"Host: localhost\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
STATELESS_HEADERS = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n"


def post(
    body: bytes = INITIALIZE, extra: bytes = b"", *, head: bytes = HOST + CONTENT_TYPES, path: bytes = b"/mcp"
) -> bytes:
    """Return the bytes of a request that is the last one on its connection."""
    return b"POST %s HTTP/1.1\r\n%s%sConnection: close\r\n\r\n%s" % (path, head, extra, body)


def sized_post(body: bytes = INITIALIZE, extra: bytes = b"", **parts: bytes) -> bytes:
    """The same with a Content-Length."""
    return post(body, extra + b"Content-Length: %d\r\n" % len(body), **parts)


def chunked_post(body: bytes, extra: bytes = b"") -> bytes:
    """The same with the body in one chunk."""
    return post(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body), CHUNKED + extra)


def stateless_call(request_id: int, tool: str = "zim_health", **arguments: Any) -> bytes:
    """Return the bytes of a tool call of the stateless protocol version."""
    params = {"name": tool, "arguments": arguments, "_meta": REQUEST_META}
    body = json.dumps({"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}).encode()
    headers = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n" % tool.encode()
    return sized_post(body, headers)


def statuses(data: bytes) -> list[int]:
    """Return the status of each response."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", data)]


@pytest.fixture(scope="module")
def archives(town_zim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("archives")
    shutil.copy(town_zim, directory)
    write_zim(directory / "long.zim", {"Long": "<h1>Long</h1>" + "<p>A long page.</p>" * 6000})
    return directory


@contextlib.contextmanager
def undamaged_server(directory: Path, file_limit: int | None = None, **settings: str) -> Iterator[HttpServer]:
    """Run a server, and check at the end that it is as it was before."""
    arguments = ("--mode", "advanced", directory)
    with HttpServer(arguments, {"WORKER__COUNT": "1", **settings}, file_limit=file_limit) as server:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        with McpClient(server.url, STATELESS_VERSION, headers=headers, source=BYSTANDER) as client:
            client.call("zim_health")
            before = len(child_pids(server.process.pid))
            yield server
            assert server.process.poll() is None, server.log
            assert not client.call("zim_health").get("isError")
        assert server.get("/readyz").status_code == 200
        wait_until(lambda: len(child_pids(server.process.pid)) <= before)
        assert not [line for line in server.lines if "Traceback" in line or " ERROR " in line], server.log


@pytest.fixture(scope="module")
def server(archives: Path) -> Iterator[HttpServer]:
    with undamaged_server(archives, WATCH_INTERVAL_SECONDS="1") as server:
        yield server


@pytest.fixture(scope="module")
def token_server(archives: Path) -> Iterator[HttpServer]:
    with undamaged_server(archives, AUTH_TOKEN=f"{TOKEN},{OTHER_TOKEN}", LOGGING__LEVEL="DEBUG") as server:
        yield server


@pytest.fixture(scope="module")
def limited_server(archives: Path) -> Iterator[HttpServer]:
    """A server whose buckets are not refilled while a test runs."""
    limits = {"RATE_LIMIT__ENABLED": "true", "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01"}
    with undamaged_server(archives, **limits, TRUSTED_PROXIES=PROXY) as server:
        yield server


@pytest.fixture(scope="module")
def bystander(server: HttpServer) -> Iterator[McpClient]:
    with McpClient(server.url, source=BYSTANDER) as client:
        yield client


@contextlib.contextmanager
def bystanders_served(server: HttpServer, pause: float = 0.05) -> Iterator[None]:
    """Call a tool from other addresses all the time: each call succeeds, and at least one while the block runs."""
    is_over, is_served = threading.Event(), threading.Event()

    def call_until_over() -> None:
        for number in itertools.count():
            # A new address for each call, so that none of them reaches its rate limit.
            source = f"127.0.{100 + number // 250 % 100}.{1 + number % 250}"
            try:
                with McpClient(server.url, STATELESS_VERSION, source=source) as client:
                    assert not client.call("zim_health").get("isError")
            finally:
                is_served.set()
            if is_over.wait(pause):
                return

    with ThreadPoolExecutor(1) as pool:
        calls = pool.submit(call_until_over)
        try:
            yield
            is_served.clear()
            assert is_served.wait(TIMEOUT_SECONDS)
        finally:
            is_over.set()
        calls.result()


def gauges(server: HttpServer, *names: str) -> list[float]:
    """Return the values of gauges in the server's metrics."""
    text = server.get("/metrics").text
    return [float(re.findall(rf"^openzim_mcp_{name} (\S+)", text, re.MULTILINE)[0]) for name in names]


def reset(connection: socket.socket) -> None:
    """Close a connection with a TCP reset."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


DEEP = b"[" * 100_000 + b"]" * 100_000
BODIES = {
    "empty": b"",
    "invalid JSON": b"{]",
    "half a message": INITIALIZE[:40],
    "two messages": INITIALIZE + INITIALIZE,
    "unclosed brackets": b"[" * 100_000,
    "deeply nested": DEEP,
    "deeply nested parameters": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":%s}}' % DEEP,
    "huge number": b'{"jsonrpc":"2.0","id":1%s,"method":"ping"}' % (b"0" * 100_000),
    "infinity": b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
    "invalid UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    "UTF-16": INITIALIZE.decode().encode("utf-16"),
    "lone surrogate": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    "NUL": b"\0" * 1000,
    "batch": b"[%s,%s]" % (INITIALIZE, INITIALIZE),
    "empty batch": b"[]",
    "nested batch": b"[[],[[]]]",
    "null": b"null",
    "string": b'"initialize"',
    "empty object": b"{}",
    "no version": b'{"method":"initialize"}',
    "JSON-RPC 1.0": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "object as id": b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    "null id": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "list as parameters": b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":[1]}',
    "unexpected response": b'{"jsonrpc":"2.0","id":1,"result":{}}',
}


@pytest.mark.parametrize("headers", [b"", STATELESS_HEADERS], ids=["initialize", "stateless"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_invalid_messages_are_refused(server: HttpServer, bystander: McpClient, body: bytes, headers: bytes) -> None:
    response = server.send_raw(sized_post(body, headers), source=ATTACKER)

    assert statuses(response) == [400]
    assert json.loads(response.partition(b"\r\n\r\n")[2])["error"]["code"] in {-32700, -32600, -32602}
    assert not bystander.call("zim_health").get("isError")


INVALID_REQUESTS = {
    "chunked with a length": (chunked_post(INITIALIZE, b"Content-Length: 4\r\n"), 400),
    "length with chunks": (post(INITIALIZE, b"Content-Length: 4\r\n" + CHUNKED), 400),
    "two lengths": (sized_post(extra=b"Content-Length: 3\r\n"), 400),
    "length with a sign": (post(extra=b"Content-Length: +5\r\n"), 400),
    "negative length": (post(extra=b"Content-Length: -5\r\n"), 400),
    "length of many digits": (post(extra=b"Content-Length: %s\r\n" % (b"9" * 5000)), 400),
    "length in words": (post(extra=b"Content-Length: ten\r\n"), 400),
    "space before the colon": (sized_post(extra=b"Transfer-Encoding : chunked\r\n"), 400),
    "unknown coding": (post(extra=b"Transfer-Encoding: xchunked\r\n"), 400),
    "two codings": (post(extra=CHUNKED + b"Transfer-Encoding: identity\r\n"), 400),
    "compressed chunks": (post(extra=b"Transfer-Encoding: gzip, chunked\r\n"), 400),
    "chunk without a length": (post(b"\r\nab\r\n0\r\n\r\n", CHUNKED), 400),
    "chunk length 0x2": (post(b"0x2\r\nab\r\n0\r\n\r\n", CHUNKED), 400),
    "negative chunk length": (post(b"-2\r\nab\r\n0\r\n\r\n", CHUNKED), 400),
    "huge chunk length": (post(b"f" * 30 + b"\r\nab\r\n0\r\n\r\n", CHUNKED), 400),
    "chunk without an end": (post(b"2\r\nabXX0\r\n\r\n", CHUNKED), 400),
    "bare carriage return": (sized_post(extra=b"X-A: b\rX-C: d\r\n"), 400),
    "NUL in a header": (sized_post(extra=b"X-A: b\0c\r\n"), 400),
    "header without a name": (sized_post(extra=b": b\r\n"), 400),
    "folded first header": (sized_post(head=b" X-A: b\r\n" + HOST + CONTENT_TYPES), 400),
    "two hosts": (sized_post(extra=HOST), 400),
    "no host": (sized_post(head=CONTENT_TYPES), 400),
    "no host in HTTP/1.0": (sized_post(head=CONTENT_TYPES).replace(b"HTTP/1.1", b"HTTP/1.0"), 400),
    "HTTP/0.9": (b"GET /mcp\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100 + b"\r\n\r\n", 400),
    "random bytes": (bytes(range(256)) * 10 + b"\r\n\r\n", 400),
    "target on another server": (sized_post(path=b"http://evil.example/mcp"), 421),
    "long header": (sized_post(extra=b"X-A: %s\r\n" % (b"a" * 40_000)), 431),
    "many headers": (sized_post(extra=b"X-A: b\r\n" * 10_000), 431),
    "text/plain": (sized_post(head=HOST + b"Content-Type: text/plain\r\nAccept: */*\r\n"), 415),
    "form, as pages can send": (sized_post(head=HOST + b"Content-Type: multipart/form-data\r\nAccept: */*\r\n"), 415),
    "no content type": (sized_post(head=HOST + b"Accept: */*\r\n"), 415),
    "two content types": (sized_post(head=HOST + CONTENT_TYPES.replace(b": app", b": text/plain, app", 1)), 415),
    "content type in a parameter": (
        sized_post(head=HOST + CONTENT_TYPES.replace(b": app", b": text/plain; a=app", 1)),
        415,
    ),
    "similar content type": (sized_post(head=HOST + CONTENT_TYPES.replace(b"/json\r", b"/json5\r", 1)), 415),
    "unsupported Accept": (sized_post(head=HOST + b"Content-Type: application/json\r\nAccept: image/png\r\n"), 406),
}


@pytest.mark.parametrize(("request_", "status"), INVALID_REQUESTS.values(), ids=INVALID_REQUESTS)
def test_ambiguous_requests_are_refused_and_disconnected(
    server: HttpServer, bystander: McpClient, request_: bytes, status: int
) -> None:
    start = time.monotonic()
    response = server.send_raw(request_ + sized_post(), source=ATTACKER)

    assert statuses(response) == [status]
    assert json.loads(response.partition(b"\r\n\r\n")[2])["error"]
    assert time.monotonic() - start < HEADER_TIMEOUT_SECONDS
    assert not bystander.call("zim_health").get("isError")


VALID_REQUESTS = {
    "lines that end in a line feed": sized_post().replace(b"\r\n", b"\n"),
    "folded header": sized_post(extra=b"X-A: b\r\n Transfer-Encoding: chunked\r\n"),
    "same length twice": sized_post(extra=b"Content-Length: %d\r\n" % len(INITIALIZE)),
    "absolute target": sized_post(path=b"http://localhost:8000/mcp", head=b"Host: evil.example\r\n" + CONTENT_TYPES),
    "upgrade": sized_post(extra=b"Connection: upgrade\r\nUpgrade: websocket\r\n"),
    "wrong content encoding": sized_post(extra=b"Content-Encoding: gzip\r\n"),
}


@pytest.mark.parametrize("request_", VALID_REQUESTS.values(), ids=VALID_REQUESTS)
def test_unusual_valid_requests_are_one_request(server: HttpServer, request_: bytes) -> None:
    response = server.send_raw(request_, source=ATTACKER)

    assert statuses(response) == [200]


HOSTS = (
    "evil.example localhost.evil.example localhost. user@localhost localhost:80@evil.example localhost:999999 "
    "localhost: localhost:-1 localhost:8000:8000 [::1 ::1 [::ffff:7f00:1] 127.1 0x7f.1 2130706433 127.0.0.1.nip.io "
    "localhost,evil.example localhost/ localhost# %6cocalhost 127.0.0.2 0.0.0.0 лocalhost"
).split()


@pytest.mark.parametrize("host", HOSTS)
def test_unknown_host_is_refused_naming_the_setting(server: HttpServer, bystander: McpClient, host: str) -> None:
    response = server.send_raw(sized_post(head=b"Host: %s\r\n" % host.encode() + CONTENT_TYPES), source=ATTACKER)

    assert statuses(response) == [421]
    assert b"OPENZIM_MCP_ALLOWED_HOSTS" in response
    assert not bystander.call("zim_health").get("isError")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8000"])
def test_loopback_hosts_are_allowed(server: HttpServer, host: str) -> None:
    assert statuses(
        server.send_raw(sized_post(head=b"Host: %s\r\n" % host.encode() + CONTENT_TYPES), source=ATTACKER)
    ) == [200]


ORIGINS = (
    "null NULL https://evil.example HTTPS://EVIL.EXAMPLE http://localhost.evil.example http://localhost@evil.example "
    "http://user@localhost http://localhost. http://localhost/ http://localhost:80:80 http://localhost#evil http:// "
    "http://[::1 http://127.1 http://127.0.0.1.nip.io file:// file://localhost chrome-extension://localhost localhost "
    "javascript://localhost http://лocalhost"
).split()


@pytest.mark.parametrize("origin", ORIGINS)
def test_unknown_origin_is_refused_naming_the_setting(server: HttpServer, bystander: McpClient, origin: str) -> None:
    response = server.send_raw(sized_post(extra=b"Origin: %s\r\n" % origin.encode()), source=ATTACKER)

    assert statuses(response) == [403]
    assert b"OPENZIM_MCP_CORS_ORIGINS" in response
    assert b"access-control-allow-origin" not in response.lower()
    assert not bystander.call("zim_health").get("isError")


def test_every_origin_header_has_to_be_allowed(server: HttpServer) -> None:
    both = b"Origin: http://localhost\r\nOrigin: https://evil.example\r\n"

    assert statuses(server.send_raw(sized_post(extra=both), source=ATTACKER)) == [403]


PATHS = (
    "//mcp /mcp/../metrics /mcp/%2e%2e/metrics /%2e%2e/mcp /mcp%2f..%2fmetrics /mcp;a=b /MCP mcp * /mcp\\ /./mcp /mcp/x "
    "/healthz/../mcp /mcp%00 /mcp%0d%0a /% /%zz /%ff /mcp#x /..%5cmetrics /metrics/ /healthz/"
).split()


@pytest.mark.parametrize("path", [*PATHS, "/" + "a" * 20_000, "/" + "../" * 5000 + "etc/passwd"])
def test_other_paths_are_not_found(
    server: HttpServer, token_server: HttpServer, bystander: McpClient, path: str
) -> None:
    for target in (server, token_server):
        response = target.send_raw(sized_post(path=path.encode()), source=ATTACKER)

        assert statuses(response) == [404]
    assert not bystander.call("zim_health").get("isError")


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp%2f", "/%6dcp", "/metrics", "/%6detrics", "/mcp?a=/healthz"])
def test_every_spelling_of_a_path_requires_a_token(token_server: HttpServer, path: str) -> None:
    method = b"GET" if "etrics" in path else b"POST"

    assert statuses(
        token_server.send_raw(sized_post(path=path.encode()).replace(b"POST", method), source=ATTACKER)
    ) == [401]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "CONNECT", "OPTIONS", "HEAD", "BREW", "post", "PROPFIND"])
@pytest.mark.parametrize("path", ["/mcp", "/readyz"])
def test_other_methods_are_refused(server: HttpServer, bystander: McpClient, method: str, path: str) -> None:
    response = server.send_raw(sized_post(path=path.encode()).replace(b"POST", method.encode()), source=ATTACKER)

    is_head = method == "HEAD"
    assert statuses(response) == ([200] if is_head and path == "/readyz" else [405])
    assert is_head or json.loads(response.partition(b"\r\n\r\n")[2])["error"]
    assert b"x-a:" not in response.lower()
    assert not bystander.call("zim_health").get("isError")


def test_large_content_length_is_refused_before_the_body(server: HttpServer, bystander: McpClient) -> None:
    head = post(b"", b"Content-Length: 9999999999\r\n").replace(b"Connection: close\r\n", b"")

    response = server.send_raw(head, source=ATTACKER)

    assert statuses(response) == [413]
    assert b"connection: close" in response.lower()
    assert not bystander.call("zim_health").get("isError")


def test_endless_bodies_are_cut_off_and_freed(server: HttpServer) -> None:
    before = resident_mib(server.process.pid)

    def flood(_number: int) -> list[int]:
        chunk = b"%x\r\n%s\r\n" % (2**20, b" " * 2**20)
        with server.connect(ATTACKER) as connection, contextlib.suppress(ConnectionError):
            connection.sendall(post(b"", CHUNKED).replace(b"Connection: close\r\n", b""))
            for _ in range(100):
                connection.sendall(chunk)
            return [0]
        return [413]

    with bystanders_served(server), ThreadPoolExecutor(8) as pool:
        results = list(pool.map(flood, range(24)))

    assert results == [[413]] * 24
    assert resident_mib(server.process.pid) - before < 64


def test_disconnects_during_a_request_are_not_errors(server: HttpServer, bystander: McpClient) -> None:
    for incomplete in (sized_post()[:30], sized_post()[:-10], chunked_post(INITIALIZE)[:-20]):
        for _ in range(20):
            with server.connect(ATTACKER) as connection:
                connection.sendall(incomplete)
                reset(connection)

    assert not bystander.call("zim_health").get("isError")
    wait_until(lambda: gauges(server, "in_flight") == [0])


def test_invalid_bytes_after_a_response_are_ignored(server: HttpServer, bystander: McpClient) -> None:
    with server.connect(ATTACKER) as connection:
        connection.sendall(post(b"", CHUNKED, path=b"/nothing").replace(b"Connection: close\r\n", b""))
        assert b"404" in connection.recv(65_536)
        connection.sendall(b"nonsense\r\n")
        response = connection.recv(65_536)

    assert statuses(response) == []
    assert not bystander.call("zim_health").get("isError")


def drip(connection: socket.socket, data: bytes) -> bytes:
    """Send a byte every quarter of a second until the server closes the connection; return what it sends."""
    response, position = b"", 0
    deadline = time.monotonic() + TIMEOUT_SECONDS
    with contextlib.suppress(ConnectionError):
        while time.monotonic() < deadline:
            if select.select([connection], [], [], 0.25)[0]:
                part = connection.recv(65_536)
                if not part:
                    return response
                response += part
            else:
                connection.sendall(data[position : position + 1])
                position += 1
        raise AssertionError("the server did not close the connection")
    return response


def send_slow_headers(server: HttpServer) -> bytes:
    with server.connect(ATTACKER) as connection:
        return drip(connection, sized_post(extra=b"X-A: b\r\n" * 100))


def send_nothing(server: HttpServer) -> bytes:
    with server.connect(ATTACKER) as connection:
        return drip(connection, b"")


def send_slow_second_request(server: HttpServer) -> bytes:
    with server.connect(ATTACKER) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        wait_until(lambda: connection.recv(65_536).endswith(b"ok\n"))
        return drip(connection, sized_post(extra=b"X-A: b\r\n" * 100))


def send_slow_body(server: HttpServer) -> bytes:
    with server.connect(ATTACKER) as connection:
        connection.sendall(post(b"{", b"Content-Length: 1000\r\n"))
        return drip(connection, b" " * 999)


def send_slow_chunks(server: HttpServer) -> bytes:
    with server.connect(ATTACKER) as connection:
        connection.sendall(post(b"", CHUNKED))
        return drip(connection, b"1\r\n \r\n" * 100)


def send_slow_body_to_unknown_path(server: HttpServer) -> bytes:
    with server.connect(ATTACKER) as connection:
        head = post(b"{", b"Content-Length: 1000\r\n", path=b"/x").replace(b"Connection: close\r\n", b"")
        connection.sendall(head)
        return drip(connection, b" " * 999)


def read_no_responses(server: HttpServer) -> bytes:
    request = stateless_call(1, "zim_get", zim_file_path="long", entry_path="Long")
    with server.connect("127.0.0.3", receive_buffer=4096) as connection:
        # Together the responses are larger than the buffers of the system, which would take them otherwise.
        connection.sendall(100 * request.replace(b"Connection: close\r\n", b""))
        poll = select.poll()
        poll.register(connection, select.POLLHUP | select.POLLERR)
        assert poll.poll(TIMEOUT_SECONDS * 1000), "the server did not close the connection"
        return b""


def abandon_stream_with_more_to_send(server: HttpServer) -> bytes:
    with McpClient(server.url, source="127.0.0.4") as client, server.connect("127.0.0.4") as connection:
        connection.sendall(stream_request(client) + b"GET /")
        assert b"200 OK" in connection.recv(65_536)
        reset(connection)
        wait_until(lambda: client.http.send(client.request("ping")).status_code == 200)
        wait_until(lambda: not has_stream(client))
        return b""


def stream_request(client: McpClient) -> bytes:
    """Return the bytes of the request for a session's event stream."""
    return b"GET /mcp HTTP/1.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n%s\r\n" % (
        str(client.session).encode(),
        HOST,
    )


def has_stream(client: McpClient) -> bool:
    """Whether the session of a client has an event stream already."""
    headers = {"Accept": "text/event-stream", "Mcp-Session-Id": str(client.session)}
    with client.http.stream("GET", client.url, headers=headers) as response:
        return response.status_code == 409


# What a slow client does; how many seconds it may do so; the responses that it gets.
SLOW_CLIENTS: dict[Callable[[HttpServer], bytes], tuple[float, list[int]]] = {
    send_slow_headers: (HEADER_TIMEOUT_SECONDS, []),
    send_nothing: (HEADER_TIMEOUT_SECONDS, []),
    send_slow_second_request: (HEADER_TIMEOUT_SECONDS, []),
    send_slow_body: (BODY_TIMEOUT_SECONDS, [408]),
    send_slow_chunks: (BODY_TIMEOUT_SECONDS, [408]),
    send_slow_body_to_unknown_path: (HEADER_TIMEOUT_SECONDS, [404]),
    read_no_responses: (WRITE_TIMEOUT_SECONDS, []),
    abandon_stream_with_more_to_send: (0, []),
}


def test_slow_clients_are_disconnected(server: HttpServer) -> None:
    def run_client(slow_client: Callable[[HttpServer], bytes]) -> tuple[float, bytes]:
        start = time.monotonic()
        response = slow_client(server)
        return time.monotonic() - start, response

    with bystanders_served(server, pause=0.2), ThreadPoolExecutor(len(SLOW_CLIENTS)) as pool:
        results = list(pool.map(run_client, SLOW_CLIENTS))

    for (slow_client, (seconds, codes)), (duration, response) in zip(SLOW_CLIENTS.items(), results, strict=True):
        assert duration > seconds - 1, slow_client.__name__
        assert statuses(response) == codes, slow_client.__name__
    wait_until(lambda: gauges(server, "in_flight", "streams") == [0, 0])


def count_descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def count_closed(connections: list[socket.socket]) -> int:
    """Return how many connections the server has closed."""
    poll = select.poll()
    for connection in connections:
        poll.register(connection, select.POLLIN)
    return len(poll.poll(0))


def check_health(connection: socket.socket) -> bool:
    """Whether a connection is served."""
    connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
    return connection.recv(65_536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("file_limit", [256, 640])
def test_connections_per_address_are_limited(archives: Path, file_limit: int) -> None:
    # Of these files 128 are for the server itself, and half of the others for one address.
    limit = (file_limit - 128) // 2
    with undamaged_server(archives, file_limit) as server:
        before = count_descriptors(server.process.pid)
        with bystanders_served(server), contextlib.ExitStack() as stack:
            accepted = [stack.enter_context(server.connect("127.0.0.5")) for _ in range(limit)]
            assert check_health(accepted[-1])
            refused = []
            for _ in range(1000 - limit):
                with contextlib.suppress(ConnectionResetError):
                    refused.append(stack.enter_context(server.connect("127.0.0.5")))
            wait_until(lambda: count_closed(refused) == len(refused))
            added = count_descriptors(server.process.pid) - before

        assert added < limit + 50
        wait_until(lambda: count_descriptors(server.process.pid) <= before + 2)


def test_trusted_proxy_may_have_more_connections(limited_server: HttpServer) -> None:
    with bystanders_served(limited_server), contextlib.ExitStack() as stack:
        opened = [stack.enter_context(limited_server.connect(PROXY)) for _ in range(400)]

        assert check_health(opened[-1])


def test_unread_and_abandoned_streams_are_removed(server: HttpServer, archives: Path, town_zim: Path) -> None:
    notifications = {"notifications": {"resourcesListChanged": True, "resourceSubscriptions": ["zim://files"]}}
    with contextlib.ExitStack() as stack:
        unread = []
        for number in range(10):
            client = stack.enter_context(McpClient(server.url, source=f"127.0.1.{number}"))
            client.post("resources/subscribe", {"uri": "zim://files"})
            connection = stack.enter_context(server.connect(f"127.0.1.{number}", receive_buffer=4096))
            connection.sendall(stream_request(client))
            unread.append(connection)
        stateless = stack.enter_context(McpClient(server.url, STATELESS_VERSION, source="127.0.1.99"))
        for _ in range(10):
            connection = stack.enter_context(server.connect("127.0.1.99", receive_buffer=4096))
            request = stateless.request("subscriptions/listen", notifications)
            head = b"".join(b"%s: %s\r\n" % header for header in request.headers.raw)
            connection.sendall(b"POST /mcp HTTP/1.1\r\n%s\r\n%s" % (head, request.content))
            unread.append(connection)
        wait_until(lambda: gauges(server, "streams", "subscriptions") == [20, 20])
        with (
            bystanders_served(server),
            McpClient(server.url, source="127.0.1.50") as reader,
            server.connect("127.0.1.50") as connection,
        ):
            connection.sendall(stream_request(reader))
            add_archives(archives, town_zim)
            wait_until(lambda: b"list_changed" in connection.recv(65_536))
        for connection in unread:
            reset(connection)

        wait_until(lambda: gauges(server, "streams", "subscriptions") == [0, 10])


def add_archives(directory: Path, archive: Path) -> None:
    """Add archives one by one, each in another scan of the directory."""
    for number in range(3):
        copy = Path(shutil.copy(archive, directory.parent / "copy"))
        copy.rename(directory / f"more_{number}.zim")
        time.sleep(1.2)


def test_unknown_sessions_are_not_found(server: HttpServer, bystander: McpClient) -> None:
    with McpClient(server.url, source=ATTACKER) as client:
        ended = str(client.session)
        assert client.end_session().status_code == 200
        for session in (ended, "0" * 32, "a", "../" * 20, "%00", "x" * 20_000, str(bystander.session)[:-1]):
            client.session = session
            assert client.post("ping").status_code == 404
            assert client.end_session().status_code == 404
        for number in range(500):
            client.session = f"{number:032x}"
            assert client.post("ping").status_code == 404

    assert not bystander.call("zim_health").get("isError")


def test_session_is_bound_to_its_token(token_server: HttpServer) -> None:
    with (
        McpClient(token_server.url, headers={"Authorization": f"Bearer {TOKEN}"}) as owner,
        McpClient(token_server.url, headers={"Authorization": f"Bearer {OTHER_TOKEN}"}, session=owner.session) as thief,
    ):
        assert thief.post("ping").status_code == 404
        assert thief.end_session().status_code == 404
        assert owner.post("ping").status_code == 200


def test_many_sessions_of_one_client_are_served(server: HttpServer) -> None:
    with McpClient(server.url, source="127.0.2.1") as client, bystanders_served(server):
        counts = Counter(start_another_session(client).status_code for _ in range(150))

    assert counts == {200: 150}


def start_another_session(client: McpClient) -> httpx2.Response:
    client.session = None
    return client.initialize()


def test_sessions_of_disconnected_clients_do_not_count(server: HttpServer) -> None:
    with bystanders_served(server):
        for number in range(1500):
            with server.connect(f"127.0.3.{number % 20}") as connection:
                connection.sendall(sized_post())
                reset(connection)

    with McpClient(server.url, source="127.0.2.3") as client:
        assert client.session


def test_guessing_tokens_is_slowed_down(token_server: HttpServer) -> None:
    start = time.monotonic()
    with McpClient(token_server.url, STATELESS_VERSION, source="127.0.4.1") as guesser:
        guesses = [
            guesser.post("tools/list", headers={"Authorization": f"Bearer secret-guess-{number:02}"})
            for number in range(30)
        ]
        seconds = time.monotonic() - start
        correct = guesser.post("tools/list", headers={"Authorization": f"Bearer {TOKEN}"})
    with McpClient(token_server.url, STATELESS_VERSION, source="127.0.4.2") as other_client:
        elsewhere = other_client.post("tools/list", headers={"Authorization": "Bearer secret-guess-00"})

    counts = Counter(response.status_code for response in guesses)
    assert counts[401] + counts[429] == 30
    assert 10 <= counts[401] <= 10 + seconds / 5
    assert all(int(guess.headers["retry-after"]) >= 1 for guess in guesses if guess.status_code == 429)
    assert (correct.status_code, elsewhere.status_code) == (200, 401)
    assert "secret-guess" not in token_server.log


CREDENTIALS = {
    "no token": "",
    "scheme only": "Authorization: Bearer\r\n",
    "wrong scheme": f"Authorization: Basic {TOKEN}\r\n",
    "no scheme": f"Authorization: {TOKEN}\r\n",
    "part of a token": f"Authorization: Bearer {TOKEN[:-1]}\r\n",
    "token with a suffix": f"Authorization: Bearer {TOKEN}x\r\n",
    "wrong case": f"Authorization: Bearer {TOKEN.upper()}\r\n",
    "two messages": f"Authorization: Bearer {TOKEN}\r\nAuthorization: Bearer {TOKEN}\r\n",
    "list of tokens": f"Authorization: Bearer {TOKEN},{OTHER_TOKEN}\r\n",
    "two tokens": f"Authorization: Bearer {TOKEN} {OTHER_TOKEN}\r\n",
    "long token": f"Authorization: Bearer {'a' * 20_000}\r\n",
    "wrong header": f"X-Authorization: Bearer {TOKEN}\r\nProxy-Authorization: Bearer {TOKEN}\r\n",
    "cookie": f"Cookie: access_token={TOKEN}\r\n",
}


@pytest.mark.parametrize("credentials", CREDENTIALS.values(), ids=CREDENTIALS)
def test_only_a_valid_bearer_token_is_accepted(token_server: HttpServer, credentials: str) -> None:
    source = f"127.0.5.{list(CREDENTIALS.values()).index(credentials) + 1}"

    response = token_server.send_raw(sized_post(extra=credentials.encode()), source=source)

    assert statuses(response) == [401]
    assert b"www-authenticate: bearer" in response.lower()


@pytest.mark.parametrize("query", ["access_token={}", "token={}", "Authorization=Bearer%20{}"])
def test_token_in_the_url_is_neither_accepted_nor_logged(token_server: HttpServer, query: str) -> None:
    path = f"/mcp?{query.format(TOKEN)}".encode()

    assert statuses(token_server.send_raw(sized_post(path=path), source="127.0.5.99")) == [401]
    with McpClient(token_server.url, STATELESS_VERSION, headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        client.call("zim_health")
    assert TOKEN not in token_server.log


def test_concurrent_calls_of_one_client_are_limited(limited_server: HttpServer) -> None:
    def call(number: int) -> str:
        response = limited_server.send_raw(stateless_call(number), source="127.0.6.1")
        return f"{statuses(response)[0]}{' rate_limited' if b'rate_limited' in response else ''}"

    with bystanders_served(limited_server), ThreadPoolExecutor(200) as pool:
        counts = Counter(pool.map(call, range(200)))

    assert set(counts) <= {"200", "200 rate_limited", "429"}
    assert counts["200"] == 20


def count_limited_calls(server: HttpServer, source: str, forwarded_for: Callable[[int], str]) -> int:
    """Call a tool 40 times; return how many calls were above the rate limit."""
    with McpClient(server.url, STATELESS_VERSION, source=source) as client:
        replies = [
            read_reply(
                client.post(
                    "tools/call",
                    {"name": "zim_health", "arguments": {}},
                    headers={"X-Forwarded-For": forwarded_for(number), "X-Real-IP": forwarded_for(number)},
                )
            )
            for number in range(40)
        ]
    return sum(reply["result"].get("isError", False) for reply in replies)


FORWARDED_FOR: dict[str, tuple[str, Callable[[int], str], int]] = {
    "client that claims many addresses": ("127.0.6.2", lambda number: f"10.1.1.{number}", 20),
    "client that claims to be a proxy": ("127.0.6.3", lambda number: f"10.1.2.{number}, {PROXY}", 20),
    "many clients of a proxy": (PROXY, lambda number: f"10.1.3.{number}", 0),
    "client of a proxy that claims many addresses": (PROXY, lambda number: f"10.9.9.{number}, 10.1.4.1", 20),
    "invalid address from a proxy": (PROXY, lambda number: f"<{number}>", 20),
}


@pytest.mark.parametrize(("source", "forwarded_for", "limited"), FORWARDED_FOR.values(), ids=FORWARDED_FOR)
def test_forwarded_addresses_are_believed_of_trusted_proxies_only(
    limited_server: HttpServer, source: str, forwarded_for: Callable[[int], str], limited: int
) -> None:
    assert count_limited_calls(limited_server, source, forwarded_for) == limited


def test_clients_cannot_forge_log_lines_or_response_headers(server: HttpServer) -> None:
    mark = "forged-7f3a"
    headers = f"X-Request-Id: {mark}\r\nX-Forwarded-For: {mark}\r\nUser-Agent: {mark}\r\nReferer: {mark}\r\n"

    response = server.send_raw(sized_post(extra=headers.encode()), source=ATTACKER)
    with McpClient(server.url, STATELESS_VERSION) as client:
        client.post("tools/call", {"name": f"{mark}\nWARNING forged", "arguments": {}}, headers={"Mcp-Name": ""})
        client.post("x\r\nforged", {}, headers={"Mcp-Method": ""})

    assert re.search(rb"x-request-id: [0-9a-f]{12}\r\n", response)
    assert mark.encode() not in response
    assert not any(line.startswith(("WARNING forged", "forged")) for line in server.lines)


@pytest.mark.parametrize("version", [DEFAULT_VERSION, STATELESS_VERSION])
def test_frames_of_any_shape_are_answered(server: HttpServer, bystander: McpClient, version: str) -> None:
    with McpClient(server.url, version, headers=dict(bystander.headers), source=ATTACKER) as client:
        for frame in random_frames(200):
            request = client.request("ping")
            headers = {**request.headers, "content-length": str(len(frame))}
            # A frame may be a stream that stays open: what counts is that it is answered.
            with client.http.stream("POST", client.url, headers=headers, content=frame) as response:
                assert response.status_code < 500, frame

    assert not bystander.call("zim_health").get("isError")
