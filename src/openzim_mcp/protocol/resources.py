"""Resources: the list of archives, an overview of each, and every entry in its own type or as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import mcp_types as types
import msgspec

from openzim_mcp import cursors, errors, uris
from openzim_mcp.app import archives, health, references
from openzim_mcp.app.skills import is_skill_uri
from openzim_mcp.calls.reading import ReadRawEntry, ReadText
from openzim_mcp.protocol import app_view
from openzim_mcp.protocol.context import caller_of
from openzim_mcp.protocol.skills import read_skill_file
from openzim_mcp.text import continuation_line, format_size, iso_time, safe_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openzim_mcp.app.app import App
    from openzim_mcp.app.archives import Overview
    from openzim_mcp.calls.archive import Description
    from openzim_mcp.calls.reading import EntryText, RawEntry
    from openzim_mcp.config import Operation
    from openzim_mcp.protocol.context import RequestContext
    from openzim_mcp.uris import ZimUri
    from openzim_mcp.zimfile import ArchiveFile

_LIST_METHOD = "resources/list"
_RESOURCES_PER_PAGE = 100
_JSON = "application/json"
_MARKDOWN = "text/markdown"
_MAX_TEXT_CHARS = 400_000
_MAX_TITLE_CHARS = 300
_DESCRIBE_TIMEOUT_SECONDS = 3.0
_ICONS_SINCE = "2025-11-25"
_MAX_ICON_CHARS = 96 << 10
"""For all icons of a page: some clients pass the list of resources to the model, which pays for every byte."""
_ENTRY_TTL_MS = 60_000
_NO_QUOTES = str.maketrans("“”", "''")

FILES = types.Resource(
    uri=uris.LIST_URI,
    name="files",
    title="All archives",
    description="Every archive in the served directories: name, size, date, and whether it can be read.",
    mime_type=_JSON,
    annotations=types.Annotations(audience=["user", "assistant"], priority=0.8),
)

TEMPLATES = (
    types.ResourceTemplate(
        uri_template=uris.ARCHIVE_TEMPLATE,
        name="archive",
        title="Overview of an archive",
        description="Metadata, namespaces and the beginning of the main page; {name} is the archive without .zim.",
        mime_type=_JSON,
    ),
    types.ResourceTemplate(
        uri_template=uris.ENTRY_TEMPLATE,
        name="entry",
        title="Entry of an archive",
        description="An article, picture or other file as it is, with its own type, up to 10 MiB; {path} as zim_search "
        "and zim_browse give it.",
    ),
    types.ResourceTemplate(
        uri_template=uris.TEXT_TEMPLATE,
        name="text",
        title="Text of an entry",
        description="The text of an article or other entry as Markdown, for a model to read.",
        mime_type=_MARKDOWN,
    ),
)
_URI_TEMPLATES = [template.uri_template for template in TEMPLATES]


@dataclass(frozen=True)
class Resources:
    """The resources of a server."""

    app: App

    async def list_resources(
        self, context: RequestContext, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return a page of the list: the list of archives itself first, then each archive that can be read."""
        await self.app.charge(caller_of(context), "default")
        usable = await self.app.usable_archives()
        after = _decode_cursor(params.cursor) if params and params.cursor else None
        remaining = [archive for archive in usable if after is None or archive.name > after]
        page = remaining[:_RESOURCES_PER_PAGE]
        descriptions = (await self.app.describe_each(page, timeout=_DESCRIBE_TIMEOUT_SECONDS)).results
        with_icons = context.protocol_version >= _ICONS_SINCE
        is_last = len(remaining) <= _RESOURCES_PER_PAGE
        return types.ListResourcesResult(
            resources=[
                *([FILES] if after is None else []),
                *_archive_resources(page, descriptions, with_icons=with_icons),
            ],
            next_cursor=None if is_last else cursors.encode(_LIST_METHOD, "", 0, {"after": page[-1].name}),
        )

    async def list_templates(
        self, _context: RequestContext, _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return the templates."""
        return types.ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def read_resource(
        self, context: RequestContext, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read a resource. Every read is charged, even of a URI that does not exist."""
        uri = uris.parse_uri(params.uri)
        await self.app.charge(caller_of(context), _operation(uri))
        if is_skill_uri(params.uri):
            return read_skill_file(params.uri)
        if params.uri == app_view.URI:
            return app_view.read_view()
        if uri is None:
            raise errors.ResourceNotFound(
                f"No resource {safe_line(params.uri, 200)!r}.",
                hint=f"There are {', '.join((uris.LIST_URI, *_URI_TEMPLATES))}.",
            )
        if uri.name is None:
            return _json_result(params.uri, await health.list_states(self.app))
        archive = await references.find_archive_of_uri(self.app, uri)
        if uri.path is None:
            return _json_result(params.uri, _overview_payload(await archives.read_overview(self.app, archive)))
        if uri.is_text:
            return _text_result(params.uri, await self.app.workers.call(archive, ReadText(params.uri, _MAX_TEXT_CHARS)))
        return _entry_result(params.uri, await self.app.workers.call(archive, ReadRawEntry(uri.path_candidates)))


def _operation(uri: ZimUri | None) -> Operation:
    """Return what reading a URI is charged as."""
    if uri is None or uri.name is None:
        return "default"
    return "get_metadata" if uri.path is None else "get_entry"


def _overview_payload(overview: Overview) -> dict[str, object]:
    """Return an overview as one flat object; a part that could not be read is reported as `…_error`."""
    archive = overview.archive
    payload: dict[str, object] = {
        "name": archive.name,
        "path": archive.display_path,
        "size": archive.size,
        "modified": iso_time(archive.modified),
    }
    if overview.metadata:
        payload |= msgspec.to_builtins(overview.metadata)
    if overview.namespaces is not None:
        payload["namespaces"] = msgspec.to_builtins(overview.namespaces)
    if "main_page" not in overview.problems:
        payload["main_page_preview"] = overview.main_page_preview
    return payload | {f"{name}_error": message for name, message in overview.problems.items()}


def _archive_resources(
    page: Sequence[ArchiveFile], descriptions: Mapping[str, Description], *, with_icons: bool
) -> list[types.Resource]:
    chars_left = _MAX_ICON_CHARS if with_icons else 0
    resources = []
    for archive in page:
        description = descriptions.get(archive.name)
        icon = description.icon if description else ""
        chars_left -= len(icon)
        resources.append(_archive_resource(archive, description, icon if chars_left >= 0 else ""))
    return resources


def _archive_resource(archive: ArchiveFile, description: Description | None, icon: str) -> types.Resource:
    language, date = (description.language, description.date) if description else ("", "")
    facts = ", ".join(filter(None, (language, date, format_size(archive.size))))
    image = types.Icon(src=f"data:image/png;base64,{icon}", mime_type="image/png", sizes=["48x48"])
    modified = f"{iso_time(archive.modified)}Z"
    return types.Resource(
        uri=uris.archive_uri(archive.name),
        name=archive.name,
        title=(description.title if description else "") or archive.name,
        description=" — ".join(filter(None, (_quoted(description.description if description else ""), facts))),
        mime_type=_JSON,
        annotations=types.Annotations(audience=["user", "assistant"], priority=0.5, last_modified=modified),
        icons=[image] if icon else None,
    )


def _quoted(text: str) -> str:
    """Mark what an archive says of itself as its words."""
    return f"“{text.translate(_NO_QUOTES)}”" if text else ""


def _decode_cursor(cursor: str) -> str:
    """Return the name of the last archive on the previous page."""
    return str(cursors.decode(cursor, _LIST_METHOD).request.get("after", ""))


def _json_result(uri: str, value: object) -> types.ReadResourceResult:
    text = msgspec.json.encode(value).decode()
    return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)])


def _entry_meta(path: str, title: str) -> dict[str, Any]:
    return {"openzim-mcp/path": path, "openzim-mcp/title": title}


def _text_result(uri: str, entry: EntryText) -> types.ReadResourceResult:
    """Return the text of an entry below its title; a text that was cut says where `zim_get` continues it."""
    shown = len(entry.content)
    rest = continuation_line(shown, entry.characters) if shown < entry.characters else ""
    heading = f"# {safe_line(entry.title, _MAX_TITLE_CHARS)}"
    text = "\n\n".join(filter(None, (heading, entry.note, entry.content.strip("\n"), rest)))
    content = types.TextResourceContents(
        uri=uri, mime_type=_MARKDOWN, text=text, _meta=_entry_meta(entry.actual_path, entry.title)
    )
    return types.ReadResourceResult(contents=[content], ttl_ms=_ENTRY_TTL_MS, cache_scope="private")


def _entry_result(uri: str, entry: RawEntry) -> types.ReadResourceResult:
    fields: dict[str, Any] = {
        "uri": uri,
        "mime_type": entry.mime_type,
        "_meta": _entry_meta(entry.path, entry.title) | {"openzim-mcp/size": entry.size},
    }
    content: types.TextResourceContents | types.BlobResourceContents
    if entry.blob is None:
        content = types.TextResourceContents(text=entry.text or "", **fields)
    else:
        content = types.BlobResourceContents(blob=entry.blob, **fields)
    return types.ReadResourceResult(contents=[content], ttl_ms=_ENTRY_TTL_MS, cache_scope="private")
