"""The watcher, with a clock that the tests control."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from openzim_mcp.app import watch as watch_module
from openzim_mcp.app.watch import watch
from openzim_mcp.library.changes import Changes
from openzim_mcp.library.scan import Scanner

pytestmark = pytest.mark.anyio
INTERVAL_SECONDS = 5


class Stopped(BaseException):
    """Ends the watcher."""


@dataclass
class Clock:
    """Replaces `anyio.sleep`: at each sleep, the next action runs; after the last one the watcher is stopped."""

    actions: Iterator[Callable[[], Any]]
    sleeps: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        action = next(self.actions, None)
        if action is None:
            raise Stopped
        self.sleeps.append(seconds)
        action()


async def run_watcher(
    monkeypatch: pytest.MonkeyPatch, app: Any, *actions: Callable[[], Any]
) -> tuple[list[Changes], list[float]]:
    """Run the watcher through some sleeps, and return what it published and how long it slept."""
    published: list[Changes] = []
    clock = Clock(iter(actions))
    monkeypatch.setattr(watch_module.anyio, "sleep", clock.sleep)

    async def publish(changes: Changes) -> None:
        published.append(changes)

    with pytest.raises(Stopped):
        await watch(app, publish, anyio.Event())
    return published, clock.sleeps


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "zims"
    path.mkdir()
    return path


@pytest.fixture
def app(directory: Path) -> Any:
    """The part of the application that the watcher uses."""
    library = Scanner([directory])

    async def scan() -> Any:
        return library.scan()

    return SimpleNamespace(settings=SimpleNamespace(watch_interval_seconds=INTERVAL_SECONDS), scan=scan)


def do_nothing() -> None:
    pass


async def test_unchanged_directory_is_scanned_at_the_interval(monkeypatch: pytest.MonkeyPatch, app: Any) -> None:
    published, sleeps = await run_watcher(monkeypatch, app, do_nothing, do_nothing, do_nothing)

    assert published == [Changes()] * 3
    assert sleeps == [INTERVAL_SECONDS] * 3


async def test_change_is_published_within_the_interval_and_a_second(
    monkeypatch: pytest.MonkeyPatch, app: Any, directory: Path, town_zim: Path
) -> None:
    def add_archive() -> None:
        (directory / "new.zim").write_bytes(town_zim.read_bytes())

    published, sleeps = await run_watcher(monkeypatch, app, add_archive, do_nothing, do_nothing)

    assert published == [Changes(), Changes(("zim://files", "zim://new"), list_changed=True), Changes()]
    assert sleeps == [INTERVAL_SECONDS, 0.5, INTERVAL_SECONDS]


async def test_failed_scan_is_logged_and_the_next_one_follows(
    monkeypatch: pytest.MonkeyPatch, app: Any, caplog: pytest.LogCaptureFixture
) -> None:
    scan = app.scan

    async def fail() -> Any:
        raise RuntimeError("a bug")

    def break_scan() -> None:
        app.scan = fail

    def repair_scan() -> None:
        app.scan = scan

    with caplog.at_level(logging.ERROR):
        published, _ = await run_watcher(monkeypatch, app, break_scan, repair_scan)

    assert published == [Changes()]
    assert "watching the directories failed" in caplog.text
    assert "a bug" in caplog.text
