"""The client of the `mcp` package, version 1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import exercise
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import create_mcp_http_client, streamable_http_client
from pydantic import AnyUrl


def transport(mode: str) -> Any:
    parameters = exercise.server_parameters(mode)
    if "url" in parameters:
        return streamable_http_client(parameters["url"], http_client=create_mcp_http_client(parameters["headers"]))
    return stdio_client(StdioServerParameters(**parameters))


@asynccontextmanager
async def connect(mode: str, handle_message: Any = None) -> AsyncIterator[tuple[ClientSession, str]]:
    async with (
        transport(mode) as (incoming, outgoing, *_),
        ClientSession(incoming, outgoing, message_handler=handle_message) as session,
    ):
        result = await session.initialize()
        yield session, str(result.protocolVersion)


class Notifications:
    """The notifications that a session has received."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    async def handle_message(self, message: Any) -> None:
        notification = getattr(message, "root", None)
        if isinstance(notification, types.ResourceUpdatedNotification):
            self._queue.put_nowait(str(notification.params.uri))
        elif isinstance(notification, types.ResourceListChangedNotification):
            self._queue.put_nowait("list_changed")

    async def wait_for(self, expected: str) -> str:
        while (notification := await asyncio.wait_for(self._queue.get(), exercise.TIMEOUT_SECONDS)) != expected:
            pass
        return notification


async def search_after_cancelling(session: ClientSession) -> str:
    """Start a long call, cancel it with a notification, and return the first hit of the next call."""
    request_id = session._request_id
    is_running = anyio.Event()

    async def note_progress(_progress: float, _total: float | None, _message: str | None) -> None:
        is_running.set()

    async def verify() -> None:
        with suppress(McpError):  # over HTTP a cancelled call gets an error, which ends its stream
            await session.call_tool(*exercise.VERIFY, progress_callback=note_progress)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(verify)
        with anyio.fail_after(exercise.TIMEOUT_SECONDS):
            await is_running.wait()
        params = types.CancelledNotificationParams(requestId=request_id)
        await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
        hits = await session.call_tool(*exercise.SEARCH)
        tasks.cancel_scope.cancel()
    return exercise.first_path(hits.content[0].text)


async def main() -> None:
    notifications = Notifications()
    progress: list[float] = []

    async def record_progress(value: float, _total: float | None, _message: str | None) -> None:
        progress.append(value)

    async with connect("simple") as (session, _):
        simple_tools = [tool.name for tool in (await session.list_tools()).tools]
        answer = await session.call_tool(*exercise.QUESTION)
    async with connect("advanced", notifications.handle_message) as (session, version):
        tools = [tool.name for tool in (await session.list_tools()).tools]
        hits = await session.call_tool(*exercise.SEARCH)
        error = await session.call_tool(*exercise.INVALID_CALL)
        await session.call_tool(*exercise.THREE_ENTRIES, progress_callback=record_progress)
        resources = await session.list_resources()
        templates = await session.list_resource_templates()
        article = (await session.read_resource(AnyUrl(exercise.ARTICLE_URI))).contents[0]
        image = (await session.read_resource(AnyUrl(exercise.IMAGE_URI))).contents[0]
        not_found_code = await exercise.not_found_code(lambda uri: session.read_resource(AnyUrl(uri)))
        prompts = await session.list_prompts()
        prompt = await session.get_prompt("explore", {"zim_file_path": "towns"})
        names = await session.complete(
            types.PromptReference(type="ref/prompt", name="explore"), {"name": "zim_file_path", "value": "to"}
        )
        paths = await session.complete(
            types.ResourceTemplateReference(type="ref/resource", uri="zim://{name}/entry/{path}"),
            {"name": "path", "value": "Raven"},
            {"name": exercise.ISLES},
        )
        hit_after_cancelling = await search_after_cancelling(session)
        await session.subscribe_resource(AnyUrl("zim://towns"))
        exercise.put_archive("towns")
        updated = await notifications.wait_for("zim://towns")
        overview = (await session.read_resource(AnyUrl("zim://towns"))).contents[0].text
        exercise.put_archive("later")
        list_changed = await notifications.wait_for("list_changed")
        await session.unsubscribe_resource(AnyUrl("zim://towns"))
    exercise.report(
        version=version,
        simple_tools=simple_tools,
        has_answer=exercise.has_answer(answer.content[0].text),
        tools=tools,
        first_hit=[hits.structuredContent["results"][0]["path"], exercise.first_path(hits.content[0].text)],
        argument_error=[error.isError, exercise.operation(error.content[0].text)],
        progress=progress,
        resources=[str(resource.uri) for resource in resources.resources],
        templates=[template.uriTemplate for template in templates.resourceTemplates],
        article=[article.mimeType, "harbour town" in article.text],
        image=[image.mimeType, exercise.decode(image.blob)],
        not_found_code=not_found_code,
        prompts=[row.name for row in prompts.prompts],
        prompt="towns" in prompt.messages[0].content.text,
        archive_names=names.completion.values,
        entry_paths=paths.completion.values,
        hit_after_cancelling=hit_after_cancelling,
        updated=[updated, exercise.title(overview)],
        list_changed=list_changed,
    )


asyncio.run(main())
