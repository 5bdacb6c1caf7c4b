"""The MCP adapters of LangChain: the tools, resources and prompts that an agent gets."""

from __future__ import annotations

import asyncio

import exercise
from langchain_core.tools import BaseTool, ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.prompts import load_mcp_prompt
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_mcp_adapters.tools import load_mcp_tools


def connection(mode: str) -> dict[str, object]:
    parameters = exercise.server_parameters(mode)
    if "url" in parameters:
        return {"transport": "streamable_http", "timeout": exercise.TIMEOUT_SECONDS, **parameters}
    return {"transport": "stdio", **parameters}


def text(result: object) -> str:
    """Return the text of a tool's result, however the adapters wrap it."""
    return result if isinstance(result, str) else result[0]["text"]


async def call_with_invalid_arguments(browse: BaseTool) -> list[bool | str]:
    """Return whether the framework raises an error, and the `operation` code of the error."""
    browse.handle_tool_error = False
    try:
        return [False, exercise.operation(text(await browse.ainvoke(exercise.INVALID_CALL[1])))]
    except ToolException as error:
        return [True, exercise.operation(str(error))]


async def main() -> None:
    client = MultiServerMCPClient({mode: connection(mode) for mode in ("simple", "advanced")})
    async with client.session("simple") as session:
        simple_tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        answer = await simple_tools["zim_query"].ainvoke(exercise.QUESTION[1])
    async with client.session("advanced") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        hits = await tools["zim_search"].ainvoke(exercise.SEARCH[1])
        argument_error = await call_with_invalid_arguments(tools["zim_browse"])
        article, image = await load_mcp_resources(session, uris=[exercise.ARTICLE_URI, exercise.IMAGE_URI])
        prompt = await load_mcp_prompt(session, "explore", arguments={"zim_file_path": "towns"})
    exercise.report(
        simple_tools=list(simple_tools),
        has_answer=exercise.has_answer(text(answer)),
        tools=list(tools),
        first_hit=[exercise.first_path(text(hits))] * 2,
        argument_error=argument_error,
        article=[article.mimetype, "harbour town" in article.as_string()],
        image=[image.mimetype, image.as_bytes().decode()],
        prompt="towns" in prompt[0].content,
    )


asyncio.run(main())
