"""`zim_get` and `zim_get_section`: their arguments, their branches, and the second try when a path is not exact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import anyio
from pydantic import Field, field_validator

from openzim_mcp import errors
from openzim_mcp.app.app import Markdown, Picture
from openzim_mcp.app.arguments import ArchiveArguments
from openzim_mcp.app.progress import Tally
from openzim_mcp.worker.reading import article, resolve, section

if TYPE_CHECKING:
    from collections.abc import Callable

    from openzim_mcp.app.app import Backend, Payload
    from openzim_mcp.config import Operation
    from openzim_mcp.protocol.tools import Call
    from openzim_mcp.zimfile import ArchiveFile

BUDGETS = {"small": 500, "medium": 1500, "large": 4000}
_SMALLEST_BUDGET = 100
_BATCH = 50
_BATCH_CHARACTERS = 400_000
_SECTION_CHARACTERS = 20_000
_VIEWS = {"summary": article.summary, "toc": article.contents, "structure": article.structure}


class BudgetedArguments(ArchiveArguments):
    """The arguments of a tool whose answer can be kept short."""

    compact_budget: int | str | None = Field(
        None, description="Tokens the answer may have: a number, small (500), medium (1500) or large (4000)."
    )

    @field_validator("compact_budget")
    @classmethod
    def _check_budget(cls, value: int | str | None) -> int | None:
        if isinstance(value, str):
            value = BUDGETS.get(value, int(value) if value.isdecimal() else -1)
        if value is not None and value < _SMALLEST_BUDGET:
            raise ValueError(f"should be small, medium, large, or a number from {_SMALLEST_BUDGET} up")
        return value


class GetArguments(BudgetedArguments):
    """What `zim_get` takes."""

    entry_path: str | None = Field(None, max_length=70_000, description="Path, title or URL of the entry.")
    entry_paths: list[str] | None = Field(None, description=f"Several entries at once, up to {_BATCH}.")
    view: Literal["full", "summary", "toc", "structure"] = Field("full", description="What to read of the article.")
    binary: bool = Field(False, description="Fetch the bytes of entry_path, in base64.")
    main_page: bool = Field(False, description="Read the main page of the archive.")
    max_content_length: int | None = Field(None, ge=100, description="Characters per page.")
    content_offset: int = Field(0, ge=0, description="Where the page starts.")
    compact: bool = Field(False, description="Fold large tables and long lists.")


class SectionArguments(BudgetedArguments):
    """What `zim_get_section` takes."""

    entry_path: str = Field(max_length=70_000, description="Path or title of the article.")
    section_id: str = Field(max_length=500, description="Id, heading, or number in the outline (2.1).")
    max_chars: int | None = Field(None, ge=1, description="Characters at most.")
    compact: bool = Field(True, description="Fold large tables; false shows them.")


def get_cost(given: GetArguments) -> tuple[Operation, int]:
    """Return what a call of `zim_get` is charged as, and how often."""
    if given.entry_paths:
        return "get_zim_entries", len(given.entry_paths)
    if given.binary:
        return "get_binary_entry", 1
    return ("get_entry" if given.view == "full" else "get_structure"), 1


def _check_combination(given: GetArguments) -> None:
    """Accept exactly one of an entry, several entries, and the main page."""
    chosen = [given.entry_path is not None, given.entry_paths is not None, given.main_page]
    wrong = None
    if sum(chosen) != 1:
        wrong = "Set exactly one of: entry_path, entry_paths, main_page."
    elif given.binary and given.entry_path is None:
        wrong = "binary needs entry_path."
    elif given.main_page and given.view != "full":
        wrong = f"main_page has no view {given.view!r}."
    elif given.entry_paths is not None and not 1 <= len(given.entry_paths) <= _BATCH:
        wrong = f"entry_paths takes 1 to {_BATCH} paths, not {len(given.entry_paths)}."
    if wrong:
        raise errors.InvalidPathCombination(
            wrong,
            hint="entry_path for one entry (with view or binary), entry_paths=[…] for several, main_page=true alone.",
        )


async def read(
    backend: Backend, archive: ArchiveFile, requested: str, function: Callable[..., Any], /, **arguments: Any
) -> Payload:
    """Run a reading function on an entry; if there is none of that path, on the one that was probably meant."""
    try:
        return await backend.run(function, archive, path=requested, **arguments)
    except errors.EntryNotFound as missing:
        path = await _guess(backend, archive, requested, missing)
    return await backend.run(function, archive, path=path, **arguments)


async def _guess(backend: Backend, archive: ArchiveFile, requested: str, missing: errors.EntryNotFound) -> str:
    """Return the path that was probably meant, or raise the error with the nearest titles in it."""
    try:
        found = await backend.ask(resolve.guess, archive, requested=requested)
    except errors.OpenZimMcpArchiveError:
        raise missing from None
    if found["path"] is not None:
        return str(found["path"])
    if found["did_you_mean"]:
        missing.hint = f"The nearest titles: {', '.join(found['did_you_mean'])}."
        missing.details["did_you_mean"] = found["did_you_mean"]
    raise missing


async def zim_get(call: Call, given: GetArguments) -> Payload | Markdown | Picture:
    """Read what a call asks for."""
    _check_combination(given)
    backend = call.backend
    archive = await backend.find(given.zim_file_path)
    if given.entry_paths is not None:
        return await _batch(call, archive, given)
    path = given.entry_path if given.entry_path is not None else await _main_path(backend, archive)
    if given.binary:
        payload = await read(backend, archive, path, article.binary)
        return Picture(payload) if payload["mime_type"].startswith("image/") else payload
    if given.view != "full":
        return await read(backend, archive, path, _VIEWS[given.view])
    length = given.max_content_length or backend.settings.content.max_content_length
    compact = {"compact": given.compact or given.compact_budget is not None, "budget": given.compact_budget}
    page = {"requested": path, "offset": given.content_offset, "length": length}
    answer = await read(backend, archive, path, article.article, **page, **compact)
    return Markdown(answer["markdown"])


async def _main_path(backend: Backend, archive: ArchiveFile) -> str:
    path = await backend.engine.call(article.main_path, archive)
    if path is None:
        raise errors.EntryNotFound(
            f"{archive.name!r} has no main page.", hint="zim_browse lists its entries; zim_metadata describes it."
        )
    return str(path)


async def _batch(call: Call, archive: ArchiveFile, given: GetArguments) -> Payload:
    """Read several entries at once, over all workers, and return them in the order asked for."""
    backend = call.backend
    wanted = given.entry_paths or []
    tally = Tally(call.listener, len(wanted))
    length = min(
        given.max_content_length or backend.settings.content.max_content_length, _BATCH_CHARACTERS // len(wanted)
    )
    results: list[Payload] = [{} for _ in wanted]

    async def one(number: int, path: str) -> None:
        try:
            found = await read(backend, archive, path, article.batch_entry, length=length)
            results[number] = {"path": path, "success": True} | found
        except errors.OpenZimMcpError as error:
            results[number] = {"path": path, "success": False, "error": error.message}
        await tally.step()

    async with anyio.create_task_group() as tasks:
        for number, path in enumerate(wanted):
            tasks.start_soon(one, number, path)
    succeeded = sum(result["success"] for result in results)
    return {"results": results, "succeeded": succeeded, "failed": len(results) - succeeded}


async def zim_get_section(call: Call, given: SectionArguments) -> Payload:
    """Read one section."""
    archive = await call.backend.find(given.zim_file_path)
    return await read(
        call.backend,
        archive,
        given.entry_path,
        section.section,
        name=given.section_id,
        length=given.max_chars or _SECTION_CHARACTERS,
        compact=given.compact,
        budget=given.compact_budget,
    )
