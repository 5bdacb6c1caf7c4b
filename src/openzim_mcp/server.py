"""The composition root: builds the application and runs a transport."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from typing import TYPE_CHECKING

import anyio
from starlette.routing import Router

from openzim_mcp import __version__, config, telemetry
from openzim_mcp.app.app import App
from openzim_mcp.app.watch import watch
from openzim_mcp.library.scan import make_scanner
from openzim_mcp.protocol.jsonrpc import open_streams
from openzim_mcp.protocol.server import build_server
from openzim_mcp.protocol.stdio import LineReader, LineWriter
from openzim_mcp.protocol.subscriptions import Subscriptions

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openzim_mcp.app.limits import BucketStore
    from openzim_mcp.library.scan import ScanResult

log = logging.getLogger(__name__)

_GRACE_SECONDS = 1
_STDIO_WORKERS = 2


def serve(settings: config.Settings) -> int:
    """Serve until the client disconnects or a signal arrives; return the exit code."""
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # until here, Ctrl-C ends the process at once
        for sentence in config.unknown_variables():
            log.warning(sentence)
        with telemetry.exporting_spans(settings.server_name):
            if settings.transport == "http":
                return _serve_http(settings)
            anyio.run(_serve_stdio, settings)
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0


def _serve_http(settings: config.Settings) -> int:
    from openzim_mcp.http import redis_limits, serve  # noqa: PLC0415  the stdio server does not need it

    if settings.redis_url:
        redis_limits.check_redis_url(settings.redis_url.get_secret_value())
    scan = make_scanner(settings).scan()
    _log_missing(scan)
    return serve.run_server(settings, http_application, _banner(scan))


def http_application(settings: config.Settings) -> ASGIApp:
    """Return the ASGI application of one process; its lifespan starts and stops the app."""
    from openzim_mcp.http.app import Application  # noqa: PLC0415
    from openzim_mcp.http.redis_limits import RedisBuckets  # noqa: PLC0415

    redis = settings.redis_url
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    workers = settings.worker.count or max(1, cores // settings.processes)
    applications: list[ASGIApp] = []

    @contextlib.asynccontextmanager
    async def lifespan(_router: object) -> AsyncIterator[dict[str, object]]:
        redis_buckets = RedisBuckets(settings.rate_limit, redis.get_secret_value()) if redis else None
        closing = contextlib.aclosing(redis_buckets) if redis_buckets else contextlib.nullcontext()
        async with closing as buckets, _running_app(settings, workers, buckets) as (app, subscriptions):
            application = Application(build_server(app, subscriptions), app, subscriptions)
            applications.append(application.asgi)
            async with application.sessions.run():
                yield {"shutdown": application.shutdown, "proxies": application.proxies}

    async def serve_request(scope: Scope, receive: Receive, send: Send) -> None:
        await applications[0](scope, receive, send)

    return Router(default=serve_request, lifespan=lifespan)


@contextlib.asynccontextmanager
async def _running_app(
    settings: config.Settings, workers: int, buckets: BucketStore | None = None
) -> AsyncIterator[tuple[App, Subscriptions]]:
    """Run the app while the block runs, publish changes in the directories, and make indexes."""
    async with App.open(settings, workers=workers, buckets=buckets) as app, anyio.create_task_group() as tasks:
        is_watching = anyio.Event()
        subscriptions = Subscriptions(is_watching=is_watching if settings.subscriptions_enabled else None)
        if settings.subscriptions_enabled:
            tasks.start_soon(watch, app, subscriptions.publish, is_watching)
        if settings.index.enabled:
            tasks.start_soon(app.importance.run)
            tasks.start_soon(app.page_scans.run, app.usable_archives)
            tasks.start_soon(app.word_records.run, app.usable_archives)
        if settings.index.enabled and settings.passage_index_enabled:
            tasks.start_soon(app.passage_indexes.run)
        yield app, subscriptions
        tasks.cancel_scope.cancel()


async def _serve_stdio(settings: config.Settings) -> None:
    workers = settings.worker.count or _STDIO_WORKERS
    async with _running_app(settings, workers) as (app, subscriptions), anyio.create_task_group() as tasks:
        tasks.start_soon(_stop_on_signal, tasks.cancel_scope)
        logged = anyio.Event()
        tasks.start_soon(_log_banner, app, logged)
        server = build_server(app, subscriptions)
        drain_seconds = settings.worker.deadline_seconds + _GRACE_SECONDS
        async with open_streams(LineReader(), LineWriter(), drain_seconds=drain_seconds) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
        with anyio.move_on_after(_GRACE_SECONDS):
            await logged.wait()
        tasks.cancel_scope.cancel()


async def _log_banner(app: App, logged: anyio.Event) -> None:
    """Log how many archives are served, without delaying the first client on a slow disk."""
    scan = await app.scan()
    _log_missing(scan)
    log.info("%s over stdio", _banner(scan))
    logged.set()


def _log_missing(scan: ScanResult) -> None:
    for row in scan.rejected:
        if row.is_directory:
            log.warning("%s: %s", row.name, row.reason)


def _banner(scan: ScanResult) -> str:
    unusable = sum(archive.problem is not None for archive in scan.archives)
    count = len(scan.archives)
    archives = "1 archive" if count == 1 else f"{count} archives"
    note = f" ({unusable} of them cannot be read)" if unusable else ""
    if scan.is_handbook:
        return f"openzim-mcp {__version__} serves the handbook only"
    return f"openzim-mcp {__version__} serves {archives}{note}"


async def _stop_on_signal(scope: anyio.CancelScope) -> None:
    """Stop the server on SIGTERM and SIGHUP."""
    if os.name != "posix":
        return
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGHUP) as signals:
        async for _ in signals:
            scope.cancel()
