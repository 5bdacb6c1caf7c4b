"""Errors of the API: problem documents (RFC 9457) with the fields of a tool's error."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from openzim_mcp import errors

if TYPE_CHECKING:
    from openzim_mcp.app.app import App
    from openzim_mcp.app.caller import Caller

MEDIA_TYPE = "application/problem+json"
# The first class that matches decides, so the more special ones come first.
_STATUSES: tuple[tuple[type[errors.OpenZimMcpError], int], ...] = (
    (errors.ArchiveNotFound, 404),
    (errors.EntryNotFound, 404),
    (errors.SectionNotFound, 404),
    (errors.PlaceNotFound, 404),
    (errors.ResourceNotFound, 404),
    (errors.AmbiguousEntry, 409),
    (errors.OpenZimMcpValidationError, 400),
    (errors.EntryTooLarge, 413),
    (errors.OpenZimMcpRateLimitError, 429),
    (errors.OpenZimMcpArchiveError, 503),
)
_FIELDS_ELSEWHERE = {"status", "message"}


class ProblemResponse(JSONResponse):
    """A problem document; `members` are added to those of the RFC."""

    media_type = MEDIA_TYPE

    def __init__(self, status: int, detail: str, *, headers: dict[str, str] | None = None, **members: object) -> None:
        document = {"title": HTTPStatus(status).phrase, "status": status, "detail": detail} | members
        super().__init__(document, status, headers)


def status_of(error: errors.OpenZimMcpError) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def to_problem(error: errors.OpenZimMcpError, operation: str) -> ProblemResponse:
    """Return the problem document of an error; it has the members that the tool's error has."""
    status = status_of(error)
    members = {name: value for name, value in error.payload(operation).items() if name not in _FIELDS_ELSEWHERE}
    retry_after = members.get("retry_after")
    headers = {"Retry-After": str(max(1, round(retry_after)))} if isinstance(retry_after, float) else None
    return ProblemResponse(status, error.message, headers=headers, **members)


async def refuse(app: App, caller: Caller, error: errors.OpenZimMcpError, operation: str) -> ProblemResponse:
    """Return an error; what a wrong request was charged is given back by half, as for a tool."""
    if isinstance(error, errors.OpenZimMcpValidationError):
        await app.refund_half(caller)
    return to_problem(error, operation)
