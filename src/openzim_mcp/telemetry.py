"""OpenTelemetry: export the spans that the SDK creates for calls, if the environment names a collector."""

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

_ENDPOINT_VARIABLES = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_EXPORTER_PACKAGE = "opentelemetry.exporter.otlp.proto.http"
_FLUSH_TIMEOUT_SECONDS = 2.0


@contextlib.contextmanager
def exporting_spans(service_name: str) -> Iterator[None]:
    """Export spans under this service name while the block runs, if the environment names a collector."""
    if not any(os.environ.get(variable) for variable in _ENDPOINT_VARIABLES):
        yield
    elif not _is_exporter_installed():
        log.warning(
            "%s is set, but the exporter is not installed; in a clone of the repository: pip install '.[telemetry]'",
            _ENDPOINT_VARIABLES[0],
        )
        yield
    else:
        provider = _set_up_provider(service_name)
        try:
            yield
        finally:
            # A collector that does not respond must not delay the end of the server.
            flush = threading.Thread(target=provider.shutdown, daemon=True)
            flush.start()
            flush.join(_FLUSH_TIMEOUT_SECONDS)


def _set_up_provider(service_name: str) -> TracerProvider:
    from opentelemetry import trace  # noqa: PLC0415  an extra: few need it
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    resource = Resource.create({"service.name": os.environ.get("OTEL_SERVICE_NAME", service_name)})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)
    return provider


def _is_exporter_installed() -> bool:
    try:
        return importlib.util.find_spec(_EXPORTER_PACKAGE) is not None
    except ModuleNotFoundError:
        return False
