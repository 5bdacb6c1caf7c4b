"""Error responses: of HTTP, with a status, a code, a sentence and when to retry; and of JSON-RPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from openzim_mcp import addresses
from openzim_mcp.web.problems import ProblemResponse

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

_ERROR_CODES = {
    400: "bad_request",
    401: "invalid_token",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    408: "timeout",
    413: "too_large",
    415: "unsupported_media_type",
    421: "misdirected",
    429: "too_many",
    431: "headers_too_large",
    500: "internal_error",
    503: "busy",
}


class ErrorResponse(JSONResponse):
    """A JSON response that says in one sentence why a request is refused; to clients of the API, a problem document."""

    def __init__(
        self, status: int, description: str, *, retry_after: float | None = None, headers: dict[str, str] | None = None
    ) -> None:
        response_headers = dict(headers or {})
        if retry_after is not None:
            response_headers["Retry-After"] = str(max(1, round(retry_after)))
        if status in {400, 408, 413, 431}:
            # The next bytes on this connection may be the rest of the refused request.
            response_headers["Connection"] = "close"
        code = _ERROR_CODES[status]
        super().__init__({"error": code, "error_description": description}, status, response_headers)
        self._problem = ProblemResponse(status, description, headers=response_headers, operation=code)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the response."""
        if addresses.is_api(scope["path"]):
            await self._problem(scope, receive, send)
        else:
            await super().__call__(scope, receive, send)


SERVER_ERROR = -32000
"""Code of JSON-RPC errors that are neither the client's fault nor a failure of its call."""


def jsonrpc_error(request_id: str | int | None, message: str, code: int = SERVER_ERROR) -> dict[str, object]:
    """Return a JSON-RPC error."""
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": message}}


class InvalidMessageResponse(JSONResponse):
    """Refuses what is not a valid message of MCP, with a JSON-RPC error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(jsonrpc_error(None, message, code), 400)
