"""Calls about the links between pages, by the index of pages."""

from __future__ import annotations

from openzim_mcp.calls import Struct
from openzim_mcp.calls.reading import EntryCall, EntryResult


class InboundLink(Struct, frozen=True):
    """A page that links to an entry; the text and the section of its first link, if they were read."""

    path: str
    title: str
    text: str | None = None
    section: str | None = None


class InboundLinks(EntryResult, frozen=True):
    """Some of the pages that link to an entry; None where the index has no lists, or does not exist.

    `done` of the `of` pages of the archive have been read for the index; `of` is 0 if it does not exist.
    """

    links: list[InboundLink] | None
    total: int
    is_complete: bool
    done: int
    of: int


class FindInbound(EntryCall[InboundLinks], frozen=True):
    """Find the pages that link to an entry, those that most pages link to first."""

    function = "reading.inbound:find_inbound"
    offset: int
    limit: int


class DescribeLinks(EntryCall[list[InboundLink]], frozen=True):
    """Return some pages with the text and the section of their first link to an entry, if there is one."""

    function = "reading.inbound:describe_links"
    pages: tuple[str, ...]
