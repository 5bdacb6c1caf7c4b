"""The MCP toolset of Pydantic AI: what an agent of that framework is given."""

from __future__ import annotations

import asyncio
import json

import visit
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai.mcp import MCPToolset


def toolset(mode: str) -> MCPToolset:
    place = visit.place(mode)
    return MCPToolset(StreamableHttpTransport(**place) if "url" in place else StdioTransport(**place))


async def main() -> None:
    async with toolset("simple") as session:
        simple = [tool.name for tool in await session.list_tools()]
        answer = await session.direct_call_tool(*visit.QUESTION)
    async with toolset("advanced") as session:
        tools = [tool.name for tool in await session.list_tools()]
        found = await session.direct_call_tool(*visit.SEARCH)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = await session.read_resource(visit.ARTICLE)
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
    visit.report(
        simple_tools=simple,
        answered=visit.founded(json.dumps(answer)),
        tools=tools,
        found=[found["results"][0]["path"]] * 2,
        resources=[str(row.uri) for row in resources],
        templates=[row.uri_template for row in templates],
        article=["text/html", "harbour town" in str(article)],
        prompts=[row.name for row in prompts],
        prompt="towns" in str(prompt),
    )


asyncio.run(main())
