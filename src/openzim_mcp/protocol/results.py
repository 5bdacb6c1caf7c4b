"""Results of tools as clients get them: text, or a value and the same as text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import mcp_types as types
import msgspec

from openzim_mcp.app.query.reply import Reply
from openzim_mcp.calls.reading import Article, BinaryEntry
from openzim_mcp.protocol import app_view

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.protocol.context import RequestContext

_STRUCTURED_CONTENT_SINCE = "2025-06-18"
_MAX_LINKS = 3


@dataclass(frozen=True)
class ResultForm:
    """What a client can use of a result."""

    has_structured_content: bool
    wants_structured_answers: bool

    @classmethod
    def of(cls, app: App, context: RequestContext) -> ResultForm:
        """Return the form for the client of a request."""
        has_structured_content = context.protocol_version >= _STRUCTURED_CONTENT_SINCE
        choice = app.settings.content.structured_answers
        capabilities = context.session.client_capabilities
        has_views = bool(capabilities and app_view.EXTENSION in (capabilities.extensions or {}))
        wants_answers = choice == "always" or (choice == "auto" and has_views)
        return cls(has_structured_content, has_structured_content and wants_answers)


def to_result(result: msgspec.Struct | Reply, form: ResultForm) -> types.CallToolResult:
    """Return what a tool found in the form that the client can use."""
    if isinstance(result, Reply):
        return _reply_result(result, form)
    if isinstance(result, Article):
        return _text_result(result.markdown)
    if isinstance(result, BinaryEntry):
        return _binary_result(result, form)
    return structured_result(msgspec.to_builtins(result))


def _reply_result(reply: Reply, form: ResultForm) -> types.CallToolResult:
    """Return a reply as text; for a client that wants it, also as a value with the same text, and links to sources."""
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=reply.markdown)]
    if reply.image is not None:
        content.append(types.ImageContent(type="image", data=reply.image.data, mime_type=reply.image.mime_type))
    structured = None
    if form.wants_structured_answers:
        content += map(_source_link, dict.fromkeys((source.title, source.uri) for source in reply.cited[:_MAX_LINKS]))
        structured = {"text": reply.markdown, "sources": msgspec.to_builtins(reply.cited)}
        if reply.answered is not None:
            structured |= {"answered": reply.answered, "confidence": reply.confidence}
    return types.CallToolResult(content=content, structured_content=structured, _meta=_reply_meta(reply))


def _source_link(source: tuple[str, str]) -> types.ResourceLink:
    """Return a link for a person: the model has the URI in the text."""
    title, uri = source
    for_person = types.Annotations(audience=["user"], priority=0.5)
    return types.ResourceLink(type="resource_link", uri=uri, name=title, title=title, annotations=for_person)


def _binary_result(entry: BinaryEntry, form: ResultForm) -> types.CallToolResult:
    """Return the bytes of an entry once: as structured content or, for clients without it, in the text."""
    payload = msgspec.to_builtins(entry)
    if not form.has_structured_content:
        return _text_result(msgspec.json.encode(payload).decode())
    text = msgspec.json.encode({name: value for name, value in payload.items() if name != "data"}).decode()
    return _text_result(text).model_copy(update={"structured_content": payload})


def _reply_meta(reply: Reply) -> dict[str, object] | None:
    """Return what clients use beside the text: the cursor; of an answer also how likely it is, and from where."""
    meta: dict[str, object] = {"openzim/next_cursor": reply.next_cursor} if reply.next_cursor else {}
    if reply.answered is not None:
        meta["openzim/answered"] = reply.answered
        meta["openzim/confidence"] = reply.confidence
        meta["openzim/sources"] = msgspec.to_builtins(reply.cited)
    return meta or None


def _text_result(text: str) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)])


def structured_result(payload: dict[str, object], *, is_error: bool = False) -> types.CallToolResult:
    """Return a value, and the same as text."""
    text = msgspec.json.encode(payload).decode()
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=payload, is_error=is_error
    )
