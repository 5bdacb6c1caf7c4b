"""The MCP servers of the OpenAI Agents SDK: the tools, resources and prompts that an agent gets."""

from __future__ import annotations

import asyncio

import exercise
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp


def server(mode: str) -> MCPServerStdio | MCPServerStreamableHttp:
    parameters = exercise.server_parameters(mode)
    if "url" in parameters:
        parameters["timeout"] = exercise.TIMEOUT_SECONDS
    kind = MCPServerStreamableHttp if "url" in parameters else MCPServerStdio
    return kind(params=parameters, client_session_timeout_seconds=exercise.TIMEOUT_SECONDS)


async def main() -> None:
    async with server("simple") as session:
        simple_tools = [tool.name for tool in await session.list_tools()]
        answer = await session.call_tool(*exercise.QUESTION)
    async with server("advanced") as session:
        tools = [tool.name for tool in await session.list_tools()]
        hits = await session.call_tool(*exercise.SEARCH)
        error = await session.call_tool(*exercise.INVALID_CALL)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = (await session.read_resource(exercise.ARTICLE_URI)).contents[0]
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
    exercise.report(
        simple_tools=simple_tools,
        has_answer=exercise.has_answer(answer.content[0].text),
        tools=tools,
        first_hit=[hits.structuredContent["results"][0]["path"], exercise.first_path(hits.content[0].text)],
        argument_error=[error.isError, exercise.operation(error.content[0].text)],
        resources=[str(resource.uri) for resource in resources.resources],
        templates=[template.uriTemplate for template in templates.resourceTemplates],
        article=[article.mimeType, "harbour town" in article.text],
        prompts=[row.name for row in prompts.prompts],
        prompt="towns" in prompt.messages[0].content.text,
    )


asyncio.run(main())
