"""Notifications of changes: from the real server over pipes, and over streams in memory for timeouts and faults."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
import pytest
from mcp import Client, MCPDeprecationWarning, StdioServerParameters
from mcp.server import Server
from mcp.shared.memory import create_client_server_memory_streams
from mcp.shared.message import SessionMessage

from openzim_mcp.library.changes import Changes
from openzim_mcp.protocol.subscriptions import Subscriptions
from support.archives import write_zim
from support.stdio_server import (
    CLIENT_INFO,
    PROTOCOL_VERSIONS,
    REQUEST_META,
    STATELESS_VERSION,
    TIMEOUT_SECONDS,
    StdioServer,
    cpu_seconds,
    server_environment,
)

OpenServer = Callable[..., StdioServer]
UPDATED = "notifications/resources/updated"
LIST_CHANGED = "notifications/resources/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
SHORT_INTERVAL = {"WATCH_INTERVAL_SECONDS": "1"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "zims"
    path.mkdir()
    put_archive(path, "towns", "First")
    return path


def put_archive(directory: Path, name: str, title: str) -> None:
    """Write an archive elsewhere and move it to its path."""
    write_zim(directory.parent / "new", {"A": "x"}, metadata={"Title": title}).replace(directory / f"{name}.zim")


def subscribe(server: StdioServer, *uris: str) -> None:
    """Subscribe in the way of the connection's protocol version, and wait for the confirmation."""
    if server.version == STATELESS_VERSION:
        filters = {"resourceSubscriptions": list(uris), "resourcesListChanged": True}
        server.send_request("subscriptions/listen", {"notifications": filters})
        assert server.wait_for_notification(ACKNOWLEDGED)
    else:
        for uri in uris:
            assert server.request("resources/subscribe", {"uri": uri}) == {}


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_every_version_is_notified_and_reads_the_new_content(directory: Path, version: str) -> None:
    with StdioServer("--mode", "advanced", directory, **SHORT_INTERVAL).with_version(version) as server:
        subscribe(server, "zim://files", "zim://towns")
        put_archive(directory, "towns", "Other")
        assert server.wait_for_notification(UPDATED, uri="zim://files")
        assert server.wait_for_notification(UPDATED, uri="zim://towns")
        assert server.call("zim_metadata")["metadata"]["Title"] == "Other"
        assert LIST_CHANGED not in [notification["method"] for notification in server.notifications]

        put_archive(directory, "later", "Later")
        assert server.wait_for_notification(LIST_CHANGED)
        assert server.wait_for_notification(UPDATED, uri="zim://files")
        listed_uris = [resource["uri"] for resource in server.request("resources/list")["resources"]]
        assert listed_uris == ["zim://files", "zim://later", "zim://towns"]

        (directory / "later.zim").unlink()
        assert server.wait_for_notification(LIST_CHANGED)


@pytest.mark.parametrize("version", PROTOCOL_VERSIONS)
def test_capabilities_match_what_the_server_does(directory: Path, version: str) -> None:
    server = StdioServer(directory)
    capabilities = server.connect(version)["capabilities"]
    server.close()

    assert capabilities["resources"] == {"subscribe": True, "listChanged": True}
    assert capabilities["tools"] == capabilities["prompts"] == {"listChanged": False}
    assert capabilities["completions"] == {}


def test_unsubscribed_resource_is_not_notified(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory, **SHORT_INTERVAL)
    subscribe(server, "zim://towns", "zim://files")
    server.request("resources/unsubscribe", {"uri": "zim://towns"})

    put_archive(directory, "towns", "Other")

    assert server.wait_for_notification(UPDATED, uri="zim://files")
    assert not server.wait_for_notification(UPDATED, seconds=2)


@pytest.mark.parametrize("version", ["2025-11-25", STATELESS_VERSION])
def test_notification_repeats_the_uri_of_the_client(directory: Path, version: str) -> None:
    uris = ["zim://Towns", "zim://towns.zim", "zim://to%77ns", "zim://towns/entry/A", "zim://towns/"]
    with StdioServer(directory, **SHORT_INTERVAL).with_version(version) as server:
        subscribe(server, *uris)
        put_archive(directory, "towns", "Other")

        assert [server.wait_for_notification(UPDATED, uri=uri) for uri in uris] == [True] * 5


def test_subscription_may_precede_the_archive(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory, **SHORT_INTERVAL)
    subscribe(server, "zim://wiki", "zim://wiki_2026-01")

    put_archive(directory, "wiki_2026-01", "New")

    assert server.wait_for_notification(UPDATED, uri="zim://wiki")
    assert server.wait_for_notification(UPDATED, uri="zim://wiki_2026-01")


def test_growing_file_is_notified_once_when_complete(open_server: OpenServer, directory: Path) -> None:
    raw = (directory / "towns.zim").read_bytes()
    server = open_server(directory, **SHORT_INTERVAL)
    subscribe(server, "zim://files")

    with (directory / "growing.zim").open("wb") as file:
        for start in range(0, len(raw), len(raw) // 8):
            file.write(raw[start : start + len(raw) // 8])
            file.flush()
            time.sleep(0.4)

    assert server.wait_for_notification(LIST_CHANGED)
    assert server.wait_for_notification(UPDATED, uri="zim://files")
    assert not server.wait_for_notification(UPDATED, seconds=2.5)
    assert not server.wait_for_notification(LIST_CHANGED, seconds=0.1)


def test_unplugged_directory_is_reported_and_recovers(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory, **SHORT_INTERVAL)
    subscribe(server, "zim://files")

    directory.rename(directory.with_name("elsewhere"))
    assert server.wait_for_notification(LIST_CHANGED)
    directory.with_name("elsewhere").rename(directory)
    assert server.wait_for_notification(LIST_CHANGED)

    server.wait_for_log("zims: does not exist; it is served as soon as it appears")
    server.wait_for_log("zims: directory is readable again")
    assert str(directory) not in server.log


def test_disabled_subscription_succeeds_without_notifications(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory, SUBSCRIPTIONS_ENABLED="false", **SHORT_INTERVAL)
    subscribe(server, "zim://files", "zim://towns")

    put_archive(directory, "towns", "Other")
    put_archive(directory, "later", "Later")

    assert not server.wait_for_notification(UPDATED, seconds=3)
    assert server.notifications == []
    assert server.call("zim_metadata", zim_file_path="later")["metadata"]["Title"] == "Later"


def test_invalid_uri_is_refused(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory)

    for uri in ("", "nonsense", "x" * 9000, "zim://" + "x" * 9000):
        assert server.request_error("resources/subscribe", {"uri": uri})["code"] == -32602


def test_subscriptions_per_connection_are_limited(open_server: OpenServer, directory: Path) -> None:
    server = open_server(directory)
    for number in range(1000):
        server.request("resources/subscribe", {"uri": f"test://{number}"})

    error = server.request_error("resources/subscribe", {"uri": "test://more"})

    assert error["message"].startswith("Too many subscriptions")
    server.request("resources/subscribe", {"uri": "test://0"})


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", STATELESS_VERSION])
async def test_sdk_client_is_notified(directory: Path, mode: str) -> None:
    is_notified = anyio.Event()

    async def handle_message(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            is_notified.set()

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "openzim_mcp", str(directory)], env=server_environment(SHORT_INTERVAL)
    )
    async with Client(server, mode=mode, message_handler=handle_message) as client:
        if mode == "legacy":
            with pytest.warns(MCPDeprecationWarning):
                await client.subscribe_resource("zim://towns")
            put_archive(directory, "towns", "Other")
            with anyio.fail_after(TIMEOUT_SECONDS):
                await is_notified.wait()
        else:
            async with client.listen(resource_subscriptions=["zim://towns"]) as events:
                put_archive(directory, "towns", "Other")
                with anyio.fail_after(TIMEOUT_SECONDS):
                    event = await anext(aiter(events))
            assert event.uri == "zim://towns"


class MemoryClient:
    """A client on streams in memory, with `initialize`, that reads only when a test does."""

    def __init__(self, streams: Any) -> None:
        self._incoming, self._outgoing = streams

    async def send(self, method: str, request_id: int | None = None, **params: Any) -> None:
        message: Any
        if request_id is None:
            message = types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params or None)
        else:
            message = types.JSONRPCRequest(jsonrpc="2.0", id=request_id, method=method, params=params)
        await self._outgoing.send(SessionMessage(message))

    async def read(self) -> dict[str, Any]:
        with anyio.fail_after(TIMEOUT_SECONDS):
            message = (await self._incoming.receive()).message
        return dict(message.model_dump(exclude_none=True))

    async def read_until_updated(self, uri: str) -> list[dict[str, Any]]:
        """Read notifications up to the one that this resource was updated, and return those before it."""
        notifications = []
        while (notification := await self.read()).get("params", {}).get("uri") != uri:
            notifications.append(notification)
        return notifications

    async def initialize(self, *, send_initialized: bool = True) -> None:
        await self.send("initialize", 0, protocolVersion="2025-11-25", capabilities={}, clientInfo=CLIENT_INFO)
        await self.read()
        if send_initialized:
            await self.send("notifications/initialized")

    async def subscribe(self, *uris: str) -> None:
        for uri in uris:
            await self.send("resources/subscribe", 1, uri=uri)
            await self.read()


@contextlib.asynccontextmanager
async def connect(subscriptions: Subscriptions) -> AsyncIterator[MemoryClient]:
    server: Server[Any] = Server(
        "test",
        on_subscribe_resource=subscriptions.subscribe,
        on_unsubscribe_resource=subscriptions.unsubscribe,
        on_subscriptions_listen=subscriptions.listen,
    )
    server.add_notification_handler(
        "notifications/initialized", types.NotificationParams, subscriptions.serve_connection
    )
    async with (
        create_client_server_memory_streams() as (client_streams, server_streams),
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(server.run, *server_streams, server.create_initialization_options())
        yield MemoryClient(client_streams)
        tasks.cancel_scope.cancel()


def advance_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let timeouts of this length expire now."""
    loop = asyncio.get_running_loop()
    now = loop.time
    monkeypatch.setattr(loop, "time", lambda: now() + seconds)


async def wait_for_subscription_count(subscriptions: Subscriptions, count: int) -> None:
    with anyio.fail_after(TIMEOUT_SECONDS):
        while subscriptions.subscription_count != count:
            await anyio.sleep(0.01)


CHANGES = Changes(("zim://files", "zim://a"), list_changed=True)
LAST_CHANGE = Changes(("zim://last",))


@pytest.mark.anyio
async def test_slow_subscriber_is_dropped_and_delays_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    subscriptions = Subscriptions(send_timeout=600)
    async with connect(subscriptions) as slow, connect(subscriptions) as fast:
        for client in (slow, fast):
            await client.initialize()
            await client.subscribe("zim://files", "zim://a")
        await subscriptions.publish(CHANGES)
        notifications = [await fast.read() for _ in range(3)]
        count_before_timeout = subscriptions.subscription_count
        await anyio.wait_all_tasks_blocked()
        advance_clock(monkeypatch, 601)
        await wait_for_subscription_count(subscriptions, 2)

        # The dropped client reads again, and may subscribe again.
        first = await slow.read()
        await slow.subscribe("zim://a")
        await subscriptions.publish(CHANGES)
        after_subscribing_again = [await slow.read(), await slow.read()]

    assert [notification["method"] for notification in notifications] == [LIST_CHANGED, UPDATED, UPDATED]
    assert count_before_timeout == 4
    assert first["method"] == LIST_CHANGED
    assert [notification["method"] for notification in after_subscribing_again] == [LIST_CHANGED, UPDATED]


@pytest.mark.anyio
async def test_slow_stream_of_the_stateless_version_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    subscriptions = Subscriptions(send_timeout=600)
    async with connect(subscriptions) as slow:
        filters = {"resourceSubscriptions": ["zim://files", "zim://a"], "resourcesListChanged": True}
        await slow.send("subscriptions/listen", 1, notifications=filters, _meta=REQUEST_META)
        assert (await slow.read())["method"] == ACKNOWLEDGED
        assert subscriptions.subscription_count == 2

        await subscriptions.publish(CHANGES)
        await anyio.wait_all_tasks_blocked()
        advance_clock(monkeypatch, 601)
        await wait_for_subscription_count(subscriptions, 0)
        messages = [await slow.read(), await slow.read()]

    assert messages[0]["method"] == LIST_CHANGED
    assert messages[1]["error"]["message"] == "Stream closed: the client did not read its messages."


@pytest.mark.anyio
@pytest.mark.parametrize("version", ["2025-11-25", STATELESS_VERSION])
async def test_subscription_is_confirmed_after_the_first_scan(version: str) -> None:
    is_watching = anyio.Event()
    subscriptions = Subscriptions(is_watching=is_watching)
    async with connect(subscriptions) as client:
        if version == STATELESS_VERSION:
            filters = {"resourceSubscriptions": ["zim://a"]}
            await client.send("subscriptions/listen", 1, notifications=filters, _meta=REQUEST_META)
        else:
            await client.initialize()
            await client.send("resources/subscribe", 1, uri="zim://a")
        await wait_for_subscription_count(subscriptions, 1)
        await anyio.wait_all_tasks_blocked()
        assert client._incoming._inner.statistics().current_buffer_used == 0

        is_watching.set()

        assert (await client.read()).get("method") == (ACKNOWLEDGED if version == STATELESS_VERSION else None)


@pytest.mark.anyio
async def test_queued_events_are_sent_once() -> None:
    subscriptions = Subscriptions()
    async with connect(subscriptions) as client:
        await client.initialize()
        await client.subscribe("zim://a", "zim://last")
        for _ in range(50):
            await subscriptions.publish(CHANGES)
        await subscriptions.publish(LAST_CHANGE)
        methods = [notification["method"] for notification in await client.read_until_updated("zim://last")]

    assert len(methods) <= 6  # those that were being sent, and one of each in the queue
    assert {LIST_CHANGED, UPDATED} == set(methods)


@pytest.mark.anyio
async def test_second_initialized_does_not_repeat_notifications() -> None:
    subscriptions = Subscriptions()
    async with connect(subscriptions) as client:
        await client.initialize()
        await client.send("notifications/initialized")
        await client.subscribe("zim://a", "zim://last")
        await subscriptions.publish(Changes(("zim://a",)))
        await subscriptions.publish(LAST_CHANGE)

        notifications = await client.read_until_updated("zim://last")

    assert [notification["params"]["uri"] for notification in notifications] == ["zim://a"]


@pytest.mark.anyio
@pytest.mark.parametrize(("count", "send_initialized"), [(1000, True), (50, False)])
async def test_closed_connections_leave_nothing_behind(count: int, *, send_initialized: bool) -> None:
    subscriptions = Subscriptions()

    for _ in range(count):
        async with connect(subscriptions) as client:
            await client.initialize(send_initialized=send_initialized)
            await client.subscribe("zim://files", "zim://a")
            assert subscriptions.connection_count >= 1

    gc.collect()
    assert (subscriptions.connection_count, subscriptions.subscription_count) == (0, 0)
    assert not subscriptions._variants
    assert not subscriptions._bus._listeners


def test_watcher_uses_hardly_any_cpu(open_server: OpenServer, directory: Path) -> None:
    if not Path("/proc/self/stat").exists():
        pytest.skip("processor time is read from /proc")
    server = open_server(directory, **SHORT_INTERVAL)
    subscribe(server, "zim://files")
    server.call("zim_metadata")

    before = cpu_seconds(server.process.pid)
    time.sleep(4)

    assert cpu_seconds(server.process.pid) - before < 0.2
