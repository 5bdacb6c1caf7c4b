"""Two replicas of the real server behind nginx with deploy/nginx.conf, and Redis for shared rate limits."""

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
from support.event_stream import ACKNOWLEDGED, LIST_CHANGED, UPDATED, EventStream, session_stream, subscribe
from support.http_server import HttpServer, McpClient, read_reply, result_text
from support.nginx import NGINX, NGINX_CONFIG, adapt_config, is_listening
from support.redis_server import RedisServer, free_port
from support.stdio_server import INITIALIZE_VERSIONS, STATELESS_VERSION, TIMEOUT_SECONDS, wait_until

ARCHIVE_URI = "zim://towns"
SETTINGS = {"WATCH_INTERVAL_SECONDS": "1", "TRUSTED_PROXIES": "127.0.0.1"}
LIMITS = {"RATE_LIMIT__ENABLED": "true", "RATE_LIMIT__REQUESTS_PER_SECOND": "0.01", "RATE_LIMIT__BURST_SIZE": "40"}


class NginxProxy:
    """nginx with deploy/nginx.conf, but without TLS."""

    def __init__(self, directory: Path, *replicas: HttpServer) -> None:
        if not NGINX:
            pytest.skip("nginx is not installed")
        self.port = free_port()
        replacements = {
            "zim-a:8000": f"127.0.0.1:{replicas[0].port}",
            "zim-b:8000": f"127.0.0.1:{replicas[1].port}",
            "listen 443 ssl;": f"listen 127.0.0.1:{self.port};",
            "listen [::]:443 ssl;": "",
        }
        site = re.sub(r"^\s*ssl_.*\n", "", adapt_config("nginx.conf", replacements), flags=re.MULTILINE)
        (directory / "site.conf").write_text(site, encoding="utf-8")
        log = f"{directory}/error.log"
        config = NGINX_CONFIG.format(tmp=directory).replace("error_log stderr", f"error_log {log}")
        (directory / "nginx.conf").write_text(config, encoding="utf-8")
        self._command = [NGINX, "-p", str(directory), "-e", log, "-c", str(directory / "nginx.conf")]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command)
        wait_until(lambda: self._process.poll() is not None or is_listening(self.port))
        assert self._process.poll() is None
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(TIMEOUT_SECONDS)


@dataclass
class Cluster:
    """The replicas a and b, and the proxy in front of them."""

    archives: Path
    a: HttpServer
    b: HttpServer
    proxy: NginxProxy

    @property
    def url(self) -> str:
        return self.proxy.url

    def replace_archive(self, title: str, name: str = "towns") -> None:
        """Write an archive elsewhere and move it into the directory."""
        page = {"A": "<p>Ravenport is a town.</p>"}
        new_file = write_zim(self.archives.parent / "new", page, metadata={"Title": title})
        new_file.replace(self.archives / f"{name}.zim")

    @contextlib.contextmanager
    def client_at(self, replica: str, version: str = INITIALIZE_VERSIONS[-1]) -> Iterator[McpClient]:
        """A client of the proxy whose session is at a replica."""
        for _ in range(20):
            with McpClient(self.url, version) as client:
                if str(client.session).startswith(f"{replica}-"):
                    yield client
                    return
        raise AssertionError(f"no session at {replica}")


@contextlib.contextmanager
def run_cluster(directory: Path) -> Iterator[Cluster]:
    archives = directory / "zims"
    archives.mkdir()
    write_zim(archives / "towns.zim", {"A": "<p>Ravenport is a town.</p>"}, metadata={"Title": "First"})
    with RedisServer(directory) as redis, contextlib.ExitStack() as stack:
        settings = SETTINGS | LIMITS | {"REDIS_URL": redis.url}
        with ThreadPoolExecutor(2) as pool:
            a, b = pool.map(lambda name: HttpServer((archives,), settings | {"REPLICA": name}).__enter__(), "ab")
        stack.push(a)
        stack.push(b)
        yield Cluster(archives, a, b, stack.enter_context(NginxProxy(directory, a, b)))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with run_cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


def query_archive(client: McpClient) -> str:
    return result_text(client.call("zim_query", query="Ravenport"))


def count_calls(replica: HttpServer) -> float:
    metrics = replica.get("/metrics").text
    match = re.search(r'calls_total{method="tools/call",outcome="ok",tool="zim_query"} (\S+)', metrics)
    return float(match[1]) if match else 0.0


def test_stateless_calls_go_to_both_replicas(cluster: Cluster) -> None:
    before = [count_calls(replica) for replica in (cluster.a, cluster.b)]
    for _ in range(6):
        with McpClient(cluster.url, STATELESS_VERSION, source="127.0.0.2") as client:
            assert "Ravenport" in query_archive(client)

    after = [count_calls(replica) for replica in (cluster.a, cluster.b)]
    assert sum(after) - sum(before) == 6
    assert all(now > then for now, then in zip(after, before, strict=True))


@pytest.mark.parametrize("version", INITIALIZE_VERSIONS)
def test_session_stays_at_its_replica(cluster: Cluster, version: str) -> None:
    for number in range(4):
        with McpClient(cluster.url, version, source=f"127.0.1.{number + 1}") as client:
            assert re.match("^[ab]-[0-9a-f]+$", str(client.session))
            for _ in range(3):
                assert "Ravenport" in query_archive(client)
            assert client.end_session().status_code == 200
            assert client.post("tools/list").status_code == 404


@pytest.mark.parametrize("version", [INITIALIZE_VERSIONS[-1], STATELESS_VERSION])
def test_subscribers_of_both_replicas_are_notified(cluster: Cluster, version: str) -> None:
    with contextlib.ExitStack() as stack:
        if version == STATELESS_VERSION:
            clients = [stack.enter_context(McpClient(cluster.url, STATELESS_VERSION)) for _ in range(4)]
        else:
            clients = [stack.enter_context(cluster.client_at(name)) for name in "ab"]
        streams = [stack.enter_context(subscribe(client, ARCHIVE_URI)) for client in clients]
        assert all(stream.wait_for(ACKNOWLEDGED) for stream in streams if version == STATELESS_VERSION)
        cluster.replace_archive(f"For {version}")

        assert all(stream.wait_for(UPDATED, uri=ARCHIVE_URI) for stream in streams)
        cluster.replace_archive("New", f"isles-{version}")
        assert all(stream.wait_for(LIST_CHANGED) for stream in streams)


def calls_until_limited(url: str, **options: Any) -> int:
    """How many calls a client can make until it reaches the rate limit."""
    with McpClient(url, STATELESS_VERSION, **options) as client:
        for number in range(200):
            result = client.call("zim_query", query=f"Ravenport {number % 3}")
            if result.get("isError"):
                assert result["structuredContent"]["operation"] == "rate_limited"
                return number
    raise AssertionError("there is no limit")


def test_rate_limit_is_shared_by_the_replicas(cluster: Cluster) -> None:
    at_one = calls_until_limited(cluster.a.url, headers={"X-Forwarded-For": "203.0.113.1"})
    before = [count_calls(replica) for replica in (cluster.a, cluster.b)]
    at_both = calls_until_limited(cluster.url, source="127.0.0.3")
    after = [count_calls(replica) for replica in (cluster.a, cluster.b)]

    assert at_both == at_one
    assert all(now > then for now, then in zip(after, before, strict=True))
    assert calls_until_limited(cluster.b.url, headers={"X-Forwarded-For": "203.0.113.1"}) == 0
    assert 'outcome="rate_limited"' in cluster.b.get("/metrics").text
    assert calls_until_limited(cluster.url, source="127.0.0.4") == at_one


class RepeatedCalls(threading.Thread):
    """A stateless client that sends requests in a loop."""

    def __init__(self, url: str, source: str) -> None:
        super().__init__(daemon=True)
        self._url, self._source = url, source
        self.outcomes: list[bool] = []
        self._is_over = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._is_over.is_set():
            with (
                McpClient(self._url, STATELESS_VERSION, source=self._source) as client,
                contextlib.suppress(httpx2.TransportError),
            ):
                self.outcomes.append(False)
                response = client.post("tools/list")
                self.outcomes[-1] = response.status_code == 200
            time.sleep(0.01)

    def wait_for_more(self) -> None:
        """Wait until some more requests have been sent."""
        target = len(self.outcomes) + 10
        wait_until(lambda: len(self.outcomes) >= target)

    def finish(self) -> list[bool]:
        self._is_over.set()
        self.join(TIMEOUT_SECONDS)
        return self.outcomes


def test_stopping_a_replica_loses_no_call(cluster: Cluster) -> None:  # the last test of this cluster
    callers = [RepeatedCalls(cluster.url, f"127.0.3.{number}") for number in (1, 2)]
    callers[0].wait_for_more()
    assert cluster.a.stop() == 0
    callers[0].wait_for_more()

    for caller in callers:
        assert all(caller.finish())
    with McpClient(cluster.url) as client:
        assert read_reply(client.post("tools/list"))["result"]["tools"]
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", cluster.a.port), 1)


@pytest.fixture
def doomed_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A cluster whose replica a is killed by the test."""
    with run_cluster(tmp_path) as cluster:
        yield cluster


def test_killed_replica_loses_only_its_own_calls(doomed_cluster: Cluster) -> None:
    cluster = doomed_cluster
    with contextlib.ExitStack() as stack:

        def subscribe_to_archive(client: McpClient) -> EventStream:
            return stack.enter_context(subscribe(client, ARCHIVE_URI))

        client_a, client_b = (stack.enter_context(cluster.client_at(name)) for name in "ab")
        stream_a, stream_b = subscribe_to_archive(client_a), subscribe_to_archive(client_b)
        stateless_client = stack.enter_context(McpClient(cluster.url, STATELESS_VERSION))
        stateless_streams = [subscribe_to_archive(stateless_client) for _ in range(4)]
        assert all(stream.wait_for(ACKNOWLEDGED) for stream in stateless_streams)
        callers = [RepeatedCalls(cluster.url, f"127.0.2.{number}") for number in (1, 2)]
        callers[0].wait_for_more()
        cluster.a.stop(signal.SIGKILL)
        stream_a.wait_for_end()
        callers[0].wait_for_more()

        for caller in callers:
            outcomes = caller.finish()
            assert outcomes.count(False) <= 1
            assert outcomes[-1]
        wait_until(lambda: any(stream.has_ended for stream in stateless_streams))
        open_streams = [stream for stream in stateless_streams if not stream.has_ended]
        assert open_streams

        assert "Ravenport" in query_archive(client_b)
        responses = [client_a.post("tools/list"), client_a.http.send(session_stream(client_a))]
        assert [response.status_code for response in responses] == [404, 404]
        client_a.session = None
        assert client_a.initialize().status_code == 200
        assert str(client_a.session).startswith("b-")
        assert "Ravenport" in query_archive(client_a)

        new_streams = [subscribe_to_archive(client) for client in (stateless_client, client_a)]
        assert new_streams[0].wait_for(ACKNOWLEDGED)
        cluster.replace_archive("Second")
        for stream in (*new_streams, *open_streams, stream_b):
            assert stream.wait_for(UPDATED, uri=ARCHIVE_URI)
