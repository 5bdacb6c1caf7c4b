"""Spans of OpenTelemetry: the SDK makes one of each call; they leave where the usual variables name a collector."""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import os
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from opentelemetry.sdk.trace import TracerProvider

log = logging.getLogger(__name__)

_COLLECTOR = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PACKAGE = "opentelemetry.exporter.otlp.proto.http"
_LAST_SECONDS = 2.0
"""How long the end waits for a collector to take the last spans."""


@contextlib.contextmanager
def exporting_spans(name: str) -> Iterator[None]:
    """Send spans under this name while the block runs, if the environment names a collector."""
    if not any(os.environ.get(variable) for variable in _COLLECTOR):
        yield
    elif not _is_installed():
        log.warning("%s is set, but no exporter is installed: pip install 'openzim-mcp[telemetry]'", _COLLECTOR[0])
        yield
    else:
        provider = _provider(name)
        try:
            yield
        finally:
            last = threading.Thread(target=provider.shutdown, daemon=True)
            last.start()
            last.join(_LAST_SECONDS)


def _provider(name: str) -> TracerProvider:
    from opentelemetry import trace  # noqa: PLC0415  an extra: few need it
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    about = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", name)})
    provider = TracerProvider(resource=about, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec(_PACKAGE) is not None
    except ModuleNotFoundError:
        return False
