"""HTTP error responses: a status, an error code, a sentence, and when to retry."""

from __future__ import annotations

from starlette.responses import JSONResponse

_ERROR_CODES = {
    400: "bad_request",
    401: "invalid_token",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "too_large",
    421: "misdirected",
    429: "too_many",
    431: "headers_too_large",
    500: "internal_error",
    503: "busy",
}


class ErrorResponse(JSONResponse):
    """A JSON response that says in one sentence why a request is refused, and what would help."""

    def __init__(
        self, status: int, description: str, *, retry_after: float | None = None, headers: dict[str, str] | None = None
    ) -> None:
        response_headers = dict(headers or {})
        if retry_after is not None:
            response_headers["Retry-After"] = str(max(1, round(retry_after)))
        if status in {400, 408, 413, 431}:
            # The next bytes on this connection may be the rest of the refused request.
            response_headers["Connection"] = "close"
        super().__init__({"error": _ERROR_CODES[status], "error_description": description}, status, response_headers)
