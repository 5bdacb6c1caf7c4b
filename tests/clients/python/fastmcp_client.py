"""The client of FastMCP."""

from __future__ import annotations

import asyncio

import mcp_types as types
import visit
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport


def client(mode: str) -> Client:
    place = visit.place(mode)
    return Client(StreamableHttpTransport(**place) if "url" in place else StdioTransport(**place))


async def main() -> None:
    steps: list[float] = []

    async def step(progress: float, _total: float | None, _message: str | None) -> None:
        steps.append(progress)

    async with client("simple") as session:
        simple = [tool.name for tool in await session.list_tools()]
        answer = await session.call_tool(*visit.QUESTION)
    async with client("advanced") as session:
        tools = [tool.name for tool in await session.list_tools()]
        found = await session.call_tool(*visit.SEARCH)
        mistake = await session.call_tool(*visit.MISTAKE, raise_on_error=False)
        await session.call_tool(*visit.SEVERAL, progress_handler=step)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = (await session.read_resource(visit.ARTICLE))[0]
        picture = (await session.read_resource(visit.PICTURE))[0]
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
        names = await session.complete(types.PromptReference(name="explore"), {"name": "zim_file_path", "value": "to"})
        revision = session.protocol_version
    visit.report(
        revision=revision,
        simple_tools=simple,
        answered=visit.founded(answer.content[0].text),
        tools=tools,
        found=[found.structured_content["results"][0]["path"], visit.best(found.content[0].text)],
        mistake=[mistake.is_error, visit.operation(mistake.content[0].text)],
        progress=steps,
        resources=[str(row.uri) for row in resources],
        templates=[row.uri_template for row in templates],
        article=[article.mime_type, "harbour town" in article.text],
        picture=[picture.mime_type, visit.decoded(picture.blob)],
        prompts=[row.name for row in prompts],
        prompt="towns" in prompt.messages[0].content.text,
        names=names.values,
    )


asyncio.run(main())
