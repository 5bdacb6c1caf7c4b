"""Reading: an article, its summary, outline, sections and links; several entries; a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import anyio
import msgspec
from pydantic import Field, field_validator

from openzim_mcp import errors
from openzim_mcp.app.arguments import BudgetedRequest
from openzim_mcp.app.batch import Batch, BatchRow, fit_batch
from openzim_mcp.app.budgets import fit_section, fit_view
from openzim_mcp.app.caller import LOCAL, Caller
from openzim_mcp.app.elsewhere import add_elsewhere
from openzim_mcp.app.references import entry_not_found, locate_entry, main_path
from openzim_mcp.calls.reading import (
    Article,
    BinaryEntry,
    EntryText,
    FindClosestTitle,
    FindText,
    ReadArticle,
    ReadBinary,
    ReadSection,
    ReadStructure,
    ReadSummary,
    ReadTableOfContents,
    ReadText,
    Section,
    Structure,
    Summary,
    TableOfContents,
    TextMatches,
)
from openzim_mcp.text import visible_line
from openzim_mcp.uris import is_web_url

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.budgets import View
    from openzim_mcp.calls import Result
    from openzim_mcp.calls.reading import EntryCall
    from openzim_mcp.config import Operation
    from openzim_mcp.zimfile import ArchiveFile

MATCHES_PER_PAGE = 20
_MAX_BATCH_ENTRIES = 50
_MAX_BATCH_CHARS = 400_000
_MAX_PATH_CHARS = 2000
"""Of each path in a batch, which its row repeats."""
_SECTION_CHARS = 20_000
_HEADINGS_PER_PAGE = 400
_HEADING_VIEWS: dict[str, type[ReadTableOfContents | ReadStructure]] = {
    "toc": ReadTableOfContents,
    "structure": ReadStructure,
}


class EntryRequest(BudgetedRequest):
    """What `zim_get` takes."""

    entry_path: str | None = Field(
        None, max_length=70_000, description="Path, title, URI (zim://…) or URL; #id for a part."
    )
    entry_paths: list[str] | None = Field(None, description=f"Several entries at once, up to {_MAX_BATCH_ENTRIES}.")
    view: Literal["full", "summary", "toc", "structure"] = Field("full", description="What to read of the article.")
    find: str | None = Field(
        None, max_length=200, description="Words: only the lines of entry_path with all of them, and their offsets."
    )
    binary: bool = Field(False, description="Fetch the bytes of entry_path, in base64.")
    main_page: bool = Field(False, description="Read the main page of the archive.")
    max_content_length: int | None = Field(None, ge=100, description="Characters per page.")
    content_offset: int = Field(0, ge=0, description="Where the page starts.")
    compact: bool = Field(False, description="Fold large tables and long lists.")

    @property
    def is_compact(self) -> bool:
        """Whether large tables and long lists are folded."""
        return self.compact or self.max_tokens is not None

    @field_validator("find")
    @classmethod
    def _check_find(cls, value: str | None) -> str | None:
        words = None if value is None else visible_line(value)
        if words == "":
            raise ValueError("should be words to find")
        return words

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as, and how often."""
        if self.entry_paths:
            return "get_zim_entries", len(self.entry_paths)
        if self.binary:
            return "get_binary_entry", 1
        return ("get_entry" if self.view == "full" else "get_structure"), 1


class SectionRequest(BudgetedRequest):
    """What `zim_get_section` takes."""

    entry_path: str = Field(max_length=70_000, description="Path, title, URI or URL of the article.")
    section_id: str = Field(max_length=500, description="Id, heading or words of it, anchor, or number (2.1).")
    max_chars: int | None = Field(None, ge=1, description="Characters at most.")
    content_offset: int = Field(0, ge=0, description="Where to continue in a long section.")
    compact: bool = Field(True, description="Fold large tables; false shows them.")


EntryView = Article | Summary | TableOfContents | Structure | TextMatches | BinaryEntry | Batch


async def read_entry(app: App, request: EntryRequest, caller: Caller = LOCAL) -> EntryView:
    """Read an article or a view of it, several entries, or a file; or find words in an article."""
    _check_selector(request)
    if request.entry_paths is not None:
        return await _read_batch(app, request, caller)
    archive, path = await _locate_one(app, request)
    if request.binary:
        return await read_or_closest(app, archive, ReadBinary(path))
    if request.view != "full" or request.find:
        view: View = await read_or_closest(app, archive, _view_call(app, request, path))
        view = await add_elsewhere(app, archive, view)
        return fit_view(view, request.max_tokens) if request.max_tokens else view
    call = ReadArticle(
        path,
        requested=path,
        offset=request.content_offset,
        max_chars=request.max_content_length or app.settings.content.max_content_length,
        max_tokens=request.max_tokens,
        compact=request.is_compact,
    )
    return await read_or_closest(app, archive, call)


async def _locate_one(app: App, request: EntryRequest) -> tuple[ArchiveFile, str]:
    """Return the archive and the entry that a request for one entry, or for the main page, means."""
    if request.entry_path is not None:
        return await locate_entry(app, request.entry_path, request.zim_file_path)
    archive = await app.find_archive(request.zim_file_path)
    return archive, await main_path(app, archive)


async def read_section(app: App, request: SectionRequest, _caller: Caller = LOCAL) -> Section:
    """Read one section."""
    archive, path = await locate_entry(app, request.entry_path, request.zim_file_path)
    call = ReadSection(
        path,
        request.section_id,
        max_chars=request.max_chars or _SECTION_CHARS,
        offset=request.content_offset,
        compact=request.compact,
    )
    return fit_section(await read_or_closest(app, archive, call), request.content_offset, request.max_tokens)


async def read_entry_text(app: App, archive: ArchiveFile, path: str, max_chars: int) -> EntryText:
    """Read the text of an entry of any kind."""
    return await read_or_closest(app, archive, ReadText(path, max_chars))


async def read_or_closest(app: App, archive: ArchiveFile, call: EntryCall[Result]) -> Result:
    """Run a call on an entry; if no entry has its path, on the one with the closest title."""
    try:
        return await app.workers.call(archive, call)
    except errors.EntryNotFound as missing:
        if is_web_url(call.path):
            raise
        path = await _closest_path(app, archive, call.path, missing)
    return await app.workers.call(archive, msgspec.structs.replace(call, path=path))


async def _closest_path(app: App, archive: ArchiveFile, requested: str, missing: errors.EntryNotFound) -> str:
    """Return the path with the closest title, and the fragment; or raise the error with the closest titles."""
    try:
        closest = await app.workers.call(archive, FindClosestTitle(requested))
    except errors.OpenZimMcpArchiveError:
        raise missing from None
    if closest.path is not None:
        return closest.path + "".join(requested.rpartition("#")[1:] if "#" in requested else ())
    if not closest.did_you_mean:
        raise missing
    raise entry_not_found(requested, [(archive, entry) for entry in closest.did_you_mean], missing.message)


def _view_call(
    app: App, request: EntryRequest, path: str
) -> ReadSummary | ReadTableOfContents | ReadStructure | FindText:
    """Return the call for a view; a list of headings or matches continues at `content_offset`."""
    if request.find:
        max_chars = request.max_content_length or app.settings.content.max_content_length
        return FindText(
            path, request.find, request.content_offset, MATCHES_PER_PAGE, max_chars, compact=request.is_compact
        )
    if request.view == "summary":
        return ReadSummary(path)
    return _HEADING_VIEWS[request.view](path, offset=request.content_offset, limit=_HEADINGS_PER_PAGE)


def _check_selector(request: EntryRequest) -> None:
    """Accept exactly one of entry_path, entry_paths and main_page."""
    selectors = [request.entry_path is not None, request.entry_paths is not None, request.main_page]
    problem = None
    if sum(selectors) != 1:
        problem = "Set exactly one of: entry_path, entry_paths, main_page."
    elif request.binary and request.entry_path is None:
        problem = "binary needs entry_path."
    elif request.find and (request.entry_path is None or request.binary or request.view != "full"):
        problem = "find needs entry_path, without view and binary."
    elif request.main_page and request.view != "full":
        problem = f"main_page has no view {request.view!r}."
    elif request.entry_paths is not None and not 1 <= len(request.entry_paths) <= _MAX_BATCH_ENTRIES:
        problem = f"entry_paths takes 1 to {_MAX_BATCH_ENTRIES} paths, not {len(request.entry_paths)}."
    elif any(len(path) > _MAX_PATH_CHARS for path in request.entry_paths or ()):
        problem = f"A path in entry_paths has more than {_MAX_PATH_CHARS} characters."
    if problem:
        raise errors.InvalidPathCombination(
            problem,
            hint="entry_path for one entry (with view, find or binary), entry_paths=[…], or main_page=true alone.",
        )


async def _read_batch(app: App, request: EntryRequest, caller: Caller) -> Batch:
    """Read several entries at once, over all workers, and return them in the order asked for."""
    paths = request.entry_paths or []
    rows: dict[int, BatchRow] = {}

    async def read_one(number: int, path: str) -> None:
        try:
            rows[number] = await _read_row(app, request, path, len(paths))
        except errors.OpenZimMcpError as error:
            offers = {name: error.details[name] for name in ("did_you_mean", "candidates") if name in error.details}
            rows[number] = BatchRow(path=path, success=False, error=error.message, **offers)
        if caller.progress:
            await caller.progress(len(rows), len(paths))

    async with anyio.create_task_group() as tasks:
        for number, path in enumerate(paths):
            tasks.start_soon(read_one, number, path)
    return fit_batch([rows[number] for number in range(len(paths))], request.max_tokens)


async def _read_row(app: App, request: EntryRequest, reference: str, row_count: int) -> BatchRow:
    """Read one entry of a batch, or the view of it that is asked for."""
    archive, path = await locate_entry(app, reference, request.zim_file_path)
    if request.view in {"full", "summary"}:
        max_chars = request.max_content_length or app.settings.content.max_content_length
        max_chars = min(max_chars, _MAX_BATCH_CHARS // row_count)
        with_lead = request.view == "summary" or request.max_tokens is not None
        text = await read_or_closest(app, archive, ReadText(path, max_chars, with_lead=with_lead))
        row = BatchRow(path=reference, success=True, **msgspec.structs.asdict(text))
        is_summary = request.view == "summary"
        return msgspec.structs.replace(row, content=text.lead, characters=None, note=None) if is_summary else row
    view: View = await read_or_closest(app, archive, _view_call(app, request, path))
    return BatchRow(
        path=reference,
        success=True,
        title=view.title,
        actual_path=view.path,
        toc=view.toc if isinstance(view, TableOfContents) else None,
        headings=view.headings if isinstance(view, Structure) else None,
    )
