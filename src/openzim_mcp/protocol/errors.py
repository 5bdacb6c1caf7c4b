"""Errors as clients see them: our own become JSON-RPC errors, unexpected ones are logged and replaced."""

from __future__ import annotations

import contextlib
import functools
import logging
from typing import TYPE_CHECKING, TypeVar

import mcp_types as types
import msgspec
from mcp import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from openzim_mcp import errors, tokens

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from openzim_mcp.protocol.context import RequestContext

log = logging.getLogger(__name__)

_Params = TypeVar("_Params")
_Result = TypeVar("_Result")
_RESOURCE_NOT_FOUND = -32002
_MAX_ERROR_TOKENS = 150
_MAX_LISTED_ROWS = 10
_LIST_TOKENS = 20
_MAX_TEXT_TOKENS = {"message": 60, "hint": 40}
_NOT_FOUND_ERRORS = (errors.ArchiveNotFound, errors.EntryNotFound, errors.ResourceNotFound)
_MAX_URI_CHARS = 1000
# Fields of a tool's error that a JSON-RPC error has elsewhere.
_OMITTED_FIELDS = {"status", "message"}


def fit_payload(payload: dict[str, object]) -> dict[str, object]:
    """Return an error as models pay for it: lists with as many rows as fit and a count of the others, short texts."""
    fixed = {name: value for name, value in payload.items() if not isinstance(value, list)}
    for name, max_tokens in _MAX_TEXT_TOKENS.items():
        if isinstance(fixed.get(name), str) and _cost(fixed) > _MAX_ERROR_TOKENS - _LIST_TOKENS:
            fixed[name] = tokens.truncate(str(fixed[name]), max_tokens * tokens.SAFETY_FACTOR)
    lists = {name: value for name, value in payload.items() if isinstance(value, list)}
    for count in range(_MAX_LISTED_ROWS, -1, -1):
        shown = {name: rows[:count] for name, rows in lists.items() if rows[:count]}
        left = sum(max(0, len(rows) - count) for rows in lists.values())
        fitted = fixed | shown | ({"not_shown": left} if left else {})
        if _cost(fitted) <= _MAX_ERROR_TOKENS:
            break
    return fitted


def _cost(payload: dict[str, object]) -> float:
    return tokens.estimate(msgspec.json.encode(payload).decode())


@contextlib.contextmanager
def hide_unexpected(action: str) -> Iterator[None]:
    """Log an unexpected exception and replace it by a generic error."""
    try:
        yield
    except (errors.OpenZimMcpError, MCPError):
        raise
    except Exception:
        log.exception("%s failed", action)
        hint = "The server's log has the details."
        raise errors.OpenZimMcpError(f"{action} failed unexpectedly.", hint=hint) from None


def jsonrpc_code(error: errors.OpenZimMcpError, protocol_version: str) -> int:
    """Return the JSON-RPC code of an error; what was not found has its own code in versions with `initialize`."""
    if isinstance(error, _NOT_FOUND_ERRORS) and protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return _RESOURCE_NOT_FOUND
    return types.INVALID_PARAMS if isinstance(error, errors.OpenZimMcpValidationError) else types.INTERNAL_ERROR


def as_jsonrpc_error(
    handler: Callable[[RequestContext, _Params], Awaitable[_Result]],
) -> Callable[[RequestContext, _Params], Awaitable[_Result]]:
    """Wrap a request handler so that it raises nothing but JSON-RPC errors."""

    @functools.wraps(handler)
    async def wrapper(context: RequestContext, params: _Params) -> _Result:
        try:
            with hide_unexpected(context.method):
                return await handler(context, params)
        except errors.OpenZimMcpError as error:
            uri = {"uri": params.uri[:_MAX_URI_CHARS]} if isinstance(params, types.ReadResourceRequestParams) else {}
            fields = error.payload(context.method)
            data = uri | {name: value for name, value in fields.items() if name not in _OMITTED_FIELDS}
            raise MCPError(jsonrpc_code(error, context.protocol_version), error.message, data) from None

    return wrapper
