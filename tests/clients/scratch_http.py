"""Serve a directory over streamable HTTP on a free port of this machine, for judges that take nothing but a URL."""

from __future__ import annotations

import socket
import sys

import anyio
import uvicorn

from openzim_mcp.config import Settings
from openzim_mcp.protocol.backend import Backend
from openzim_mcp.protocol.subscriptions import Subscriptions
from openzim_mcp.protocol.watcher import watch
from openzim_mcp.server import build
from openzim_mcp.services.library import Library


async def serve(directory: str) -> None:
    settings = Settings(allowed_directories=[directory], tool_mode="advanced")
    subscriptions = Subscriptions()
    listener = socket.create_server(("127.0.0.1", 0))
    async with (
        Backend.running(settings, Library(settings.allowed_directories), 1) as backend,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(watch, backend, subscriptions)
        app = build(backend, subscriptions).streamable_http_app()
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)  # noqa: T201
        await uvicorn.Server(uvicorn.Config(app, log_level="warning")).serve([listener])
        tasks.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(serve, sys.argv[1])
