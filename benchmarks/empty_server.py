"""A server on the low-level SDK without tools: the lower bound of startup time."""

import anyio
from mcp.server import Server
from mcp.server.stdio import stdio_server


async def main() -> None:
    """Serve standard input and output."""
    server: Server = Server("empty")
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


anyio.run(main)
