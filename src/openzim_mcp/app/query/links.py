"""Links to sources: where a person opens what a model cites, on the page of this server."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

import msgspec

from openzim_mcp import addresses, tokens
from openzim_mcp.app.query.excerpts import Source

if TYPE_CHECKING:
    from openzim_mcp.app.query.reply import Reply

_MAX_SHARE = 0.1
"""How much longer links may make a reply: each takes a model 20 to 40 tokens, and `_meta` has all of them."""

_AnySource = TypeVar("_AnySource", bound=Source)


def reader_url(base_url: str, source: Source, section_id: str | None = None) -> str:
    """Return the URL of the page that reads a source."""
    return base_url + addresses.reader_address(source.archive.removesuffix(".zim"), source.path, section_id or "")


def add_links(reply: Reply, base_url: str, max_tokens: int | None = None) -> Reply:
    """Return a reply whose sources have URLs; its text has as many of them, in order, as are worth their tokens."""
    linked = replace(
        reply,
        cited=tuple(_with_url(base_url, source) for source in reply.cited),
        passages=tuple(_with_url(base_url, passage) for passage in reply.passages),
    )
    if reply.is_empty:
        return linked
    budget = tokens.estimate(reply.markdown) * (1 + _MAX_SHARE)
    urls = tuple(reader_url(base_url, source) for source in reply.cited)
    for count in range(len(urls), 0, -1):
        shown = replace(linked, links=urls[:count])
        fits = max_tokens is None or tokens.fits(shown.markdown, max_tokens)
        if fits and tokens.estimate(shown.markdown) <= budget:
            return shown
    return linked


def _with_url(base_url: str, source: _AnySource) -> _AnySource:
    return msgspec.structs.replace(source, url=reader_url(base_url, source, source.section_id))
