"""Prometheus metrics: calls by tool and outcome, their duration, requests in progress."""

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
_DIRECTORY_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_TOOL_NAMES = {tool.name for tool in TOOLS}
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
_DURATION_BUCKETS_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30)


def remove_process(pid: int) -> None:
    """Remove the gauges of a process that has ended."""
    multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]


class Metrics:
    """The metrics of this process; with several processes, those of all together."""

    def __init__(self, **gauges: tuple[str, Callable[[], float]]) -> None:
        self._registry = CollectorRegistry()
        self._calls = Counter(
            "openzim_mcp_calls",
            "Requests and notifications of clients.",
            ("method", "tool", "outcome"),
            registry=self._registry,
        )
        self._seconds = Histogram(
            "openzim_mcp_call_seconds",
            "Duration of tool calls.",
            ("tool",),
            buckets=_DURATION_BUCKETS_SECONDS,
            registry=self._registry,
        )
        self._requests = Counter(
            "openzim_mcp_http_requests", "HTTP requests by status.", ("status",), registry=self._registry
        )
        info = Gauge(
            "openzim_mcp_info", "Version of the server.", ("version",), registry=self._registry, multiprocess_mode="max"
        )
        info.labels(__version__).set(1)
        self._gauges = [
            (Gauge(f"openzim_mcp_{name}", help_text, registry=self._registry, multiprocess_mode="livesum"), get_value)
            for name, (help_text, get_value) in gauges.items()
        ]

    def count(self, method: str, tool: str, outcome: str, seconds: float) -> None:
        """Count a call; names that a client made up are not used as labels, which would fill the memory."""
        tool = tool if tool in _TOOL_NAMES else ""
        outcome = outcome if outcome in _OUTCOMES else "error"
        self._calls.labels(method if method in _METHODS else "other", tool, outcome).inc()
        if tool:
            self._seconds.labels(tool).observe(seconds)

    def count_response(self, status: int) -> None:
        """Count an HTTP response."""
        self._requests.labels(str(status)).inc()

    def update_gauges(self) -> None:
        """Store the gauges where other processes can read them, if there are several processes."""
        if _DIRECTORY_VARIABLE in os.environ:
            self._set_gauges()

    def _set_gauges(self) -> None:
        for gauge, get_value in self._gauges:
            gauge.set(get_value())

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        self._set_gauges()
        if _DIRECTORY_VARIABLE not in os.environ:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)
