"""Resources: the list of archives, an overview of each, and every entry as it is."""

from __future__ import annotations

import functools
import json
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio
import mcp_types as types

from openzim_mcp import cursors, errors, uris
from openzim_mcp.app import health
from openzim_mcp.app.caller import caller_of
from openzim_mcp.text import format_size, safe_line
from openzim_mcp.worker.archive import metadata
from openzim_mcp.worker.reading import article
from openzim_mcp.worker.reading import entry as entries

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mcp.server import ServerRequestContext

    from openzim_mcp.app.app import Backend, Payload
    from openzim_mcp.uris import ZimUri
    from openzim_mcp.zimfile import ArchiveFile, Identity

_LIST = "resources/list"
_PAGE = 100
_JSON = "application/json"
_PREVIEW_CHARACTERS = 2000
_LABEL_SECONDS = 3.0
_ICONS_SINCE = "2025-11-25"
_ICON_BYTES = 96 << 10
"""Icons of one page in all: some clients show a list of resources to the model, who pays for every byte."""
_ENTRY_FRESH_MS = 60_000

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
)

_SECTIONS: tuple[tuple[str, str | None, Callable[..., Any], dict[str, Any]], ...] = (
    ("metadata", None, metadata.facts, {}),
    ("namespaces", "namespaces", metadata.namespaces, {}),
    ("main_page", "main_page_preview", article.preview, {"length": _PREVIEW_CHARACTERS}),
)
"""The parts of an overview, and what each is shown as; one that fails is reported as `…_error`."""


@dataclass
class Resources:
    """The resources of a server, and what is known of the archives for a list of them."""

    backend: Backend
    _labels: dict[Identity, Payload] = field(default_factory=dict)

    async def list_resources(
        self, context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        """Return a page of the list: the list of archives itself first, then each archive that can be read."""
        archives = [archive for archive in (await self.backend.scan()).archives if not archive.problem]
        after = _after(params.cursor) if params and params.cursor else None
        rest = [archive for archive in archives if after is None or archive.name > after]
        page, more = rest[:_PAGE], len(rest) > _PAGE
        await self._learn(page, archives)
        with_icons = context.protocol_version >= _ICONS_SINCE
        return types.ListResourcesResult(
            resources=[*([FILES] if after is None else []), *self._described(page, with_icons=with_icons)],
            next_cursor=cursors.encode(_LIST, "", 0, {"after": page[-1].name}) if more else None,
        )

    async def list_templates(
        self, _context: ServerRequestContext[Any], _params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        """Return the templates."""
        return types.ListResourceTemplatesResult(resource_templates=list(TEMPLATES))

    async def read_resource(
        self, context: ServerRequestContext[Any], params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Return what is at a URI."""
        uri = uris.parse_uri(params.uri)
        if uri is None:
            raise errors.ResourceNotFound(
                f"No resource {safe_line(params.uri, 200)!r}.",
                hint=f"There are {uris.LIST_URI}, {uris.ARCHIVE_TEMPLATE} and {uris.ENTRY_TEMPLATE}.",
            )
        limiter, client = self.backend.limiter, caller_of(context).client
        if uri.name is None:
            await limiter.charge(client, "default")
            return _json_result(params.uri, await health.archive_list(self.backend))
        archive = await self._find(uri)
        if uri.path is None:
            await limiter.charge(client, "get_metadata")
            return _json_result(params.uri, await self._overview(archive))
        await limiter.charge(client, "get_entry")
        return _entry_result(params.uri, await self.backend.run(entries.native, archive, spellings=uri.path_candidates))

    async def _find(self, uri: ZimUri) -> ArchiveFile:
        missing = None
        for name in uri.name_candidates:
            try:
                return await self.backend.find(name)
            except errors.ArchiveNotFound as error:
                missing = missing or error
        assert missing is not None
        raise missing

    async def _overview(self, archive: ArchiveFile) -> Payload:
        """Return what an archive is; a part that cannot be read says so and leaves the others alone."""
        parts: list[Payload] = [{} for _ in _SECTIONS]

        async def look(number: int) -> None:
            name, shown_as, function, arguments = _SECTIONS[number]
            try:
                part = await self.backend.ask(function, archive, **arguments)
                parts[number] = part if shown_as is None else {shown_as: part}
            except errors.OpenZimMcpArchiveError as error:
                parts[number] = {f"{name}_error": error.message}

        async with anyio.create_task_group() as tasks:
            for number in range(len(_SECTIONS)):
                tasks.start_soon(look, number)
        modified = health.time_of(archive.modified)
        about = {"name": archive.name, "path": archive.redacted, "size": archive.size, "modified": modified}
        return about | functools.reduce(operator.or_, parts)

    async def _learn(self, page: Sequence[ArchiveFile], present: Sequence[ArchiveFile]) -> None:
        """Have the labels of a page read, each state of a file once; one that takes too long is shown by its name."""
        identities = {archive.identity for archive in present}
        self._labels = {identity: label for identity, label in self._labels.items() if identity in identities}

        async def learn(archive: ArchiveFile) -> None:
            try:
                self._labels[archive.identity] = await self.backend.run(metadata.label, archive)
            except (errors.ArchiveChanged, errors.WorkerFailed):
                return  # the next list may have more luck
            except errors.OpenZimMcpArchiveError:
                self._labels[archive.identity] = {}

        with anyio.move_on_after(_LABEL_SECONDS):
            async with anyio.create_task_group() as tasks:
                for archive in page:
                    if archive.identity not in self._labels:
                        tasks.start_soon(learn, archive)

    def _described(self, page: Sequence[ArchiveFile], *, with_icons: bool) -> list[types.Resource]:
        room = _ICON_BYTES if with_icons else 0
        described = []
        for archive in page:
            label = self._labels.get(archive.identity, {})
            icon = label.get("icon", "")
            room -= len(icon)
            described.append(_resource(archive, label, icon if room >= 0 else ""))
        return described


def _resource(archive: ArchiveFile, label: Payload, icon: str) -> types.Resource:
    facts = [label.get("language"), label.get("date"), format_size(archive.size)]
    about = [label.get("description"), ", ".join(filter(None, facts))]
    modified = f"{health.time_of(archive.modified)}Z"
    picture = types.Icon(src=f"data:image/png;base64,{icon}", mime_type="image/png", sizes=["48x48"])
    return types.Resource(
        uri=uris.archive_uri(archive.name),
        name=archive.name,
        title=label.get("title") or archive.name,
        description=" — ".join(filter(None, about)),
        mime_type=_JSON,
        annotations=types.Annotations(audience=["user", "assistant"], priority=0.5, last_modified=modified),
        icons=[picture] if icon else None,
    )


def _after(cursor: str) -> str:
    """Return the name of the archive that the page before ended with."""
    request = cursors.decode(cursor, _LIST)[2]
    return str(request.get("after", ""))


def _json_result(uri: str, value: Any) -> types.ReadResourceResult:
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    content = types.TextResourceContents(uri=uri, mime_type=_JSON, text=text)
    return types.ReadResourceResult(contents=[content])


def _entry_result(uri: str, entry: Payload) -> types.ReadResourceResult:
    about = {
        "uri": uri,
        "mime_type": entry["mime_type"],
        "_meta": {f"openzim-mcp/{name}": entry[name] for name in ("path", "title", "size")},
    }
    content: types.TextResourceContents | types.BlobResourceContents
    if "text" in entry:
        content = types.TextResourceContents(text=entry["text"], **about)
    else:
        content = types.BlobResourceContents(blob=entry["blob"], **about)
    return types.ReadResourceResult(contents=[content], ttl_ms=_ENTRY_FRESH_MS, cache_scope="private")
