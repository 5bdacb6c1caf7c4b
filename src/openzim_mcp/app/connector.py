"""`search` and `fetch` as the connectors of ChatGPT and deep-research clients expect them: ids, and URLs to cite."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from pydantic import Field

from openzim_mcp import addresses, errors, uris
from openzim_mcp.app import search
from openzim_mcp.app.arguments import Request
from openzim_mcp.app.caller import LOCAL, Caller
from openzim_mcp.app.reading import read_entry_text
from openzim_mcp.app.references import locate_entry
from openzim_mcp.calls import Struct
from openzim_mcp.calls.reading import FindOriginalUrls
from openzim_mcp.text import continuation_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.config import Operation

_BOLD = re.compile(r"\*\*(.+?)\*\*")


class ConnectorSearchRequest(Request):
    """What `search` takes."""

    query: str = Field(max_length=1000, description="Words or a question.")

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as: nothing yet, as that depends on the number of archives."""
        return "search", 0


class ConnectorFetchRequest(Request):
    """What `fetch` takes."""

    id: str = Field(max_length=70_000, description="The id of a result of search.")

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as, and how often."""
        return "get_entry", 1


class ConnectorHit(Struct, frozen=True):
    """A result of `search`; `id` is what `fetch` takes."""

    id: str
    title: str
    url: str
    text: str


class ConnectorHits(Struct, frozen=True):
    """What `search` returns."""

    results: list[ConnectorHit]


class ConnectorDocument(Struct, frozen=True):
    """What `fetch` returns."""

    id: str
    title: str
    text: str
    url: str
    metadata: dict[str, str]


async def search_documents(app: App, request: ConnectorSearchRequest, caller: Caller = LOCAL) -> ConnectorHits:
    """Search all archives for documents to fetch."""
    page = await search.search(app, search.SearchRequest(query=request.query, cross_file=True), caller)
    assert isinstance(page, search.MergedPage)
    urls = await _find_urls(app, [(hit.archive, hit.path) for hit in page.results], caller)
    return ConnectorHits(
        [
            ConnectorHit(_document_id(hit.archive, hit.path), hit.title, url, _BOLD.sub(r"\1", hit.snippet or ""))
            for hit, url in zip(page.results, urls, strict=True)
        ]
    )


async def fetch_document(app: App, request: ConnectorFetchRequest, caller: Caller = LOCAL) -> ConnectorDocument:
    """Read the text of a document."""
    archive, path = await locate_entry(app, request.id, None)
    entry = await read_entry_text(app, archive, path, app.settings.content.max_content_length)
    (url,) = await _find_urls(app, [(archive.file_name, entry.actual_path)], caller)
    shown = len(entry.content)
    rest = f"\n\n{continuation_line(shown, entry.characters)}" if shown < entry.characters else ""
    return ConnectorDocument(
        id=_document_id(archive.file_name, entry.actual_path),
        title=entry.title,
        text=entry.content.strip("\n") + rest,
        url=url,
        metadata={"archive": archive.file_name, "path": entry.actual_path, "type": entry.mime_type},
    )


def _document_id(file_name: str, path: str) -> str:
    return uris.entry_uri(file_name.removesuffix(".zim"), path)


async def _find_urls(app: App, entries: Sequence[tuple[str, str]], caller: Caller) -> list[str]:
    """Return a URL for each entry: on the page of this server, else on the original site, else its URI."""
    if caller.base_url:
        return [caller.base_url + addresses.reader_address(name.removesuffix(".zim"), path) for name, path in entries]
    originals: dict[tuple[str, str], str] = {}
    for name in dict.fromkeys(name for name, _ in entries):
        paths = [path for file_name, path in entries if file_name == name]
        with contextlib.suppress(errors.OpenZimMcpArchiveError):
            urls = await app.workers.call(await app.find_archive(name), FindOriginalUrls(paths))
            originals |= {(name, path): url for path, url in zip(paths, urls, strict=True)}
    return [originals.get(entry) or _document_id(*entry) for entry in entries]
