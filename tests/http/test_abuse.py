"""Clients that mean harm, or do not know better: each is refused in a way it can understand, and the others are served."""

from __future__ import annotations

import contextlib
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

from support.http_server import TOKEN, HttpServer, McpClient, answer
from support.stdio_server import DEFAULT_VERSION, REQUEST_META, STATELESS_VERSION, child_pids

OTHER_TOKEN = "another-horse-battery"
ATTACKER, NEIGHBOUR, PROXY = "127.0.0.2", "127.0.0.7", "127.0.0.9"
INITIALIZE = json.dumps(
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {"protocolVersion": DEFAULT_VERSION, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
    }
).encode()
TYPES = b"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
HOST = b"Host: localhost\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
NOW = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: server/discover\r\n"


def post(body: bytes = INITIALIZE, extra: bytes = b"", *, head: bytes = HOST + TYPES, path: bytes = b"/mcp") -> bytes:
    """Return a request that is the last one on its connection."""
    return b"POST %s HTTP/1.1\r\n%s%sConnection: close\r\n\r\n%s" % (path, head, extra, body)


def sized(body: bytes = INITIALIZE, extra: bytes = b"", **parts: bytes) -> bytes:
    """The same, with the length of its body."""
    return post(body, extra + b"Content-Length: %d\r\n" % len(body), **parts)


def in_chunks(body: bytes, extra: bytes = b"") -> bytes:
    """The same, in one chunk."""
    return post(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body), CHUNKED + extra)


def modern_call(number: int, tool: str = "zim_health", **arguments: Any) -> bytes:
    """Return a call of a tool that needs no session."""
    params = {"name": tool, "arguments": arguments, "_meta": REQUEST_META}
    body = json.dumps({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}).encode()
    told = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: %s\r\n" % tool.encode()
    return sized(body, told)


def statuses(answered: bytes) -> list[int]:
    """Return the status of each response."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3})", answered)]


@pytest.fixture(scope="module")
def shelf(town_zim: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shelf")
    shutil.copy(town_zim, folder)
    return folder


@contextlib.contextmanager
def unharmed(folder: Path, **settings: str) -> Iterator[HttpServer]:
    """Serve, and see at the end that the server is as it was."""
    with HttpServer(("--mode", "advanced", folder), {"WORKER__COUNT": "1", **settings}) as web:
        with McpClient(
            web.url, STATELESS_VERSION, headers={"Authorization": f"Bearer {TOKEN}"}, source=NEIGHBOUR
        ) as visit:
            visit.call("zim_health")
            before = len(child_pids(web.process.pid))
            yield web
            assert web.process.poll() is None, web.log
            assert not visit.call("zim_health").get("isError")
        assert httpx2.get(f"{web.root}/readyz").status_code == 200
        assert becomes(True, lambda: len(child_pids(web.process.pid)) <= before)
        assert not [line for line in web.lines if "Traceback" in line or " ERROR " in line], web.log


@pytest.fixture(scope="module")
def web(shelf: Path) -> Iterator[HttpServer]:
    with unharmed(shelf, WATCH_INTERVAL_SECONDS="1") as web:
        yield web


@pytest.fixture(scope="module")
def guarded(shelf: Path) -> Iterator[HttpServer]:
    with unharmed(shelf, AUTH_TOKEN=f"{TOKEN},{OTHER_TOKEN}", LOGGING__LEVEL="DEBUG") as web:
        yield web


@pytest.fixture(scope="module")
def limited(shelf: Path) -> Iterator[HttpServer]:
    with unharmed(shelf, RATE_LIMIT__ENABLED="true", RATE_LIMIT__REQUESTS_PER_SECOND="2", TRUSTED_PROXIES=PROXY) as web:
        yield web


@pytest.fixture(scope="module")
def neighbour(web: HttpServer) -> Iterator[McpClient]:
    with McpClient(web.url, source=NEIGHBOUR) as visit:
        yield visit


@contextlib.contextmanager
def neighbour_served(web: HttpServer, within: float = 3.0, pause: float = 0.05) -> Iterator[None]:
    """Have a well-behaved client of another address ask all the while: every answer comes, and soon."""
    took: list[float] = []
    is_over = threading.Event()

    def ask() -> None:
        with McpClient(web.url, STATELESS_VERSION, source=NEIGHBOUR) as visit:
            while not (is_over.wait(pause) and took):
                start = time.monotonic()
                assert not visit.call("zim_health").get("isError")
                took.append(time.monotonic() - start)

    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(ask)
        try:
            yield
        finally:
            is_over.set()
        asking.result()
    assert max(took) < within


def numbers(web: HttpServer, *names: str) -> list[float]:
    """Return what the server says of itself."""
    text = httpx2.get(f"{web.root}/metrics").text
    return [float(re.findall(rf"^openzim_mcp_{name} (\S+)", text, re.MULTILINE)[0]) for name in names]


def becomes(wanted: object, look: Callable[[], object], seconds: float = 10) -> bool:
    """Wait until something is what it should be."""
    end = time.monotonic() + seconds
    while look() != wanted:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def reset(line: socket.socket) -> None:
    """Leave without a word."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()


DEEP = b"[" * 100_000 + b"]" * 100_000
BODIES = {
    "nothing": b"",
    "no JSON": b"{]",
    "half of it": INITIALIZE[:40],
    "two of them": INITIALIZE + INITIALIZE,
    "brackets without end": b"[" * 100_000,
    "brackets": DEEP,
    "brackets in the parameters": b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":%s}}' % DEEP,
    "a number without end": b'{"jsonrpc":"2.0","id":1%s,"method":"ping"}' % (b"0" * 100_000),
    "infinity": b'{"jsonrpc":"2.0","id":1e999,"method":"ping"}',
    "no UTF-8": b'{"jsonrpc":"2.0","id":1,"method":"\xff\xfe"}',
    "UTF-16": INITIALIZE.decode().encode("utf-16"),
    "half of a pair": b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    "NUL": b"\0" * 1000,
    "a batch": b"[%s,%s]" % (INITIALIZE, INITIALIZE),
    "an empty batch": b"[]",
    "a batch of batches": b"[[],[[]]]",
    "null": b"null",
    "a word": b'"initialize"',
    "an empty object": b"{}",
    "no JSON-RPC": b'{"method":"initialize"}',
    "JSON-RPC 1.0": b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
    "an object for an id": b'{"jsonrpc":"2.0","id":{},"method":"ping"}',
    "no id": b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
    "a list of parameters": b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":[1]}',
    "an answer to nothing": b'{"jsonrpc":"2.0","id":1,"result":{}}',
}


@pytest.mark.parametrize("era", [b"", NOW], ids=["handshake", "modern"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_messages_that_are_none_are_refused(web: HttpServer, neighbour: McpClient, body: bytes, era: bytes) -> None:
    answered = web.raw(sized(body, era), source=ATTACKER)

    assert statuses(answered) == [400]
    assert json.loads(answered.partition(b"\r\n\r\n")[2])["error"]["code"] in {-32700, -32600, -32602}
    assert not neighbour.call("zim_health").get("isError")


FORMS = {
    "two ways to say how long it is": (in_chunks(INITIALIZE, b"Content-Length: 4\r\n"), 400),
    "the same the other way round": (post(INITIALIZE, b"Content-Length: 4\r\n" + CHUNKED), 400),
    "two lengths": (sized(extra=b"Content-Length: 3\r\n"), 400),
    "a length with a sign": (post(extra=b"Content-Length: +5\r\n"), 400),
    "a negative length": (post(extra=b"Content-Length: -5\r\n"), 400),
    "a length of many digits": (post(extra=b"Content-Length: %s\r\n" % (b"9" * 5000)), 400),
    "a length in words": (post(extra=b"Content-Length: ten\r\n"), 400),
    "a space before the colon": (sized(extra=b"Transfer-Encoding : chunked\r\n"), 400),
    "an unknown coding": (post(extra=b"Transfer-Encoding: xchunked\r\n"), 400),
    "two codings": (post(extra=CHUNKED + b"Transfer-Encoding: identity\r\n"), 400),
    "a coding around the chunks": (post(extra=b"Transfer-Encoding: gzip, chunked\r\n"), 400),
    "a chunk of no length": (post(b"\r\nab\r\n0\r\n\r\n", CHUNKED), 400),
    "a chunk of a strange length": (post(b"0x2\r\nab\r\n0\r\n\r\n", CHUNKED), 400),
    "a chunk of a negative length": (post(b"-2\r\nab\r\n0\r\n\r\n", CHUNKED), 400),
    "a chunk of an endless length": (post(b"f" * 30 + b"\r\nab\r\n0\r\n\r\n", CHUNKED), 400),
    "a chunk that does not end": (post(b"2\r\nabXX0\r\n\r\n", CHUNKED), 400),
    "a bare carriage return": (sized(extra=b"X-A: b\rX-C: d\r\n"), 400),
    "NUL in a header": (sized(extra=b"X-A: b\0c\r\n"), 400),
    "a header without a name": (sized(extra=b": b\r\n"), 400),
    "headers that fold at once": (sized(head=b" X-A: b\r\n" + HOST + TYPES), 400),
    "two hosts": (sized(extra=HOST), 400),
    "no host": (sized(head=TYPES), 400),
    "no host in HTTP/1.0": (sized(head=TYPES).replace(b"HTTP/1.1", b"HTTP/1.0"), 400),
    "HTTP/0.9": (b"GET /mcp\r\n\r\n", 400),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    "TLS": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"a" * 100 + b"\r\n\r\n", 400),
    "noise": (bytes(range(256)) * 10 + b"\r\n\r\n", 400),
    "a target on another server": (sized(path=b"http://evil.example/mcp"), 404),
    "a long header": (sized(extra=b"X-A: %s\r\n" % (b"a" * 40_000)), 431),
    "many headers": (sized(extra=b"X-A: b\r\n" * 10_000), 431),
    "plain text": (sized(head=HOST + b"Content-Type: text/plain\r\nAccept: */*\r\n"), 400),
    "a form, as pages can send": (sized(head=HOST + b"Content-Type: multipart/form-data\r\nAccept: */*\r\n"), 400),
    "no type": (sized(head=HOST + b"Accept: */*\r\n"), 400),
    "two types": (sized(head=HOST + TYPES.replace(b": app", b": text/plain, app", 1)), 400),
    "a type in a parameter": (sized(head=HOST + TYPES.replace(b": app", b": text/plain; a=app", 1)), 400),
    "a type that is nearly right": (sized(head=HOST + TYPES.replace(b"/json\r", b"/json5\r", 1)), 415),
    "nothing that it takes": (sized(head=HOST + b"Content-Type: application/json\r\nAccept: image/png\r\n"), 406),
}


@pytest.mark.parametrize(("request_", "status"), FORMS.values(), ids=FORMS)
def test_requests_that_can_be_misread_are_refused_and_end_the_connection(
    web: HttpServer, neighbour: McpClient, request_: bytes, status: int
) -> None:
    start = time.monotonic()
    answered = web.raw(request_ + sized(), source=ATTACKER)

    assert statuses(answered) == [status]
    assert time.monotonic() - start < 5
    assert not neighbour.call("zim_health").get("isError")


READINGS = {
    "lines that end in a line feed alone": sized().replace(b"\r\n", b"\n"),
    "a header on two lines": sized(extra=b"X-A: b\r\n Transfer-Encoding: chunked\r\n"),
    "the same length twice": sized(extra=b"Content-Length: %d\r\n" % len(INITIALIZE)),
    "an upgrade to something else": sized(extra=b"Connection: upgrade\r\nUpgrade: websocket\r\n"),
    "a coding that is not there": sized(extra=b"Content-Encoding: gzip\r\n"),
}


@pytest.mark.parametrize("request_", READINGS.values(), ids=READINGS)
def test_what_the_standard_lets_pass_is_one_request_and_not_two(web: HttpServer, request_: bytes) -> None:
    answered = web.raw(request_, source=ATTACKER)

    assert statuses(answered) == [200]


HOSTS = (
    "evil.example localhost.evil.example localhost. user@localhost localhost:80@evil.example localhost:999999 "
    "localhost: localhost:-1 localhost:8000:8000 [::1 ::1 [::ffff:7f00:1] 127.1 0x7f.1 2130706433 127.0.0.1.nip.io "
    "localhost,evil.example localhost/ localhost# %6cocalhost 127.0.0.2 0.0.0.0 лocalhost"
).split()


@pytest.mark.parametrize("host", HOSTS)
def test_another_host_is_refused_by_the_name_of_the_setting(web: HttpServer, neighbour: McpClient, host: str) -> None:
    answered = web.raw(sized(head=b"Host: %s\r\n" % host.encode() + TYPES), source=ATTACKER)

    assert statuses(answered) == [421]
    assert b"OPENZIM_MCP_ALLOWED_HOSTS" in answered
    assert not neighbour.call("zim_health").get("isError")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:8000"])
def test_this_machine_is_served_by_all_its_names(web: HttpServer, host: str) -> None:
    assert statuses(web.raw(sized(head=b"Host: %s\r\n" % host.encode() + TYPES), source=ATTACKER)) == [200]


ORIGINS = (
    "null NULL https://evil.example HTTPS://EVIL.EXAMPLE http://localhost.evil.example http://localhost@evil.example "
    "http://user@localhost http://localhost. http://localhost/ http://localhost:80:80 http://localhost#evil http:// "
    "http://[::1 http://127.1 http://127.0.0.1.nip.io file:// file://localhost chrome-extension://localhost localhost "
    "javascript://localhost http://лocalhost"
).split()


@pytest.mark.parametrize("origin", ORIGINS)
def test_another_origin_is_refused_by_the_name_of_the_setting(
    web: HttpServer, neighbour: McpClient, origin: str
) -> None:
    answered = web.raw(sized(extra=b"Origin: %s\r\n" % origin.encode()), source=ATTACKER)

    assert statuses(answered) == [403]
    assert b"OPENZIM_MCP_CORS_ORIGINS" in answered
    assert b"access-control-allow-origin" not in answered.lower()
    assert not neighbour.call("zim_health").get("isError")


def test_a_good_origin_does_not_excuse_a_bad_one(web: HttpServer) -> None:
    both = b"Origin: http://localhost\r\nOrigin: https://evil.example\r\n"

    assert statuses(web.raw(sized(extra=both), source=ATTACKER)) == [403]


PATHS = (
    "//mcp /mcp/../metrics /mcp/%2e%2e/metrics /%2e%2e/mcp /mcp%2f..%2fmetrics /mcp;a=b /MCP mcp * /mcp\\ /./mcp /mcp/x "
    "/healthz/../mcp /mcp%00 /mcp%0d%0a /% /%zz /%ff /mcp#x /..%5cmetrics /metrics/ /healthz/"
).split()


@pytest.mark.parametrize("path", [*PATHS, "/" + "a" * 20_000, "/" + "../" * 5000 + "etc/passwd"])
def test_there_is_nothing_at_other_paths(web: HttpServer, guarded: HttpServer, neighbour: McpClient, path: str) -> None:
    for server in (web, guarded):
        answered = server.raw(sized(path=path.encode()), source=ATTACKER)

        assert statuses(answered) == [404]
    assert not neighbour.call("zim_health").get("isError")


@pytest.mark.parametrize("path", ["/mcp", "/mcp/", "/mcp%2f", "/%6dcp", "/metrics", "/%6detrics", "/mcp?a=/healthz"])
def test_no_spelling_of_a_path_gets_past_the_entrance(guarded: HttpServer, path: str) -> None:
    method = b"GET" if "etrics" in path else b"POST"

    assert statuses(guarded.raw(sized(path=path.encode()).replace(b"POST", method), source=ATTACKER)) == [401]


@pytest.mark.parametrize("method", ["PUT", "PATCH", "TRACE", "CONNECT", "OPTIONS", "HEAD", "BREW", "post", "PROPFIND"])
@pytest.mark.parametrize("path", ["/mcp", "/readyz"])
def test_other_methods_are_refused(web: HttpServer, neighbour: McpClient, method: str, path: str) -> None:
    answered = web.raw(sized(path=path.encode()).replace(b"POST", method.encode()), source=ATTACKER)

    assert statuses(answered) == ([200] if (method, path) == ("HEAD", "/readyz") else [405])
    assert b"x-a:" not in answered.lower()
    assert not neighbour.call("zim_health").get("isError")


def resident(pid: int) -> float:
    """Return the megabytes that a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent(web: HttpServer, neighbour: McpClient) -> None:
    head = post(b"", b"Content-Length: 9999999999\r\n").replace(b"Connection: close\r\n", b"")

    answered = web.raw(head, source=ATTACKER)

    assert statuses(answered) == [413]
    assert b"connection: close" in answered.lower()
    assert not neighbour.call("zim_health").get("isError")


def test_bodies_without_end_are_cut_off_and_leave_nothing_behind(web: HttpServer) -> None:
    before = resident(web.process.pid)

    def flood(_number: int) -> list[int]:
        chunk = b"%x\r\n%s\r\n" % (2**20, b" " * 2**20)
        with web.connection(ATTACKER) as line, contextlib.suppress(ConnectionError):
            line.sendall(post(b"", CHUNKED).replace(b"Connection: close\r\n", b""))
            for _ in range(100):
                line.sendall(chunk)
            return [0]
        return [413]

    with neighbour_served(web), ThreadPoolExecutor(8) as pool:
        ends = list(pool.map(flood, range(24)))

    assert ends == [[413]] * 24
    assert resident(web.process.pid) - before < 64


def test_a_client_that_leaves_in_the_middle_of_a_request_is_no_failure(web: HttpServer, neighbour: McpClient) -> None:
    for half in (sized()[:30], sized()[:-10], in_chunks(INITIALIZE)[:-20]):
        for _ in range(20):
            with web.connection(ATTACKER) as line:
                line.sendall(half)
                reset(line)

    assert not neighbour.call("zim_health").get("isError")
    assert becomes([0.0], lambda: numbers(web, "in_flight"))


def test_nonsense_after_an_answer_is_no_failure(web: HttpServer, neighbour: McpClient) -> None:
    with web.connection(ATTACKER) as line:
        line.sendall(post(b"", CHUNKED, path=b"/nothing").replace(b"Connection: close\r\n", b""))
        assert b"404" in line.recv(65_536)
        line.sendall(b"nonsense\r\n")
        answered = line.recv(65_536)

    assert statuses(answered) == []
    assert not neighbour.call("zim_health").get("isError")


def closed_after(line: socket.socket, drip: bytes, seconds: float = 35) -> tuple[float, bytes]:
    """Send a byte every now and then; return when the server ends it, and what it says."""
    start, answered, place = time.monotonic(), b"", 0
    while (passed := time.monotonic() - start) < seconds:
        with contextlib.suppress(ConnectionError):
            if select.select([line], [], [], 0.25)[0]:
                if part := line.recv(65_536):
                    answered += part
                    continue
                return passed, answered
            line.sendall(drip[place : place + 1])
            place += 1
            continue
        return passed, answered
    return seconds, answered


def slow_headers(web: HttpServer) -> tuple[float, bytes]:
    with web.connection(ATTACKER) as line:
        return closed_after(line, sized(extra=b"X-A: b\r\n" * 100))


def silence(web: HttpServer) -> tuple[float, bytes]:
    with web.connection(ATTACKER) as line:
        return closed_after(line, b"")


def a_slow_second_request(web: HttpServer) -> tuple[float, bytes]:
    with web.connection(ATTACKER) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
        assert becomes(True, lambda: line.recv(65_536).endswith(b"ok\n"))
        return closed_after(line, sized(extra=b"X-A: b\r\n" * 100))


def a_slow_body(web: HttpServer) -> tuple[float, bytes]:
    with web.connection(ATTACKER) as line:
        line.sendall(post(b"{", b"Content-Length: 1000\r\n"))
        return closed_after(line, b" " * 999)


def slow_chunks(web: HttpServer) -> tuple[float, bytes]:
    with web.connection(ATTACKER) as line:
        line.sendall(post(b"", CHUNKED))
        return closed_after(line, b"1\r\n \r\n" * 100)


def a_slow_body_for_nothing(web: HttpServer) -> tuple[float, bytes]:
    with web.connection(ATTACKER) as line:
        line.sendall(post(b"{", b"Content-Length: 1000\r\n", path=b"/x").replace(b"Connection: close\r\n", b""))
        return closed_after(line, b" " * 999)


def answers_that_nobody_takes(web: HttpServer) -> tuple[float, bytes]:
    params = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": REQUEST_META}}).encode()
    told = b"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/list\r\n"
    asked = sized(params, told).replace(b"Connection: close\r\n", b"")
    start = time.monotonic()
    with web.connection("127.0.0.3", receive=4096) as line:
        line.setblocking(False)
        for _ in range(3000):
            with contextlib.suppress(BlockingIOError):
                line.send(asked)
        watch = select.poll()
        watch.register(line, select.POLLHUP | select.POLLERR)
        watch.poll(45_000)
        return time.monotonic() - start, b""


def a_stream_that_is_left_with_more_to_say(web: HttpServer) -> tuple[float, bytes]:
    with McpClient(web.url, source="127.0.0.4") as visit, web.connection("127.0.0.4") as line:
        start = time.monotonic()
        line.sendall(stream_of(visit) + b"GET /")
        assert b"200 OK" in line.recv(65_536)
        reset(line)
        assert becomes(200, lambda: visit.http.send(visit.request("ping")).status_code)
        assert becomes("free", lambda: stream_state(visit), 30)
        return time.monotonic() - start, b""


def stream_of(visit: McpClient) -> bytes:
    """Return the request for the stream of a session."""
    return b"GET /mcp HTTP/1.1\r\nAccept: text/event-stream\r\nMcp-Session-Id: %s\r\n%s\r\n" % (
        str(visit.session).encode(),
        HOST,
    )


def stream_state(visit: McpClient) -> str:
    """Say whether a session has a stream."""
    told = {"Accept": "text/event-stream", "Mcp-Session-Id": str(visit.session)}
    with visit.http.stream("GET", visit.url, headers=told) as response:
        return "taken" if response.status_code == 409 else "free"


SLOW: dict[Callable[[HttpServer], tuple[float, bytes]], tuple[float, float, list[int]]] = {
    slow_headers: (9, 14, []),
    silence: (9, 14, []),
    a_slow_second_request: (9, 14, []),
    a_slow_body: (14, 20, [408]),
    slow_chunks: (14, 20, [408]),
    a_slow_body_for_nothing: (9, 14, [404]),
    answers_that_nobody_takes: (19, 40, []),
    a_stream_that_is_left_with_more_to_say: (0, 30, []),
}


def test_nobody_can_let_the_server_wait(web: HttpServer) -> None:
    with neighbour_served(web, pause=0.2), ThreadPoolExecutor(len(SLOW)) as pool:
        ends = dict(zip(SLOW, pool.map(lambda slow: slow(web), SLOW), strict=True))

    for slow, (least, most, told) in SLOW.items():
        seconds, answered = ends[slow]
        assert least < seconds < most, slow.__name__
        assert statuses(answered) == told, slow.__name__
    assert becomes([0.0], lambda: numbers(web, "in_flight"))


def descriptors(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


def _ended(lines: list[socket.socket]) -> int:
    """Return how many of some connections the server has ended."""
    watch = select.poll()
    for line in lines:
        watch.register(line, select.POLLIN)
    return len(watch.poll(0))


def test_connections_of_one_client_leave_room_for_others_and_go_again(web: HttpServer) -> None:
    before = descriptors(web.process.pid)
    with neighbour_served(web), contextlib.ExitStack() as lines:
        opened = [lines.enter_context(web.connection("127.0.0.5")) for _ in range(1000)]
        refused = becomes(1000 - 256, lambda: _ended(opened))
        held = descriptors(web.process.pid) - before

    assert refused
    assert held < 300
    assert becomes(True, lambda: descriptors(web.process.pid) <= before + 2)


def test_connections_of_a_trusted_proxy_are_of_many_clients(limited: HttpServer) -> None:
    with neighbour_served(limited, pause=0.6), contextlib.ExitStack() as lines:
        opened = [lines.enter_context(limited.connection(PROXY)) for _ in range(400)]
        time.sleep(1)

        assert _ended(opened) == 0


def test_streams_that_nobody_reads_or_that_are_left_are_forgotten(web: HttpServer, shelf: Path, town_zim: Path) -> None:
    listen = {"notifications": {"resourcesListChanged": True, "resourceSubscriptions": ["zim://files"]}}
    with contextlib.ExitStack() as stack:
        deaf = []
        for number in range(10):
            visit = stack.enter_context(McpClient(web.url, source=f"127.0.1.{number}"))
            visit.post("resources/subscribe", {"uri": "zim://files"})
            line = stack.enter_context(web.connection(f"127.0.1.{number}", receive=4096))
            line.sendall(stream_of(visit))
            deaf.append(line)
        modern = McpClient(web.url, STATELESS_VERSION, source="127.0.1.99")
        for _ in range(10):
            line = stack.enter_context(web.connection("127.0.1.99", receive=4096))
            request = modern.request("subscriptions/listen", listen)
            head = b"".join(b"%s: %s\r\n" % pair for pair in request.headers.raw)
            line.sendall(b"POST /mcp HTTP/1.1\r\n%s\r\n%s" % (head, request.content))
            deaf.append(line)
        modern.http.close()
        assert becomes([20.0, 20.0], lambda: numbers(web, "in_flight", "subscriptions"))
        with neighbour_served(web), McpClient(web.url, source="127.0.1.50") as reader:
            heard = _hears(web, reader, lambda: _stir(shelf, town_zim))
        for line in deaf:
            reset(line)

        assert heard
        assert becomes([0.0, 10.0], lambda: numbers(web, "in_flight", "subscriptions"))


def _stir(shelf: Path, town_zim: Path) -> None:
    """Have archives come and go."""
    for number in range(3):
        aside = Path(shutil.copy(town_zim, shelf.parent / "aside"))
        aside.rename(shelf / f"more_{number}.zim")
        time.sleep(1.2)


def _hears(web: HttpServer, visit: McpClient, act: Callable[[], None]) -> bool:
    """Say whether a client that reads its stream is told what happens."""
    with web.connection(str(visit.source)) as line:
        line.sendall(stream_of(visit))
        act()
        return becomes(True, lambda: b"list_changed" in line.recv(65_536))


def test_a_session_that_is_over_or_was_never_there_is_not_found(web: HttpServer, neighbour: McpClient) -> None:
    with McpClient(web.url, source=ATTACKER) as visit:
        ended = str(visit.session)
        assert visit.http.delete(web.url, headers={"Mcp-Session-Id": ended}).status_code == 200
        for wrong in (ended, "0" * 32, "a", "../" * 20, "%00", "x" * 20_000, str(neighbour.session)[:-1]):
            visit.session = wrong
            assert visit.post("ping").status_code == 404
            assert visit.http.delete(web.url, headers={"Mcp-Session-Id": wrong}).status_code == 404
        for number in range(500):
            visit.session = f"{number:032x}"
            assert visit.post("ping").status_code == 404

    assert not neighbour.call("zim_health").get("isError")


def test_a_session_belongs_to_the_token_that_began_it(guarded: HttpServer) -> None:
    with McpClient(guarded.url, headers={"Authorization": f"Bearer {TOKEN}"}) as owner:
        thief = McpClient(guarded.url, headers={"Authorization": f"Bearer {OTHER_TOKEN}"}, session=owner.session)
        stolen = thief.post("ping")
        ended = thief.http.delete(guarded.url, headers={"Mcp-Session-Id": str(owner.session), **thief.headers})
        thief.http.close()

        assert (stolen.status_code, ended.status_code) == (404, 404)
        assert owner.post("ping").status_code == 200


def test_one_client_may_begin_a_hundred_sessions_and_another_still_can(web: HttpServer) -> None:
    with McpClient(web.url, source="127.0.2.1") as visit, neighbour_served(web):
        own = visit.session
        begun = Counter(visit.__class__.initialize(_afresh(visit)).status_code for _ in range(150))
        refused = _afresh(visit).initialize()
        visit.http.delete(web.url, headers={"Mcp-Session-Id": str(own)})
        again = _afresh(visit).initialize()

    with McpClient(web.url, source="127.0.2.2") as other:
        assert other.session
    assert begun == {200: 99, 429: 51}
    assert refused.headers["retry-after"] == "60"
    assert again.status_code == 200


def _afresh(visit: McpClient) -> McpClient:
    visit.session = None
    return visit


def test_sessions_whose_clients_leave_at_once_take_no_room(web: HttpServer) -> None:
    def come_and_go(number: int) -> None:
        with web.connection(f"127.0.3.{number % 20}") as line:
            line.sendall(sized())
            reset(line)

    with neighbour_served(web, within=15):
        for number in range(1500):
            come_and_go(number)

    with McpClient(web.url, source="127.0.2.3") as other:
        assert other.session


def test_guessing_tokens_is_slowed_down_and_the_right_one_still_passes(guarded: HttpServer) -> None:
    with McpClient(guarded.url, STATELESS_VERSION, source="127.0.4.1") as guesser:
        guessed = [
            guesser.post("tools/list", headers={"Authorization": f"Bearer secret-guess-{n:02}"}) for n in range(30)
        ]
        right = guesser.post("tools/list", headers={"Authorization": f"Bearer {TOKEN}"})
    with McpClient(guarded.url, STATELESS_VERSION, source="127.0.4.2") as other:
        elsewhere = other.post("tools/list", headers={"Authorization": "Bearer secret-guess-00"})

    assert Counter(response.status_code for response in guessed) == {401: 10, 429: 20}
    assert int(guessed[-1].headers["retry-after"]) >= 1
    assert (right.status_code, elsewhere.status_code) == (200, 401)
    assert "secret-guess" not in guarded.log


CREDENTIALS = {
    "no token": "",
    "a scheme alone": "Authorization: Bearer\r\n",
    "another scheme": f"Authorization: Basic {TOKEN}\r\n",
    "no scheme": f"Authorization: {TOKEN}\r\n",
    "a part of it": f"Authorization: Bearer {TOKEN[:-1]}\r\n",
    "more than it": f"Authorization: Bearer {TOKEN}x\r\n",
    "another case": f"Authorization: Bearer {TOKEN.upper()}\r\n",
    "two of them": f"Authorization: Bearer {TOKEN}\r\nAuthorization: Bearer {TOKEN}\r\n",
    "a list": f"Authorization: Bearer {TOKEN},{OTHER_TOKEN}\r\n",
    "both of them": f"Authorization: Bearer {TOKEN} {OTHER_TOKEN}\r\n",
    "a long one": f"Authorization: Bearer {'a' * 20_000}\r\n",
    "another header": f"X-Authorization: Bearer {TOKEN}\r\nProxy-Authorization: Bearer {TOKEN}\r\n",
    "a cookie": f"Cookie: access_token={TOKEN}\r\n",
}


@pytest.mark.parametrize("credentials", CREDENTIALS.values(), ids=CREDENTIALS)
def test_only_the_right_token_in_the_right_place_opens_the_door(guarded: HttpServer, credentials: str) -> None:
    source = f"127.0.5.{list(CREDENTIALS.values()).index(credentials) + 1}"

    answered = guarded.raw(sized(extra=credentials.encode()), source=source)

    assert statuses(answered) == [401]
    assert b"www-authenticate: bearer" in answered.lower()


@pytest.mark.parametrize("query", ["access_token={}", "token={}", "Authorization=Bearer%20{}"])
def test_a_token_in_the_address_opens_nothing_and_is_not_written_down(guarded: HttpServer, query: str) -> None:
    path = f"/mcp?{query.format(TOKEN)}".encode()

    assert statuses(guarded.raw(sized(path=path), source="127.0.5.99")) == [401]
    with McpClient(guarded.url, STATELESS_VERSION, headers={"Authorization": f"Bearer {TOKEN}"}) as visit:
        visit.call("zim_health")
    assert TOKEN not in guarded.log


def test_many_calls_of_one_client_are_limited_and_others_served(limited: HttpServer) -> None:
    def call(number: int) -> str:
        answered = limited.raw(modern_call(number), source="127.0.6.1", seconds=30)
        told = b"rate_limit" if b"rate_limit" in answered else b""
        return f"{statuses(answered)[0]} {told.decode()}".strip()

    with neighbour_served(limited, pause=0.6), ThreadPoolExecutor(200) as pool:
        ends = Counter(pool.map(call, range(200)))

    assert set(ends) <= {"200", "200 rate_limit", "429"}
    assert 20 <= ends["200"] <= 40


def calls(web: HttpServer, source: str, forwarded: Callable[[int], str]) -> Counter[bool]:
    """Call a tool 40 times at once; count how many calls were too many."""
    with McpClient(web.url, STATELESS_VERSION, source=source) as visit:
        results = [
            answer(
                visit.post(
                    "tools/call",
                    {"name": "zim_health", "arguments": {}},
                    headers={"X-Forwarded-For": forwarded(number), "X-Real-IP": forwarded(number)},
                )
            )["result"]
            for number in range(40)
        ]
    return Counter(result.get("isError", False) for result in results)


FORWARDED: dict[str, tuple[str, Callable[[int], str], bool]] = {
    "a client that says it is many": ("127.0.6.2", lambda n: f"10.1.1.{n}", False),
    "a client that says it is a proxy": ("127.0.6.3", lambda n: f"10.1.2.{n}, {PROXY}", False),
    "many clients of a proxy": (PROXY, lambda n: f"10.1.3.{n}", True),
    "a client of a proxy that says it is many": (PROXY, lambda n: f"10.9.9.{n}, 10.1.4.1", False),
    "nonsense from a proxy": (PROXY, lambda n: f"<{n}>", False),
}


@pytest.mark.parametrize(("source", "forwarded", "are_many"), FORWARDED.values(), ids=FORWARDED)
def test_whom_a_request_is_from_is_believed_of_trusted_proxies_only(
    limited: HttpServer, source: str, forwarded: Callable[[int], str], *, are_many: bool
) -> None:
    too_many = calls(limited, source, forwarded)

    assert (too_many[True] == 0) is are_many


def test_a_client_cannot_write_into_the_log_or_the_answers(web: HttpServer) -> None:
    mark = "forged-7f3a"
    told = f"X-Request-Id: {mark}\r\nX-Forwarded-For: {mark}\r\nUser-Agent: {mark}\r\nReferer: {mark}\r\n"

    answered = web.raw(sized(extra=told.encode()), source=ATTACKER)
    with McpClient(web.url, STATELESS_VERSION) as visit:
        visit.post("tools/call", {"name": f"{mark}\nWARNING forged", "arguments": {}}, headers={"Mcp-Name": ""})
        visit.post("x\r\nforged", {}, headers={"Mcp-Method": ""})

    assert re.search(rb"x-request-id: [0-9a-f]{12}\r\n", answered)
    assert mark.encode() not in answered
    assert not any(line.startswith(("WARNING forged", "forged")) for line in web.lines)
