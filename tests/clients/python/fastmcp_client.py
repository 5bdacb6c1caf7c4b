"""The client of FastMCP."""

from __future__ import annotations

import asyncio

import exercise
import mcp_types as types
from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from mcp.client import session as mcp_session


def client(mode: str) -> Client:
    parameters = exercise.server_parameters(mode)
    return Client(StreamableHttpTransport(**parameters) if "url" in parameters else StdioTransport(**parameters))


async def main() -> None:
    progress: list[float] = []

    async def record_progress(value: float, _total: float | None, _message: str | None) -> None:
        progress.append(value)

    async with client("simple") as session:
        simple_tools = [tool.name for tool in await session.list_tools()]
        answer = await session.call_tool(*exercise.QUESTION)
    async with client("advanced") as session:
        tools = [tool.name for tool in await session.list_tools()]
        hits = await session.call_tool(*exercise.SEARCH)
        error = await session.call_tool(*exercise.INVALID_CALL, raise_on_error=False)
        await session.call_tool(*exercise.THREE_ENTRIES, progress_handler=record_progress)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = (await session.read_resource(exercise.ARTICLE_URI))[0]
        image = (await session.read_resource(exercise.IMAGE_URI))[0]
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
        names = await session.complete(types.PromptReference(name="explore"), {"name": "zim_file_path", "value": "to"})
        version = session.protocol_version
    exercise.report(
        version=version,
        simple_tools=simple_tools,
        has_answer=exercise.has_answer(answer.content[0].text),
        tools=tools,
        first_hit=[hits.structured_content["results"][0]["path"], exercise.first_path(hits.content[0].text)],
        argument_error=[error.is_error, exercise.operation(error.content[0].text)],
        progress=progress,
        resources=[str(resource.uri) for resource in resources],
        templates=[template.uri_template for template in templates],
        article=[article.mime_type, "harbour town" in article.text],
        image=[image.mime_type, exercise.decode(image.blob)],
        prompts=[row.name for row in prompts],
        prompt="towns" in prompt.messages[0].content.text,
        archive_names=names.values,
    )


# By default a server that needs more than ten seconds to start is taken for one of an older version.
mcp_session.DISCOVER_TIMEOUT_SECONDS = exercise.TIMEOUT_SECONDS
asyncio.run(main())
