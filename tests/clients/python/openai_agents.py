"""The MCP servers of the OpenAI Agents SDK: what an agent of that framework is given."""

from __future__ import annotations

import asyncio

import visit
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp


def server(mode: str) -> MCPServerStdio | MCPServerStreamableHttp:
    place = visit.place(mode)
    kind = MCPServerStreamableHttp if "url" in place else MCPServerStdio
    return kind(params=place, client_session_timeout_seconds=60)


async def main() -> None:
    async with server("simple") as session:
        simple = [tool.name for tool in await session.list_tools()]
        answer = await session.call_tool(*visit.QUESTION)
    async with server("advanced") as session:
        tools = [tool.name for tool in await session.list_tools()]
        found = await session.call_tool(*visit.SEARCH)
        mistake = await session.call_tool(*visit.MISTAKE)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = (await session.read_resource(visit.ARTICLE)).contents[0]
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
    visit.report(
        simple_tools=simple,
        answered=visit.founded(answer.content[0].text),
        tools=tools,
        found=[found.structuredContent["results"][0]["path"], visit.best(found.content[0].text)],
        mistake=[mistake.isError, visit.operation(mistake.content[0].text)],
        resources=[str(row.uri) for row in resources.resources],
        templates=[row.uriTemplate for row in templates.resourceTemplates],
        article=[article.mimeType, "harbour town" in article.text],
        prompts=[row.name for row in prompts.prompts],
        prompt="towns" in prompt.messages[0].content.text,
    )


asyncio.run(main())
