"""The client of the `mcp` package, version 2, in the mode given as argument."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import exercise
import mcp_types as types
from mcp import Client, MCPDeprecationWarning, StdioServerParameters
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from mcp.client.subscriptions import ResourcesListChanged, ResourceUpdated

MODE = sys.argv[2]


def transport(mode: str) -> Any:
    parameters = exercise.server_parameters(mode)
    if "url" in parameters:
        return streamable_http_client(parameters["url"], http_client=create_mcp_http_client(parameters["headers"]))
    return StdioServerParameters(**parameters)


def client(mode: str, handle_message: Any = None) -> Client:
    return Client(transport(mode), mode=MODE, message_handler=handle_message)


class Notifications:
    """The notifications of a connection, received as messages or from a subscription's stream."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    async def handle_message(self, message: Any) -> None:
        if isinstance(message, types.ResourceUpdatedNotification):
            self._queue.put_nowait(message.params.uri)
        elif isinstance(message, types.ResourceListChangedNotification):
            self._queue.put_nowait("list_changed")

    async def listen(self, subscription: Any) -> None:
        async for event in subscription:
            if isinstance(event, ResourceUpdated):
                self._queue.put_nowait(event.uri)
            elif isinstance(event, ResourcesListChanged):
                self._queue.put_nowait("list_changed")

    async def wait_for(self, expected: str) -> str:
        while (notification := await asyncio.wait_for(self._queue.get(), exercise.TIMEOUT_SECONDS)) != expected:
            pass
        return notification


@asynccontextmanager
async def subscribe(session: Client, notifications: Notifications) -> AsyncIterator[None]:
    if MODE == "legacy":
        await session.subscribe_resource("zim://towns")
        yield
        await session.unsubscribe_resource("zim://towns")
        return
    async with (
        session.listen(resources_list_changed=True, resource_subscriptions=["zim://towns"]) as subscription,
        anyio.create_task_group() as tasks,
    ):
        tasks.start_soon(notifications.listen, subscription)
        yield
        tasks.cancel_scope.cancel()


async def search_after_cancelling(session: Client) -> str:
    """Start a long call, stop waiting for it, and return the first hit of the next call."""
    is_running = anyio.Event()

    async def note_progress(_progress: float, _total: float | None, _message: str | None) -> None:
        is_running.set()

    async def verify() -> None:
        await session.call_tool(*exercise.VERIFY, progress_callback=note_progress)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(verify)
        with anyio.fail_after(exercise.TIMEOUT_SECONDS):
            await is_running.wait()
        tasks.cancel_scope.cancel()
    return exercise.first_path((await session.call_tool(*exercise.SEARCH)).content[0].text)


async def main() -> None:
    notifications = Notifications()
    progress: list[float] = []

    async def record_progress(value: float, _total: float | None, _message: str | None) -> None:
        progress.append(value)

    async with client("simple") as session:
        simple_tools = [tool.name for tool in (await session.list_tools()).tools]
        answer = await session.call_tool(*exercise.QUESTION)
    async with client("advanced", notifications.handle_message) as session:
        version = session.protocol_version
        tools = [tool.name for tool in (await session.list_tools()).tools]
        hits = await session.call_tool(*exercise.SEARCH)
        error = await session.call_tool(*exercise.INVALID_CALL)
        await session.call_tool(*exercise.THREE_ENTRIES, progress_callback=record_progress)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = (await session.read_resource(exercise.ARTICLE_URI)).contents[0]
        image = (await session.read_resource(exercise.IMAGE_URI)).contents[0]
        not_found_code = await exercise.not_found_code(session.read_resource)
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
        names = await session.complete(types.PromptReference(name="explore"), {"name": "zim_file_path", "value": "to"})
        paths = await session.complete(
            types.ResourceTemplateReference(uri="zim://{name}/entry/{path}"),
            {"name": "path", "value": "Raven"},
            {"name": exercise.ISLES},
        )
        hit_after_cancelling = await search_after_cancelling(session)
        async with subscribe(session, notifications):
            exercise.put_archive("towns")
            updated = await notifications.wait_for("zim://towns")
            overview = (await session.read_resource("zim://towns")).contents[0].text
            exercise.put_archive("later")
            list_changed = await notifications.wait_for("list_changed")
    exercise.report(
        version=version,
        simple_tools=simple_tools,
        has_answer=exercise.has_answer(answer.content[0].text),
        tools=tools,
        first_hit=[hits.structured_content["results"][0]["path"], exercise.first_path(hits.content[0].text)],
        argument_error=[error.is_error, exercise.operation(error.content[0].text)],
        progress=progress,
        resources=[str(resource.uri) for resource in resources.resources],
        templates=[template.uri_template for template in templates.resource_templates],
        article=[article.mime_type, "harbour town" in article.text],
        image=[image.mime_type, exercise.decode(image.blob)],
        not_found_code=not_found_code,
        prompts=[row.name for row in prompts.prompts],
        prompt="towns" in prompt.messages[0].content.text,
        archive_names=names.completion.values,
        entry_paths=paths.completion.values,
        hit_after_cancelling=hit_after_cancelling,
        updated=[updated, exercise.title(overview)],
        list_changed=list_changed,
    )


warnings.simplefilter("ignore", MCPDeprecationWarning)
asyncio.run(main())
