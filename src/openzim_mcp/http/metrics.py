"""What Prometheus reads: calls by tool and outcome, how long they take, what is under way."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest, multiprocess
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from openzim_mcp import __version__
from openzim_mcp.protocol.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable

CONTENT_TYPE = CONTENT_TYPE_LATEST
_DIRECTORY = "PROMETHEUS_MULTIPROC_DIR"
_NAMES = {tool.name for tool in TOOLS}
_METHODS = {
    "initialize",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "subscriptions/listen",
    "prompts/list",
    "prompts/get",
    "completion/complete",
}
_OUTCOMES = {"ok", "failed", "cancelled", "rate_limited"}
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


def forget(pid: int) -> None:
    """Take what a process had under way out of the numbers of all processes: it has ended."""
    multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


class Metrics:
    """The numbers of this process; of all processes, where there are several."""

    def __init__(self, **gauges: tuple[str, Callable[[], float]]) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "openzim_mcp_calls", "Messages of clients.", ("method", "tool", "outcome"), registry=self._registry
        )
        self._seconds = Histogram(
            "openzim_mcp_call_seconds", "How long they took.", ("tool",), buckets=_SECONDS, registry=self._registry
        )
        self._requests = Counter(
            "openzim_mcp_http_requests", "HTTP requests by status.", ("status",), registry=self._registry
        )
        about = Gauge(
            "openzim_mcp_info", "The version.", ("version",), registry=self._registry, multiprocess_mode="max"
        )
        about.labels(__version__).set(1)
        self._gauges = [
            (Gauge(f"openzim_mcp_{name}", said, registry=self._registry, multiprocess_mode="livesum"), read)
            for name, (said, read) in gauges.items()
        ]

    def count(self, method: str, tool: str, outcome: str, seconds: float) -> None:
        """Take note of a call; a client cannot make up names that fill the memory."""
        tool = tool if tool in _NAMES else ""
        told = outcome if outcome in _OUTCOMES else "error"
        self._calls.labels(method if method in _METHODS else "other", tool, told).inc()
        if tool:
            self._seconds.labels(tool).observe(seconds)

    def respond(self, status: int) -> None:
        """Take note of a response."""
        self._requests.labels(str(status)).inc()

    def publish(self) -> None:
        """Take note of what is under way, if another process may be asked for the numbers of all."""
        if _DIRECTORY in os.environ:
            self._read()

    def _read(self) -> None:
        for gauge, read in self._gauges:
            gauge.set(read())

    def text(self) -> bytes:
        """Return all numbers as Prometheus reads them."""
        self._read()
        if _DIRECTORY not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
