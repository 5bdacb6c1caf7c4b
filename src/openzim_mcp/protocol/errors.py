"""The border where errors become what a client sees: results of tools, JSON-RPC errors of everything else."""

from __future__ import annotations

import contextlib
import functools
import logging
from typing import TYPE_CHECKING, Any, TypeVar

import mcp_types as types
from mcp import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from openzim_mcp import errors

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from mcp.server import ServerRequestContext

log = logging.getLogger(__name__)

_Params = TypeVar("_Params")
_Result = TypeVar("_Result")
_NOT_FOUND_IN_A_HANDSHAKE = -32002
_SAID = {"status", "message"}
_MISSING = (errors.ArchiveNotFound, errors.EntryNotFound, errors.ResourceNotFound)


@contextlib.contextmanager
def foreseen(what: str) -> Iterator[None]:
    """Turn a failure that nobody foresaw into an error that may be shown; what it was is for the log."""
    try:
        yield
    except (errors.OpenZimMcpError, MCPError):
        raise
    except Exception:
        log.exception("%s failed", what)
        raise errors.OpenZimMcpError(f"{what} failed unexpectedly.", hint="The server's log has the details.") from None


def code_of(error: errors.OpenZimMcpError, protocol_version: str) -> int:
    """Return the JSON-RPC code of an error, as the client's revision of the protocol has it."""
    if isinstance(error, _MISSING) and protocol_version not in MODERN_PROTOCOL_VERSIONS:
        return _NOT_FOUND_IN_A_HANDSHAKE
    return types.INVALID_PARAMS if isinstance(error, errors.OpenZimMcpValidationError) else types.INTERNAL_ERROR


def guarded(
    handler: Callable[[ServerRequestContext[Any], _Params], Awaitable[_Result]],
) -> Callable[[ServerRequestContext[Any], _Params], Awaitable[_Result]]:
    """Wrap the handler of a request, so that all that leaves it is a result or a JSON-RPC error."""

    @functools.wraps(handler)
    async def guard(context: ServerRequestContext[Any], params: _Params) -> _Result:
        try:
            with foreseen(context.method):
                return await handler(context, params)
        except errors.OpenZimMcpError as error:
            about = {"uri": params.uri} if isinstance(params, types.ReadResourceRequestParams) else {}
            data = about | {name: value for name, value in error.payload(context.method).items() if name not in _SAID}
            raise MCPError(code_of(error, context.protocol_version), error.message, data) from None

    return guard
