"""The client of the `mcp` package, version 1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import visit
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from pydantic import AnyUrl


def transport(mode: str) -> Any:
    place = visit.place(mode)
    if "url" in place:
        return streamable_http_client(place["url"], http_client=create_mcp_http_client(place["headers"]))
    return stdio_client(StdioServerParameters(**place))


@asynccontextmanager
async def connected(mode: str, hear: Any = None) -> AsyncIterator[tuple[ClientSession, str]]:
    async with (
        transport(mode) as (incoming, outgoing, *_),
        ClientSession(incoming, outgoing, message_handler=hear) as session,
    ):
        answer = await session.initialize()
        yield session, str(answer.protocolVersion)


async def cancelled(session: ClientSession) -> str:
    """Ask for something long, take it back in the way of the protocol, and return what the next call says."""
    number = session._request_id

    async def ask() -> None:
        with suppress(McpError):  # over HTTP a call that was taken back gets an error, which ends its stream
            await session.call_tool(*visit.VERIFY)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.sleep(0.5)
        params = types.CancelledNotificationParams(requestId=number)
        await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
        answer = await session.call_tool(*visit.SEARCH)
        tasks.cancel_scope.cancel()
    return visit.best(answer.content[0].text)


async def main() -> None:
    heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(message: Any) -> None:
        note = getattr(message, "root", None)
        if isinstance(note, types.ResourceUpdatedNotification):
            heard.put_nowait(str(note.params.uri))
        elif isinstance(note, types.ResourceListChangedNotification):
            heard.put_nowait("list_changed")

    async def told(wanted: str) -> str:
        while (message := await asyncio.wait_for(heard.get(), 20)) != wanted:
            pass
        return message

    steps: list[float] = []

    async def step(progress: float, _total: float | None, _message: str | None) -> None:
        steps.append(progress)

    async with connected("simple") as (session, _):
        simple = [tool.name for tool in (await session.list_tools()).tools]
        answer = await session.call_tool(*visit.QUESTION)
    async with connected("advanced", hear) as (session, revision):
        tools = [tool.name for tool in (await session.list_tools()).tools]
        found = await session.call_tool(*visit.SEARCH)
        mistake = await session.call_tool(*visit.MISTAKE)
        await session.call_tool(*visit.SEVERAL, progress_callback=step)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = (await session.read_resource(AnyUrl(visit.ARTICLE))).contents[0]
        picture = (await session.read_resource(AnyUrl(visit.PICTURE))).contents[0]
        code = await visit.refusal(lambda uri: session.read_resource(AnyUrl(uri)))
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
        names = await session.complete(
            types.PromptReference(type="ref/prompt", name="explore"), {"name": "zim_file_path", "value": "to"}
        )
        paths = await session.complete(
            types.ResourceTemplateReference(type="ref/resource", uri="zim://{name}/entry/{path}"),
            {"name": "path", "value": "Raven"},
            {"name": visit.ISLES},
        )
        after = await cancelled(session)
        await session.subscribe_resource(AnyUrl("zim://towns"))
        await anyio.sleep(0.5)
        visit.put("towns")
        updated = await told("zim://towns")
        overview = (await session.read_resource(AnyUrl("zim://towns"))).contents[0].text
        visit.put("later")
        changed = await told("list_changed")
        await session.unsubscribe_resource(AnyUrl("zim://towns"))
    visit.report(
        revision=revision,
        simple_tools=simple,
        answered=visit.founded(answer.content[0].text),
        tools=tools,
        found=[found.structuredContent["results"][0]["path"], visit.best(found.content[0].text)],
        mistake=[mistake.isError, visit.operation(mistake.content[0].text)],
        progress=steps,
        resources=[str(row.uri) for row in resources.resources],
        templates=[row.uriTemplate for row in templates.resourceTemplates],
        article=[article.mimeType, "harbour town" in article.text],
        picture=[picture.mimeType, visit.decoded(picture.blob)],
        refusal=code,
        prompts=[row.name for row in prompts.prompts],
        prompt="towns" in prompt.messages[0].content.text,
        names=names.completion.values,
        paths=paths.completion.values,
        after_cancelling=after,
        updated=[updated, visit.title(overview)],
        list_changed=changed,
    )


asyncio.run(main())
