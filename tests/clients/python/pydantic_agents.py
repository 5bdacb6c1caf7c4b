"""The MCP toolset of Pydantic AI: the tools, resources and prompts that an agent gets."""

from __future__ import annotations

import asyncio
import json

import exercise
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client import session as mcp_session
from pydantic_ai.mcp import MCPToolset


def toolset(mode: str) -> MCPToolset:
    parameters = exercise.server_parameters(mode)
    transport = StreamableHttpTransport(**parameters) if "url" in parameters else StdioTransport(**parameters)
    return MCPToolset(transport, init_timeout=exercise.TIMEOUT_SECONDS)


async def main() -> None:
    async with toolset("simple") as session:
        simple_tools = [tool.name for tool in await session.list_tools()]
        answer = await session.direct_call_tool(*exercise.QUESTION)
    async with toolset("advanced") as session:
        tools = [tool.name for tool in await session.list_tools()]
        hits = await session.direct_call_tool(*exercise.SEARCH)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = await session.read_resource(exercise.ARTICLE_URI)
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
    exercise.report(
        simple_tools=simple_tools,
        has_answer=exercise.has_answer(json.dumps(answer)),
        tools=tools,
        first_hit=[hits["results"][0]["path"]] * 2,
        resources=[str(resource.uri) for resource in resources],
        templates=[template.uri_template for template in templates],
        article=["text/html", "harbour town" in str(article)],
        prompts=[row.name for row in prompts],
        prompt="towns" in str(prompt),
    )


# By default a server that needs more than ten seconds to start is taken for one of an older version.
mcp_session.DISCOVER_TIMEOUT_SECONDS = exercise.TIMEOUT_SECONDS
asyncio.run(main())
