"""Live updates: over pipes to the real server, and over streams in memory where time and faults are the point."""

from __future__ import annotations

import contextlib
import gc
import os
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
from support.stdio_server import INITIALIZE_VERSIONS, STATELESS_VERSION, StdioServer, server_environment

OpenServer = Callable[..., StdioServer]
UPDATED = "notifications/resources/updated"
LIST_CHANGED = "notifications/resources/list_changed"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
QUICK = {"WATCH_INTERVAL_SECONDS": "1"}


@pytest.fixture
def shelf(tmp_path: Path) -> Path:
    folder = tmp_path / "zims"
    folder.mkdir()
    put(folder, "towns", "First")
    return folder


def put(folder: Path, name: str, title: str) -> None:
    """Write an archive aside and move it into its place."""
    write_zim(folder.parent / "new", {"A": "x"}, metadata={"Title": title}).replace(folder / f"{name}.zim")


def follow(server: StdioServer, *uris: str) -> None:
    """Subscribe in the way of the connection's revision."""
    if server.version == STATELESS_VERSION:
        wanted = {"resourceSubscriptions": list(uris), "resourcesListChanged": True}
        server.send_request("subscriptions/listen", {"notifications": wanted})
        assert server.wait_for_notification(ACKNOWLEDGED)
    else:
        for uri in uris:
            assert server.request("resources/subscribe", {"uri": uri}) == {}
    time.sleep(0.3)  # the watcher has had its first look


@pytest.mark.parametrize("revision", [*INITIALIZE_VERSIONS, STATELESS_VERSION])
def test_every_revision_hears_of_what_changes_and_then_reads_it(shelf: Path, revision: str) -> None:
    with StdioServer("--mode", "advanced", shelf, **QUICK).with_version(revision) as server:
        follow(server, "zim://files", "zim://towns")
        put(shelf, "towns", "Other")
        assert server.wait_for_notification(UPDATED, uri="zim://files")
        assert server.wait_for_notification(UPDATED, uri="zim://towns")
        assert server.call("zim_metadata")["metadata"]["Title"] == "Other"
        assert LIST_CHANGED not in [note["method"] for note in server.notifications]

        put(shelf, "later", "Later")
        assert server.wait_for_notification(LIST_CHANGED)
        assert server.wait_for_notification(UPDATED, uri="zim://files")
        listed = [row["uri"] for row in server.request("resources/list")["resources"]]
        assert listed == ["zim://files", "zim://later", "zim://towns"]

        (shelf / "later.zim").unlink()
        assert server.wait_for_notification(LIST_CHANGED)


@pytest.mark.parametrize("revision", [*INITIALIZE_VERSIONS, STATELESS_VERSION])
def test_what_is_advertised_is_what_is_done(shelf: Path, revision: str) -> None:
    server = StdioServer(shelf)
    capabilities = server.connect(revision)["capabilities"]
    server.close()

    assert capabilities["resources"] == {"subscribe": True, "listChanged": True}
    assert capabilities["tools"] == capabilities["prompts"] == {"listChanged": False}
    assert capabilities["completions"] == {}


def test_nothing_is_heard_of_what_was_not_subscribed_to(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf, **QUICK)
    follow(server, "zim://towns", "zim://files")
    server.request("resources/unsubscribe", {"uri": "zim://towns"})

    put(shelf, "towns", "Other")

    assert server.wait_for_notification(UPDATED, uri="zim://files")
    assert not server.wait_for_notification(UPDATED, seconds=2)


@pytest.mark.parametrize("revision", ["2025-11-25", STATELESS_VERSION])
def test_a_client_is_told_in_its_own_spelling(shelf: Path, revision: str) -> None:
    spellings = ["zim://Towns", "zim://towns.zim", "zim://to%77ns", "zim://towns/entry/A", "zim://towns/"]
    with StdioServer(shelf, **QUICK).with_version(revision) as server:
        follow(server, *spellings)
        put(shelf, "towns", "Other")

        assert [server.wait_for_notification(UPDATED, uri=uri) for uri in spellings] == [True] * 5


def test_a_subscription_may_come_before_the_archive(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf, **QUICK)
    follow(server, "zim://wiki", "zim://wiki_2026-01")

    put(shelf, "wiki_2026-01", "New")

    assert server.wait_for_notification(UPDATED, uri="zim://wiki")
    assert server.wait_for_notification(UPDATED, uri="zim://wiki_2026-01")


def test_a_growing_file_is_announced_once_when_it_rests(open_server: OpenServer, shelf: Path) -> None:
    raw = (shelf / "towns.zim").read_bytes()
    server = open_server(shelf, **QUICK)
    follow(server, "zim://files")

    with (shelf / "growing.zim").open("wb") as file:
        for start in range(0, len(raw), len(raw) // 8):
            file.write(raw[start : start + len(raw) // 8])
            file.flush()
            time.sleep(0.4)

    assert server.wait_for_notification(LIST_CHANGED)
    assert server.wait_for_notification(UPDATED, uri="zim://files")
    assert not server.wait_for_notification(UPDATED, seconds=2.5)
    assert not server.wait_for_notification(LIST_CHANGED, seconds=0.1)


def test_the_notification_comes_within_the_interval_and_a_second(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf, **QUICK)
    follow(server, "zim://files")

    put(shelf, "later", "Later")
    arrived = time.monotonic()
    assert server.wait_for_notification(LIST_CHANGED)

    assert time.monotonic() - arrived < 1 + 1 + 0.5  # half a second for a busy machine


def test_an_unplugged_directory_is_reported_and_recovers(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf, **QUICK)
    follow(server, "zim://files")

    shelf.rename(shelf.with_name("away"))
    assert server.wait_for_notification(LIST_CHANGED)
    shelf.with_name("away").rename(shelf)
    assert server.wait_for_notification(LIST_CHANGED)

    assert "zims: directory cannot be read: No such file or directory; retrying" in server.log
    assert "zims: directory is readable again" in server.log
    assert str(shelf) not in server.log


def test_switched_off_a_subscription_succeeds_and_is_never_told(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf, SUBSCRIPTIONS_ENABLED="false", **QUICK)
    follow(server, "zim://files", "zim://towns")

    put(shelf, "towns", "Other")
    put(shelf, "later", "Later")

    assert not server.wait_for_notification(UPDATED, seconds=3)
    assert server.notifications == []
    assert server.call("zim_metadata", zim_file_path="later")["metadata"]["Title"] == "Later"


def test_what_is_no_uri_is_refused(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf)

    for uri in ("", "nonsense", "x" * 9000, "zim://" + "x" * 9000):
        assert server.request_error("resources/subscribe", {"uri": uri})["code"] == -32602


def test_subscriptions_of_a_connection_are_bounded(open_server: OpenServer, shelf: Path) -> None:
    server = open_server(shelf)
    for number in range(1000):
        server.request("resources/subscribe", {"uri": f"test://{number}"})

    assert server.request_error("resources/subscribe", {"uri": "test://more"})["message"].startswith(
        "Too many subscriptions"
    )
    server.request("resources/subscribe", {"uri": "test://0"})


@pytest.mark.anyio
@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_the_sdk_client_of_both_eras_is_told(shelf: Path, era: str) -> None:
    told = anyio.Event()

    async def hear(message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            told.set()

    server = StdioServerParameters(
        command=sys.executable, args=["-m", "openzim_mcp", str(shelf)], env=server_environment(QUICK)
    )
    async with Client(server, mode=era, message_handler=hear) as client:
        if era == "legacy":
            with pytest.warns(MCPDeprecationWarning):
                await client.subscribe_resource("zim://towns")
            await anyio.sleep(0.3)
            put(shelf, "towns", "Other")
            with anyio.fail_after(10):
                await told.wait()
        else:
            async with client.listen(resource_subscriptions=["zim://towns"]) as events:
                await anyio.sleep(0.3)
                put(shelf, "towns", "Other")
                with anyio.fail_after(10):
                    event = await anext(aiter(events))
            assert event.uri == "zim://towns"


class Peer:
    """A client of a handshake revision on streams in memory, which reads only when told to."""

    def __init__(self, streams: Any) -> None:
        self._read, self._write = streams

    async def send(self, method: str, number: int | None = None, **params: Any) -> None:
        message: Any
        if number is None:
            message = types.JSONRPCNotification(jsonrpc="2.0", method=method, params=params or None)
        else:
            message = types.JSONRPCRequest(jsonrpc="2.0", id=number, method=method, params=params)
        await self._write.send(SessionMessage(message))

    async def read(self) -> dict[str, Any]:
        with anyio.fail_after(5):
            message = (await self._read.receive()).message
        return dict(message.model_dump(exclude_none=True))

    async def introduce(self, *, initialized: bool = True) -> None:
        client = {"name": "test", "version": "1"}
        await self.send("initialize", 0, protocolVersion="2025-11-25", capabilities={}, clientInfo=client)
        await self.read()
        if initialized:
            await self.send("notifications/initialized")

    async def subscribe(self, *uris: str) -> None:
        for uri in uris:
            await self.send("resources/subscribe", 1, uri=uri)
            await self.read()


@contextlib.asynccontextmanager
async def connected(subscriptions: Subscriptions) -> AsyncIterator[Peer]:
    server: Server[Any] = Server(
        "test",
        on_subscribe_resource=subscriptions.subscribe,
        on_unsubscribe_resource=subscriptions.unsubscribe,
        on_subscriptions_listen=subscriptions.listen,
    )
    server.add_notification_handler(
        "notifications/initialized", types.NotificationParams, subscriptions.serve_connection
    )
    async with create_client_server_memory_streams() as (client, own), anyio.create_task_group() as tasks:
        tasks.start_soon(server.run, *own, server.create_initialization_options())
        yield Peer(client)
        tasks.cancel_scope.cancel()


CHANGE = Changes(("zim://files", "zim://a"), list_changed=True)


@pytest.mark.anyio
async def test_one_slow_subscriber_delays_nobody_and_is_dropped() -> None:
    subscriptions = Subscriptions(send_timeout=0.5)
    async with connected(subscriptions) as slow, connected(subscriptions) as quick:
        for peer in (slow, quick):
            await peer.introduce()
            await peer.subscribe("zim://files", "zim://a")
        started = time.monotonic()
        await subscriptions.publish(CHANGE)
        heard = [await quick.read() for _ in range(3)]
        took = time.monotonic() - started
        await anyio.sleep(1)
        after_drop = subscriptions.subscription_count

        # It reads again, and may subscribe again.
        first = await slow.read()
        await slow.subscribe("zim://a")
        await subscriptions.publish(CHANGE)
        again = [await slow.read(), await slow.read()]

    assert [note["method"] for note in heard] == [LIST_CHANGED, UPDATED, UPDATED]
    assert took < 0.4
    assert after_drop == 2
    assert first["method"] == LIST_CHANGED
    assert [note["method"] for note in again] == [LIST_CHANGED, UPDATED]


@pytest.mark.anyio
async def test_a_slow_stream_of_the_modern_revision_is_dropped() -> None:
    subscriptions = Subscriptions(send_timeout=0.3)
    envelope = {
        "io.modelcontextprotocol/protocolVersion": STATELESS_VERSION,
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    async with connected(subscriptions) as slow:
        wanted = {"resourceSubscriptions": ["zim://files", "zim://a"], "resourcesListChanged": True}
        await slow.send("subscriptions/listen", 1, notifications=wanted, _meta=envelope)
        assert (await slow.read())["method"] == ACKNOWLEDGED
        assert subscriptions.subscription_count == 2

        await subscriptions.publish(CHANGE)
        await anyio.sleep(1)

        assert subscriptions.subscription_count == 0
        messages = [await slow.read(), await slow.read()]

    assert messages[0]["method"] == LIST_CHANGED
    assert messages[1]["error"]["message"] == "Stream closed: the client did not read its messages."


@pytest.mark.anyio
async def test_what_waits_to_be_told_is_told_once() -> None:
    subscriptions = Subscriptions()
    async with connected(subscriptions) as peer:
        await peer.introduce()
        await peer.subscribe("zim://a")
        for _ in range(50):
            await subscriptions.publish(CHANGE)
        await anyio.sleep(0.1)
        heard = []
        with contextlib.suppress(TimeoutError), anyio.fail_after(0.5):
            while True:
                heard.append((await peer.read())["method"])

    assert len(heard) <= 6  # those under way, and one of each that waited
    assert {LIST_CHANGED, UPDATED} == set(heard)


@pytest.mark.anyio
async def test_saying_twice_that_one_is_ready_does_not_double_what_is_told() -> None:
    subscriptions = Subscriptions()
    async with connected(subscriptions) as peer:
        await peer.introduce()
        await peer.send("notifications/initialized")
        await peer.subscribe("zim://a")
        await subscriptions.publish(Changes(("zim://a",)))
        await peer.read()

        with pytest.raises(TimeoutError), anyio.fail_after(0.3):
            await peer.read()


@pytest.mark.anyio
@pytest.mark.parametrize(("count", "initialized"), [(1000, True), (50, False)])
async def test_nothing_is_left_of_a_thousand_connections(count: int, *, initialized: bool) -> None:
    subscriptions = Subscriptions()

    for _ in range(count):
        async with connected(subscriptions) as peer:
            await peer.introduce(initialized=initialized)
            await peer.subscribe("zim://files", "zim://a")
            assert subscriptions.connection_count >= 1

    gc.collect()
    assert (subscriptions.connection_count, subscriptions.subscription_count) == (0, 0)
    assert not subscriptions._variants
    assert not subscriptions._bus._listeners


def test_the_watcher_costs_next_to_nothing(open_server: OpenServer, shelf: Path) -> None:
    def ticks(pid: int) -> float:
        stat = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    if not Path("/proc/self/stat").exists():
        pytest.skip("processor time is read from /proc")
    server = open_server(shelf, **QUICK)
    time.sleep(1.5)

    before = ticks(server.process.pid)
    time.sleep(4)

    assert ticks(server.process.pid) - before < 0.2
