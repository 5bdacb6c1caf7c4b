"""The MCP adapters of LangChain: what an agent of that framework is given."""

from __future__ import annotations

import asyncio

import visit
from langchain_core.tools import BaseTool, ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.prompts import load_mcp_prompt
from langchain_mcp_adapters.resources import load_mcp_resources
from langchain_mcp_adapters.tools import load_mcp_tools


def connection(mode: str) -> dict[str, object]:
    place = visit.place(mode)
    return {"transport": "streamable_http" if "url" in place else "stdio", **place}


def text(result: object) -> str:
    """Return the text of a tool's result, however the adapters wrap it."""
    return result if isinstance(result, str) else result[0]["text"]


async def refused(browse: BaseTool) -> list[bool | str]:
    """Return whether the framework takes a refusal for an error, and which kind it is."""
    browse.handle_tool_error = False
    try:
        return [False, visit.operation(text(await browse.ainvoke(visit.MISTAKE[1])))]
    except ToolException as error:
        return [True, visit.operation(str(error))]


async def main() -> None:
    client = MultiServerMCPClient({mode: connection(mode) for mode in ("simple", "advanced")})
    async with client.session("simple") as session:
        simple = {tool.name: tool for tool in await load_mcp_tools(session)}
        answer = await simple["zim_query"].ainvoke(visit.QUESTION[1])
    async with client.session("advanced") as session:
        tools = {tool.name: tool for tool in await load_mcp_tools(session)}
        found = await tools["zim_search"].ainvoke(visit.SEARCH[1])
        mistake = await refused(tools["zim_browse"])
        article, picture = await load_mcp_resources(session, uris=[visit.ARTICLE, visit.PICTURE])
        prompt = await load_mcp_prompt(session, "explore", arguments={"zim_file_path": "towns"})
    visit.report(
        simple_tools=list(simple),
        answered=visit.founded(text(answer)),
        tools=list(tools),
        found=[visit.best(text(found))] * 2,
        mistake=mistake,
        article=[article.mimetype, "harbour town" in article.as_string()],
        picture=[picture.mimetype, picture.as_bytes().decode()],
        prompt="towns" in prompt[0].content,
    )


asyncio.run(main())
