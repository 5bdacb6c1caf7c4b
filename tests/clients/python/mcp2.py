"""The client of the `mcp` package, version 2, in the era that is asked for."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types as types
import visit
from mcp import Client, MCPDeprecationWarning, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated

ERA = sys.argv[2]


def transport(mode: str) -> Any:
    place = visit.place(mode)
    if "url" in place:
        return streamable_http_client(place["url"], http_client=create_mcp_http_client(place["headers"]))
    return StdioServerParameters(**place)


def client(mode: str, hear: Any = None) -> Client:
    return Client(transport(mode), mode=ERA, message_handler=hear)


class Ear:
    """The notifications of a connection, whichever way they come."""

    def __init__(self) -> None:
        self._heard: asyncio.Queue[str] = asyncio.Queue()

    async def hear(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self._heard.put_nowait(message.params.uri)
        elif isinstance(message, types.ResourceListChangedNotification):
            self._heard.put_nowait("list_changed")

    async def listen(self, subscription: Any) -> None:
        async for event in subscription:
            if isinstance(event, ResourceUpdated):
                self._heard.put_nowait(event.uri)
            elif isinstance(event, ResourcesListChanged):
                self._heard.put_nowait("list_changed")

    async def told(self, wanted: str) -> str:
        while (message := await asyncio.wait_for(self._heard.get(), 20)) != wanted:
            pass
        return message


@asynccontextmanager
async def subscribed(session: Client, ear: Ear) -> AsyncIterator[None]:
    if ERA == "legacy":
        await session.subscribe_resource("zim://towns")
        yield
        await session.unsubscribe_resource("zim://towns")
        return
    async with (
        session.listen(resources_list_changed=True, resource_subscriptions=["zim://towns"]) as subscription,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(ear.listen, subscription)
        yield
        tasks.cancel_scope.cancel()


async def cancelled(session: Client) -> str:
    """Give up waiting for something long, and return what the next call says."""
    with anyio.move_on_after(0.5):
        await session.call_tool(*visit.VERIFY)
    return visit.best((await session.call_tool(*visit.SEARCH)).content[0].text)


async def main() -> None:
    ear = Ear()
    steps: list[float] = []

    async def step(progress: float, _total: float | None, _message: str | None) -> None:
        steps.append(progress)

    async with client("simple") as session:
        simple = [tool.name for tool in (await session.list_tools()).tools]
        answer = await session.call_tool(*visit.QUESTION)
    async with client("advanced", ear.hear) as session:
        revision = session.protocol_version
        tools = [tool.name for tool in (await session.list_tools()).tools]
        found = await session.call_tool(*visit.SEARCH)
        mistake = await session.call_tool(*visit.MISTAKE)
        await session.call_tool(*visit.SEVERAL, progress_callback=step)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = (await session.read_resource(visit.ARTICLE)).contents[0]
        picture = (await session.read_resource(visit.PICTURE)).contents[0]
        code = await visit.refusal(session.read_resource)
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
        names = await session.complete(types.PromptReference(name="explore"), {"name": "zim_file_path", "value": "to"})
        paths = await session.complete(
            types.ResourceTemplateReference(uri="zim://{name}/entry/{path}"),
            {"name": "path", "value": "Raven"},
            {"name": visit.ISLES},
        )
        after = await cancelled(session)
        async with subscribed(session, ear):
            await anyio.sleep(0.5)
            visit.put("towns")
            updated = await ear.told("zim://towns")
            overview = (await session.read_resource("zim://towns")).contents[0].text
            visit.put("later")
            changed = await ear.told("list_changed")
    visit.report(
        revision=revision,
        simple_tools=simple,
        answered=visit.founded(answer.content[0].text),
        tools=tools,
        found=[found.structured_content["results"][0]["path"], visit.best(found.content[0].text)],
        mistake=[mistake.is_error, visit.operation(mistake.content[0].text)],
        progress=steps,
        resources=[str(row.uri) for row in resources.resources],
        templates=[row.uri_template for row in templates.resource_templates],
        article=[article.mime_type, "harbour town" in article.text],
        picture=[picture.mime_type, visit.decoded(picture.blob)],
        refusal=code,
        prompts=[row.name for row in prompts.prompts],
        prompt="towns" in prompt.messages[0].content.text,
        names=names.completion.values,
        paths=paths.completion.values,
        after_cancelling=after,
        updated=[updated, visit.title(overview)],
        list_changed=changed,
    )


warnings.simplefilter("ignore", MCPDeprecationWarning)
asyncio.run(main())
