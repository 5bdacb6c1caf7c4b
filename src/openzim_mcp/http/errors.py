"""Refusals that HTTP clients and people understand: a status, a sentence, and when to come back."""

from __future__ import annotations

from starlette.responses import JSONResponse

_WORDS = {
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


class Refusal(JSONResponse):
    """A response that says in one sentence why a request is not served, and what would help."""

    def __init__(
        self, status: int, sentence: str, *, retry_after: float | None = None, headers: dict[str, str] | None = None
    ) -> None:
        told = dict(headers or {})
        if retry_after is not None:
            told["Retry-After"] = str(max(1, round(retry_after)))
        if status in {400, 408, 413, 431}:
            # What follows on this connection may be the rest of the request that was refused.
            told["Connection"] = "close"
        super().__init__({"error": _WORDS[status], "error_description": sentence}, status, told)
