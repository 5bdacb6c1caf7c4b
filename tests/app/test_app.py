from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openzim_mcp import config, errors
from openzim_mcp.app import archives, health, reading, search
from openzim_mcp.app.app import App, Continuations
from openzim_mcp.app.arguments import ArchiveRequest, parse_request
from openzim_mcp.app.query.ask import answer_query
from openzim_mcp.app.query.reply import QueryRequest, Reply
from openzim_mcp.calls.archive import ReadMetadata
from openzim_mcp.calls.reading import Article
from support.stdio_server import StdioServer

pytestmark = pytest.mark.anyio

CALLS = [
    ("zim_query", QueryRequest, answer_query, {"query": "who founded Ravenport?"}),
    ("zim_search", search.SearchRequest, search.search, {"query": "herring", "limit": 2}),
    ("zim_get", reading.EntryRequest, reading.read_entry, {"entry_path": "Ravenport"}),
    ("zim_get", reading.EntryRequest, reading.read_entry, {"entry_path": "Ravenport", "view": "toc"}),
    (
        "zim_get_section",
        reading.SectionRequest,
        reading.read_section,
        {"entry_path": "Ravenport", "section_id": "History"},
    ),
    ("zim_metadata", ArchiveRequest, archives.describe_archive, {}),
    ("zim_health", health.HealthRequest, health.report_health, {"zim_file_path": "isles_en_all"}),
]


def settings(*directories: Path) -> config.Settings:
    return config.load_settings(allowed_directories=list(map(str, directories)))


@pytest.mark.parametrize(("tool", "model", "run", "arguments"), CALLS)
async def test_app_and_tool_give_the_same_result(
    open_server: Callable[..., StdioServer],
    isles_zim: Path,
    tool: str,
    model: type[Any],
    run: Callable[[App, Any], Awaitable[Any]],
    arguments: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENZIM_MCP_INDEX__ENABLED", "false")  # its state would change between the two
    server = open_server(isles_zim)
    served = server.request("tools/call", {"name": tool, "arguments": arguments})
    async with App.open(settings(isles_zim), workers=1) as app:
        result = await run(app, parse_request(model, arguments))

    if isinstance(result, Reply | Article):
        assert result.markdown == served["content"][0]["text"]
    else:
        assert msgspec.to_builtins(result) == served["structuredContent"]


async def test_app_raises_errors(isles_zim: Path) -> None:
    raised: list[errors.OpenZimMcpError] = []
    async with App.open(settings(isles_zim), workers=1) as app:
        for arguments in ({"entry_path": "Nowhere at all"}, {"entry_pth": "x"}):
            try:
                await reading.read_entry(app, parse_request(reading.EntryRequest, arguments))
            except errors.OpenZimMcpError as error:
                raised.append(error)

    assert [type(error) for error in raised] == [errors.EntryNotFound, errors.OpenZimMcpValidationError]


async def test_description_is_read_once_for_each_state_of_a_file(isles_zim: Path) -> None:
    async with App.open(settings(isles_zim), workers=1) as app:
        archive = await app.find_archive(None)
        first = await app.describe(archive)

        assert await app.describe(archive) is first
        assert (await app.describe_each([archive])).results[archive.name] is first


async def test_unreadable_archive_is_tried_once(zims: Path) -> None:
    async with App.open(settings(zims / "damaged/flipped_clusters.zim"), workers=1) as app:
        archive = await app.find_archive(None)
        first = (await app.describe_each([archive], timeout=60)).errors[archive.name]
        again = (await app.describe_each([archive], timeout=60)).errors[archive.name]

    assert again is first


async def test_results_of_changed_files_are_not_reused(isles_zim: Path, tmp_path: Path) -> None:
    copy = tmp_path / "isles.zim"
    copy.write_bytes(isles_zim.read_bytes())
    async with App.open(settings(copy), workers=1) as app:
        await app.workers.call(await app.find_archive(None), ReadMetadata())
        copy.touch()
        await app.workers.call(await app.find_archive(None), ReadMetadata())

    assert (app.workers.results.hits, app.workers.results.misses) == (0, 2)


def test_continuation_is_forgotten_with_its_connection() -> None:
    class Connection:
        pass

    connection, continuations = Connection(), Continuations()
    request = QueryRequest(query="list archives")
    continuations.put(connection, request)
    continuations.put(None, request)

    assert continuations.get(connection) is request
    assert continuations.get(None) is None
    del connection
    assert continuations._requests == {}
