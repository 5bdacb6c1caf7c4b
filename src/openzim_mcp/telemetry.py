"""Spans of OpenTelemetry: the SDK makes one of each call; they leave where the usual variables name a collector."""

from __future__ import annotations

import importlib.util
import logging
import os

log = logging.getLogger(__name__)

_COLLECTOR = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_PACKAGE = "opentelemetry.exporter.otlp.proto.http"


def set_up(name: str) -> None:
    """Send spans under this name, if the environment names a collector."""
    if not any(os.environ.get(variable) for variable in _COLLECTOR):
        return
    if not _is_installed():
        log.warning("%s is set, but no exporter is installed: pip install 'openzim-mcp[telemetry]'", _COLLECTOR[0])
        return
    from opentelemetry import trace  # noqa: PLC0415  an extra: few need it
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    provider = TracerProvider(resource=Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", name)}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def _is_installed() -> bool:
    try:
        return importlib.util.find_spec(_PACKAGE) is not None
    except ModuleNotFoundError:
        return False
