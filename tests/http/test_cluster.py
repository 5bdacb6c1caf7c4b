"""Two replicas of the real server behind nginx with the file of deploy/, and a store that both use."""

from __future__ import annotations

import contextlib
import re
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import httpx2
import pytest

from support.archives import write_zim
from support.event_stream import ACKNOWLEDGED, LIST_CHANGED, UPDATED, listening, settle, stream
from support.http_server import HttpServer, McpClient, answer
from support.nginx import NGINX, NGINX_CONFIG, adapted, is_listening
from support.redis_server import RedisServer, free_port
from support.stdio_server import INITIALIZE_VERSIONS, STATELESS_VERSION

TOWN = "zim://towns"
QUICK = {"WATCH_INTERVAL_SECONDS": "1", "TRUSTED_PROXIES": "127.0.0.1"}
LIMITS = {"RATE_LIMIT__ENABLED": "true", "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01", "RATE_LIMIT__BURST_SIZE": "40"}


class Proxy:
    """nginx, with the file that is meant for it; but without TLS."""

    def __init__(self, folder: Path, *replicas: HttpServer) -> None:
        if not NGINX:
            pytest.skip("nginx is not here")
        self.port = free_port()
        here = {
            "zim-a:8000": f"127.0.0.1:{replicas[0].port}",
            "zim-b:8000": f"127.0.0.1:{replicas[1].port}",
            "listen 443 ssl;": f"listen 127.0.0.1:{self.port};",
            "listen [::]:443 ssl;": "",
        }
        site = re.sub(r"^\s*ssl_.*\n", "", adapted("nginx.conf", here), flags=re.MULTILINE)
        (folder / "site.conf").write_text(site, encoding="utf-8")
        around = NGINX_CONFIG.format(tmp=folder).replace("error_log stderr", f"error_log {folder}/error.log")
        (folder / "nginx.conf").write_text(around, encoding="utf-8")
        self._command = [NGINX, "-p", str(folder), "-e", f"{folder}/error.log", "-c", str(folder / "nginx.conf")]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command)
        while not is_listening(self.port):
            assert self._process.poll() is None
            time.sleep(0.02)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)


@dataclass
class Cluster:
    shelf: Path
    a: HttpServer
    b: HttpServer
    proxy: Proxy

    @property
    def url(self) -> str:
        return self.proxy.url

    def put(self, title: str, name: str = "towns") -> None:
        """Write an archive aside and move it into its place."""
        page = {"A": "<p>Ravenport is a town.</p>"}
        write_zim(self.shelf.parent / "new", page, metadata={"Title": title}).replace(self.shelf / f"{name}.zim")

    @contextlib.contextmanager
    def visit_at(self, name: str, revision: str = INITIALIZE_VERSIONS[-1]) -> Iterator[McpClient]:
        """A client that came through the proxy and has its session at a replica."""
        for _ in range(20):
            with McpClient(self.url, revision) as visit:
                if str(visit.session).startswith(f"{name}-"):
                    yield visit
                    return
        raise AssertionError(f"no session at {name}")


@contextlib.contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    shelf = folder / "zims"
    shelf.mkdir()
    write_zim(shelf / "towns.zim", {"A": "<p>Ravenport is a town.</p>"}, metadata={"Title": "First"})
    with RedisServer(folder) as store, contextlib.ExitStack() as stack:
        shared = QUICK | LIMITS | {"REDIS_URL": store.url}
        with ThreadPoolExecutor(2) as both:
            a, b = both.map(lambda name: HttpServer((shelf,), shared | {"REPLICA": name}).__enter__(), "ab")
        stack.push(a)
        stack.push(b)
        yield Cluster(shelf, a, b, stack.enter_context(Proxy(folder, a, b)))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


def asks(visit: McpClient) -> str:
    return str(visit.call("zim_query", query="Ravenport")["content"][0]["text"])


def calls_at(replica: HttpServer) -> float:
    told = httpx2.get(f"{replica.root}/metrics").text
    found = re.search(r'calls_total{method="tools/call",outcome="ok",tool="zim_query"} (\S+)', told)
    return float(found[1]) if found else 0.0


def test_calls_of_2026_07_28_go_to_whichever_replica_has_time(two: Cluster) -> None:
    before = [calls_at(replica) for replica in (two.a, two.b)]
    for _ in range(6):
        with McpClient(two.url, STATELESS_VERSION, source="127.0.0.2") as visit:
            assert "Ravenport" in asks(visit)

    after = [calls_at(replica) for replica in (two.a, two.b)]
    assert sum(after) - sum(before) == 6
    assert all(now > then for now, then in zip(after, before, strict=True))


@pytest.mark.parametrize("revision", INITIALIZE_VERSIONS)
def test_a_session_stays_where_it_began(two: Cluster, revision: str) -> None:
    for number in range(4):
        with McpClient(two.url, revision, source=f"127.0.1.{number + 1}") as visit:
            assert re.match("^[ab]-[0-9a-f]+$", str(visit.session))
            for _ in range(3):
                assert "Ravenport" in asks(visit)
            ended = visit.http.delete(two.url, headers={"Mcp-Session-Id": str(visit.session)})
            assert ended.status_code == 200
            assert visit.post("tools/list").status_code == 404


@pytest.mark.parametrize("revision", [INITIALIZE_VERSIONS[-1], STATELESS_VERSION])
def test_subscribers_of_both_replicas_hear_of_a_change(two: Cluster, revision: str) -> None:
    with contextlib.ExitStack() as stack:
        if revision == STATELESS_VERSION:
            visits = [stack.enter_context(McpClient(two.url, STATELESS_VERSION)) for _ in range(4)]
        else:
            visits = [stack.enter_context(two.visit_at(name)) for name in "ab"]
        ears = [stack.enter_context(listening(visit, TOWN)) for visit in visits]
        assert all(ear.wait_for(ACKNOWLEDGED) for ear in ears if revision == STATELESS_VERSION)
        settle()
        two.put(f"For {revision}")

        assert all(ear.wait_for(UPDATED, uri=TOWN) for ear in ears)
        two.put("New", f"isles-{revision}")
        assert all(ear.wait_for(LIST_CHANGED) for ear in ears)


def taken(url: str, **client: Any) -> int:
    """How many calls a client can make until the rate limit says no."""
    with McpClient(url, STATELESS_VERSION, **client) as visit:
        for number in range(200):
            result = visit.call("zim_query", query=f"Ravenport {number % 3}")
            if result.get("isError"):
                assert result["structuredContent"]["operation"] == "rate_limited"
                return number
    raise AssertionError("there is no limit")


def test_a_client_has_one_rate_limit_at_all_replicas(two: Cluster) -> None:
    at_one = taken(two.a.url, headers={"X-Forwarded-For": "203.0.113.1"})
    before = [calls_at(replica) for replica in (two.a, two.b)]
    at_both = taken(two.url, source="127.0.0.3")
    after = [calls_at(replica) for replica in (two.a, two.b)]

    assert at_both == at_one
    assert all(now > then for now, then in zip(after, before, strict=True))
    assert taken(two.b.url, headers={"X-Forwarded-For": "203.0.113.1"}) == 0
    assert 'outcome="rate_limited"' in httpx2.get(f"{two.b.root}/metrics").text
    assert taken(two.url, source="127.0.0.4") == at_one


def test_a_proxy_may_have_more_connections_than_one_client(two: Cluster) -> None:
    with contextlib.ExitStack() as stack:
        lines = [stack.enter_context(two.a.connection()) for _ in range(300)]
        lines[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        assert lines[-1].recv(100).startswith(b"HTTP/1.1 200")
        with contextlib.ExitStack() as others:
            refused = [others.enter_context(two.a.connection("127.0.0.5")) for _ in range(257)]
            with contextlib.suppress(ConnectionError):
                refused[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
                assert refused[-1].recv(100) == b""


class Caller(threading.Thread):
    """A client of 2026-07-28 that asks again and again."""

    def __init__(self, url: str, source: str) -> None:
        super().__init__(daemon=True)
        self._url, self._source = url, source
        self.outcomes: list[bool] = []
        self.may_end = threading.Event()
        self.start()

    def run(self) -> None:
        while not self.may_end.is_set():
            with (
                McpClient(self._url, STATELESS_VERSION, source=self._source) as visit,
                contextlib.suppress(httpx2.TransportError),
            ):
                self.outcomes.append(False)
                response = visit.post("tools/list")
                self.outcomes[-1] = response.status_code == 200
            time.sleep(0.01)

    def go_on(self, times: int = 10) -> None:
        """Wait until it has asked some more times."""
        target = len(self.outcomes) + times
        end = time.monotonic() + 30
        while len(self.outcomes) < target and time.monotonic() < end:
            time.sleep(0.01)

    def finish(self) -> list[bool]:
        self.may_end.set()
        self.join(20)
        return self.outcomes


def test_a_replica_that_ends_is_missed_by_no_call(two: Cluster) -> None:  # the last test that has two
    callers = [Caller(two.url, f"127.0.3.{number}") for number in (1, 2)]
    callers[0].go_on()
    assert two.a.stop() == 0
    callers[0].go_on()

    for caller in callers:
        assert all(caller.finish())
    with McpClient(two.url) as visit:
        assert answer(visit.post("tools/list"))["result"]["tools"]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", two.a.port), 1)


@pytest.fixture
def widow(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster of which a test kills replica a."""
    with cluster(tmp_path) as made:
        yield made


def test_when_a_replica_dies_no_call_is_lost_but_those_it_had(widow: Cluster) -> None:
    with contextlib.ExitStack() as stack:
        at_a, at_b = (stack.enter_context(widow.visit_at(name)) for name in "ab")
        heard_a, heard_b = (stack.enter_context(listening(visit, TOWN)) for visit in (at_a, at_b))
        modern = stack.enter_context(McpClient(widow.url, STATELESS_VERSION))
        ears = [stack.enter_context(listening(modern, TOWN)) for _ in range(4)]
        assert all(ear.wait_for(ACKNOWLEDGED) for ear in ears)
        callers = [Caller(widow.url, f"127.0.2.{number}") for number in (1, 2)]
        callers[0].go_on()
        widow.a.stop(signal.SIGKILL)
        heard_a.wait()
        callers[0].go_on()
        gone = [ear for ear in ears if ear.has_ended]
        left = [ear for ear in ears if ear not in gone]

        for caller in callers:
            outcomes = caller.finish()
            assert outcomes.count(False) <= 1
            assert outcomes[-1]
        assert gone
        assert left

        assert "Ravenport" in asks(at_b)
        lost = [at_a.post("tools/list"), at_a.http.send(stream(at_a))]
        assert [response.status_code for response in lost] == [404, 404]
        at_a.session = None
        assert at_a.initialize().status_code == 200
        assert str(at_a.session).startswith("b-")
        assert "Ravenport" in asks(at_a)

        again = [stack.enter_context(listening(visit, TOWN)) for visit in (modern, at_a)]
        assert again[0].wait_for(ACKNOWLEDGED)
        settle()
        widow.put("Second")
        assert all(ear.wait_for(UPDATED, uri=TOWN) for ear in (*again, *left, heard_b))
