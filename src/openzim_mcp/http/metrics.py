"""Prometheus metrics: calls by tool and outcome, their duration, requests in progress.

Several processes share them through files that each writes once a second. The library maps such files into memory,
where a full disk ends the process (SIGBUS); here it only makes the metrics of that process old.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric

from openzim_mcp import __version__
from openzim_mcp.files import write_atomic
from openzim_mcp.protocol.tools import TOOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

log = logging.getLogger(__name__)

CONTENT_TYPE = CONTENT_TYPE_LATEST
DIRECTORY_VARIABLE = "_OPENZIM_MCP_METRICS_DIRECTORY"
"""Environment variable that tells the processes of one server where they share their metrics."""
_SHARE_SECONDS = 1.0
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


class _Sample(msgspec.Struct, frozen=True, array_like=True):
    family: str
    name: str
    labels: dict[str, str]
    value: float


def remove_process(pid: int) -> None:
    """Remove the gauges of a process that has ended; its counters still count."""
    with contextlib.suppress(OSError, KeyError):
        directory = Path(os.environ[DIRECTORY_VARIABLE])
        (directory / f"{pid}.json").rename(directory / f"{pid}.ended")


class Metrics:
    """The metrics of this process; with several processes, those of all together."""

    def __init__(self, **gauges: tuple[str, Callable[[], float]]) -> None:
        self._registry = CollectorRegistry()
        directory = os.environ.get(DIRECTORY_VARIABLE)
        self._shared = _SharedSamples(Path(directory)) if directory else None
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
        info = Gauge("openzim_mcp_info", "Version of the server.", ("version",), registry=self._registry)
        info.labels(__version__).set(1)
        self._gauges = [
            (Gauge(f"openzim_mcp_{name}", help_text, registry=self._registry), get_value)
            for name, (help_text, get_value) in gauges.items()
        ]
        if self._shared:
            threading.Thread(target=self._share, args=(self._shared,), daemon=True).start()

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
        """Set the gauges that other processes will read, if there are several processes."""
        if self._shared:
            self._set_gauges()

    def _set_gauges(self) -> None:
        for gauge, get_value in self._gauges:
            gauge.set(get_value())

    def _share(self, shared: _SharedSamples) -> None:
        while True:
            shared.write(_samples(self._registry))
            time.sleep(_SHARE_SECONDS)

    def render(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        self._set_gauges()
        if not self._shared:
            return generate_latest(self._registry)
        merged = CollectorRegistry()
        merged.register(_MergedMetrics(self._registry, self._shared.read_others()))
        return generate_latest(merged)


class _SharedSamples:
    """The samples of all processes: one file each in a directory that the supervisor has made."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._file = directory / f"{os.getpid()}.json"
        self._written = b""
        self._problem = ""

    def write(self, samples: Iterable[_Sample]) -> None:
        """Write the samples of this process, if they have changed."""
        data = msgspec.json.encode(list(samples))
        if data == self._written:
            return
        try:
            write_atomic(str(self._file), data)
            self._written, self._problem = data, ""
        except OSError as error:
            if error.strerror != self._problem:
                self._problem = error.strerror or ""
                log.warning("the metrics of this process are not shared with the others: %s", self._problem)

    def read_others(self) -> list[_Sample]:
        """Return the samples of the other processes; of those that have ended, without gauges."""
        samples: list[_Sample] = []
        for file in self._directory.glob("[0-9]*"):
            with contextlib.suppress(OSError, msgspec.DecodeError):
                of_process = msgspec.json.decode(file.read_bytes(), type=list[_Sample]) if file != self._file else []
                samples += [row for row in of_process if file.suffix == ".json" or row.family != row.name]
        return samples


class _MergedMetrics:
    """The metrics of this process with the values of others added to them."""

    def __init__(self, own: CollectorRegistry, others: Iterable[_Sample]) -> None:
        self._own = own
        self._others = others

    def collect(self) -> Iterator[Metric]:
        values: defaultdict[str, defaultdict[tuple[str, tuple[tuple[str, str], ...]], float]]
        values = defaultdict(lambda: defaultdict(float))
        for row in (*_samples(self._own), *self._others):
            key = (row.name, tuple(sorted(row.labels.items())))
            is_info = row.name == "openzim_mcp_info"
            values[row.family][key] = row.value if is_info else values[row.family][key] + row.value
        for family in self._own.collect():
            metric = Metric(family.name, family.documentation, family.type)
            for (name, labels), value in values[family.name].items():
                metric.add_sample(name, dict(labels), value)
            yield metric


def _samples(registry: CollectorRegistry) -> Iterator[_Sample]:
    """Yield all samples; the sample of a gauge has the name of its family."""
    for family in registry.collect():
        for sample in family.samples:
            if not sample.name.endswith("_created"):
                yield _Sample(family.name, sample.name, sample.labels, sample.value)
