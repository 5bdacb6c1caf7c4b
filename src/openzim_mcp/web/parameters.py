"""What the endpoints of the API take from the query string, and the requests of `app/` that come of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field, StringConstraints, model_validator

from openzim_mcp.app.arguments import Request, check_start, parse_request
from openzim_mcp.app.links import OPERATIONS, Direction, DirectionField, LinksRequest
from openzim_mcp.app.query.reply import QueryRequest
from openzim_mcp.app.search import SearchRequest

if TYPE_CHECKING:
    from openzim_mcp.config import Operation

_MAX_REFERENCE_CHARS = 8000
_MAX_PAGE = 1000
_DEFAULT_LIMIT = 10

Text = Annotated[str, StringConstraints(min_length=1, max_length=1000)]
Reference = Annotated[str, StringConstraints(min_length=1, max_length=_MAX_REFERENCE_CHARS)]
_Archive: Any = Field(None, description="Name or title of an archive; left out: all archives.")
_Cursor: Any = Field(None, description="next_cursor of the previous result; enough by itself.")


class Parameters(Request):
    """The base of the parameters of an endpoint; empty values are wrong, so that no typo is overlooked."""

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, arguments: object) -> object:
        return arguments


class NoParameters(Parameters):
    """No parameters."""


class AskParameters(Parameters):
    """What `ask` takes."""

    q: Text = Field(description="A question, or a request such as `summary of X`, in plain words.")
    archive: Text | None = _Archive
    budget: Annotated[str, StringConstraints(pattern="^(small|medium|large|[1-9][0-9]{2,6})$")] | None = Field(
        None, description="Tokens at most: small (500), medium (1500), large (4000) or a number from 100 up."
    )
    offset: int = Field(0, ge=0, le=10_000, description="Passages or rows to skip: continues a list or an answer.")
    content_offset: int = Field(0, ge=0, le=10**9, description="Characters to skip: continues a text.")
    cursor: Reference | None = Field(None, description="next_cursor of the previous answer: continues it.")

    @model_validator(mode="after")
    def _check_start(self) -> AskParameters:
        check_start(self.cursor, self.offset)
        return self

    def to_query(self) -> QueryRequest:
        """Return the request of the tool."""
        names = {"q": "query", "archive": "zim_file_path", "budget": "compact_budget"}
        given = self.model_dump(exclude_unset=True)
        return parse_request(QueryRequest, {names.get(name, name): value for name, value in given.items()})

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as: nothing yet, as that depends on the number of archives."""
        return "default", 0


class SearchParameters(Parameters):
    """What `search` takes."""

    q: Text | None = Field(None, description="Words, a question, or a title; a cursor carries it.")
    archive: Text | None = _Archive
    mode: Literal["fulltext", "title"] = Field("fulltext", description="By text, or by title only.")
    near: Annotated[str, StringConstraints(min_length=1, max_length=300)] | None = Field(
        None, description="Only places near a title, `48.85,2.35` or `48.85,2.35,5km`; `q` may be left out."
    )
    limit: int = Field(_DEFAULT_LIMIT, ge=1, le=100, description="Results per page.")
    page: int | None = Field(None, ge=1, le=_MAX_PAGE, description="The number of a page, from 1 on.")
    cursor: Reference | None = _Cursor

    @model_validator(mode="after")
    def _check_start(self) -> SearchParameters:
        if self.cursor and self.page:
            raise ValueError("cursor and page exclude each other: a cursor knows where to continue")
        if not self.q and not self.cursor and not self.near:
            raise ValueError("q: required, but not given; say what to look for")
        return self

    def to_search(self) -> SearchRequest:
        """Return the request of the tool."""
        if self.cursor:
            given = {"query": self.q, "zim_file_path": self.archive, "near": self.near, "cursor": self.cursor}
            return parse_request(SearchRequest, {name: value for name, value in given.items() if value})
        arguments = {"query": self.q, "mode": self.mode, "near": self.near, "limit": self.limit}
        where = {"zim_file_path": self.archive} if self.archive else {"cross_file": True}
        return parse_request(SearchRequest, arguments | where | {"offset": ((self.page or 1) - 1) * self.limit})

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as."""
        return self.to_search().cost()


class SuggestParameters(Parameters):
    """What `suggest` takes."""

    q: Text = Field(description="The start of a title.")
    archive: Text | None = _Archive
    limit: int = Field(_DEFAULT_LIMIT, ge=1, le=50, description="Suggestions at most.")

    def to_search(self) -> SearchRequest:
        """Return the request of the tool."""
        where = {"zim_file_path": self.archive} if self.archive else {"cross_file": True}
        return parse_request(SearchRequest, {"query": self.q, "mode": "suggest", "limit": self.limit} | where)

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as."""
        return self.to_search().cost()


class EntryParameters(Parameters):
    """The entry that an endpoint is about: `ref` alone, or `archive` and `path`."""

    ref: Reference | None = Field(
        None, description="Title, path, zim:// URI, URL of the reader or of the original site; #id for a part."
    )
    archive: Text | None = Field(None, description="Name or title of the archive; left out: all are looked in.")
    path: Reference | None = Field(None, description="Path of the entry in `archive`.")

    @model_validator(mode="after")
    def _check_entry(self) -> EntryParameters:
        if (self.ref is None) == (self.path is None) and not getattr(self, "cursor", None):
            raise ValueError("ref or path: give one of them")
        if self.path and not self.archive:
            raise ValueError("path: needs archive")
        return self

    @property
    def reference(self) -> str | None:
        """What the caller wrote for the entry."""
        return self.ref or self.path


class ReadParameters(EntryParameters):
    """What `read` takes."""

    view: Literal["full", "summary", "toc"] = Field("full", description="The text, its lead, or its outline.")
    section: Text | None = Field(None, description="Only this section: its id, heading or words of it, or number.")
    find: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)] | None = Field(
        None, description="Only the lines that hold all these words, and their offsets."
    )
    offset: int = Field(0, ge=0, le=10**9, description="next_offset of the previous result: where to continue.")
    limit: int | None = Field(None, ge=100, le=1_000_000, description="Characters at most.")
    format: Literal["json", "markdown"] | None = Field(
        None, description="json (default), or markdown: the text alone, as `Accept: text/markdown` asks for too."
    )

    @model_validator(mode="after")
    def _check_view(self) -> ReadParameters:
        if self.section and self.view != "full":
            raise ValueError("section and view exclude each other")
        if self.find and (self.section or self.view != "full"):
            raise ValueError("find excludes section and view; ref with #id finds in a part")
        if self.offset and self.view != "full":
            raise ValueError("offset belongs to view=full")
        return self

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as."""
        return ("get_entry" if self.view == "full" else "get_structure"), 1


class LinksParameters(EntryParameters):
    """What `links` takes."""

    direction: Direction = DirectionField
    limit: int | None = Field(None, ge=1, le=500, description="Links per page.")
    cursor: Reference | None = _Cursor

    def to_links(self) -> LinksRequest:
        """Return the request of the tool."""
        if self.cursor:
            return parse_request(LinksRequest, {"cursor": self.cursor})
        given = {"entry_path": self.reference, "zim_file_path": self.archive, "direction": self.direction}
        return parse_request(LinksRequest, given | {"limit": self.limit})

    def cost(self) -> tuple[Operation, int]:
        """Return what the request is charged as."""
        return OPERATIONS[self.direction], 1
