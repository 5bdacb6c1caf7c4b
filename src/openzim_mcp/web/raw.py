"""The bytes of entries, in their own types and in ranges; nothing that an archive contains can run."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from starlette.responses import Response, StreamingResponse

from openzim_mcp import addresses, errors
from openzim_mcp.app.caller import get_caller
from openzim_mcp.calls.reading import EntryBytes, ReadBytes
from openzim_mcp.web.conditional import CACHE_CONTROL, is_current, make_tag, not_modified
from openzim_mcp.web.problems import ProblemResponse, refuse

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from starlette.requests import Request

    from openzim_mcp.app.app import App
    from openzim_mcp.zimfile import ArchiveFile

SANDBOX = "sandbox; default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
"""Nothing runs, nothing is fetched, nothing is sent; a page under it has an origin of its own."""
_CHUNK_BYTES = 1 << 20
_RANGE = re.compile(r"bytes=(?:(?P<start>\d{1,18})-(?P<end>\d{0,18})|-(?P<suffix>\d{1,18}))", re.ASCII)
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}(?: *; *[\w-]{1,40}=[\w.-]{1,60})*", re.ASCII)
# Types that a browser shows without running anything; every other type is sandboxed.
_INERT_TYPE = re.compile(
    r"(?:audio|font|video)/.+|image/(?!svg).+|text/(?:plain|css|csv|javascript|markdown|vtt)|application/(?:pdf|json)"
)


async def read_raw(app: App, archive: ArchiveFile, path: str, request: Request) -> Response:
    """Return the bytes of an entry, or of a range of it, or that the client has them already."""
    tag = make_tag(archive.identity, path)
    if is_current(tag, request.headers):
        return not_modified(tag)
    start, stop = _requested_range(request, tag)
    first = await app.workers.call(archive, ReadBytes(path, _CHUNK_BYTES, start or 0, stop))
    is_range = start is not None
    if is_range and first.start >= first.stop:
        return ProblemResponse(
            416,
            f"The entry has {first.size} bytes.",
            headers={"Content-Range": f"bytes */{first.size}"},
            operation="range_not_satisfiable",
        )
    headers = response_headers(first.mime_type) | {
        "ETag": tag,
        "Cache-Control": CACHE_CONTROL,
        "Accept-Ranges": "bytes",
        "Content-Length": str(first.stop - first.start),
        "Content-Location": addresses.raw_address(archive.name, first.path),
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if is_range:
        headers["Content-Range"] = f"bytes {first.start}-{first.stop - 1}/{first.size}"
    status = 206 if is_range else 200
    if request.method == "HEAD":
        return Response(None, status, headers)
    return StreamingResponse(_stream(app, archive, first), status, headers)


def response_headers(mime_type: str) -> dict[str, str]:
    """Return the headers that make the content of an entry harmless: its type, and a sandbox unless it is inert."""
    media_type = mime_type.strip()
    if not _MEDIA_TYPE.fullmatch(media_type):
        media_type = "application/octet-stream"
    plain_type = media_type.partition(";")[0].strip().lower()
    if plain_type == media_type.lower() and plain_type.startswith("text/") and plain_type != "text/html":
        media_type += "; charset=utf-8"  # a page says it itself
    headers = {"Content-Type": media_type, "X-Content-Type-Options": "nosniff"}
    is_inert = _INERT_TYPE.fullmatch(plain_type)
    return headers if is_inert else headers | {"Content-Security-Policy": SANDBOX}


def _requested_range(request: Request, tag: str) -> tuple[int | None, int | None]:
    """Return where the requested range starts and stops; (None, None) for everything.

    Several ranges, and a range of a state that the archive no longer has, are answered with everything.
    """
    match = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if match is None or request.headers.get("if-range", tag) != tag:
        return None, None
    if match["suffix"]:
        return -int(match["suffix"]), None if int(match["suffix"]) else 0
    start, end = int(match["start"]), match["end"]
    if end and int(end) < start:
        return None, None
    return start, int(end) + 1 if end else None


async def _stream(app: App, archive: ArchiveFile, first: EntryBytes) -> AsyncIterator[bytes]:
    """Yield the bytes of an entry, or raise an error if its archive is replaced in the meantime."""
    position = first.start + len(first.data)
    yield first.data
    while position < first.stop:
        part = await app.workers.call(archive, ReadBytes(first.path, _CHUNK_BYTES, position, first.stop))
        if not part.data or not await app.is_unchanged(archive):
            raise errors.ArchiveChanged(f"{archive.name!r} was replaced while an entry of it was sent.")
        position += len(part.data)
        yield part.data


def raw_endpoint(app: App) -> Callable[[Request], Awaitable[Response]]:
    """Return the handler of the bytes of an entry."""

    async def handle(request: Request) -> Response:
        caller = replace(get_caller(request.scope), charges=[])
        try:
            await app.charge(caller, "get_entry")
            archive = await app.find_archive(request.path_params["name"])
            return await read_raw(app, archive, request.path_params["path"], request)
        except errors.OpenZimMcpError as error:
            return await refuse(app, caller, error, "raw")

    return handle
