"""Lines to messages and back, with the parts of JSON-RPC that the SDK's stdio transport lacks.

Lines that are not messages are answered with a JSON-RPC error; batches are split for the one protocol version that has
them; requests that are in progress when the input ends are answered before the server exits.
"""

from __future__ import annotations

import contextlib
import json
import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, TypeGuard

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
    Outgoing = MemoryObjectSendStream[SessionMessage]

log = logging.getLogger(__name__)

_STREAMING_METHODS = {"subscriptions/listen"}
_BATCH_VERSION = "2025-03-26"
_FLUSH_TIMEOUT_SECONDS = 2.0
_READER_CHECK_SECONDS = 0.25
MAX_MESSAGE_BYTES = 1 << 20
"""As over HTTP; parsed, a message takes up to sixty times its size."""
_NOT_JSON = object()


class LineOutput(Protocol):
    """Where lines are written."""

    async def write(self, line: bytes) -> None:
        """Write a line; raise `BrokenResourceError` if nobody reads any more."""

    def has_reader(self) -> bool:
        """Return whether somebody may still read what is written."""
        ...


@dataclass(frozen=True)
class _InvalidMessage:
    """A line that is not a message."""

    response: types.JSONRPCError


@dataclass
class _Batch:
    """Requests that came in one line, and the responses that go out in one line."""

    unanswered: set[types.RequestId] = field(default_factory=set)
    responses: list[bytes] = field(default_factory=list)


@contextlib.asynccontextmanager
async def open_streams(
    lines: AsyncIterable[bytes], output: LineOutput, *, drain_seconds: float
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Connect a server to lines; when the input ends, it has `drain_seconds` to answer the open requests."""
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    stream = _MessageStream(output, to_server)
    all_written = anyio.Event()

    async def write() -> None:
        try:
            await stream.write_all(from_server)
        except anyio.BrokenResourceError:
            tasks.cancel_scope.cancel()  # nobody reads any more
        all_written.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(stream.read_all, lines, drain_seconds)
        tasks.start_soon(write)
        yield incoming, outgoing
        with anyio.move_on_after(_FLUSH_TIMEOUT_SECONDS):
            await all_written.wait()
        tasks.cancel_scope.cancel()


class _MessageStream:
    """One connection: its unanswered requests and its batches."""

    def __init__(self, output: LineOutput, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        self._output = output
        self._to_server = to_server
        self._unanswered: set[types.RequestId] = set()
        self._batches: dict[types.RequestId, _Batch] = {}
        self._has_batches = False
        self._answered = anyio.Event()

    async def read_all(self, lines: AsyncIterable[bytes], drain_seconds: float) -> None:
        """Forward all lines to the server; after the last one, wait for the responses that are still missing."""
        async with self._to_server:
            with contextlib.suppress(anyio.BrokenResourceError):
                async for line in lines:
                    await self._read(line)
                with anyio.move_on_after(drain_seconds):
                    await self._drain()

    async def _drain(self) -> None:
        """Wait for the missing responses, as long as somebody can read them."""
        while self._unanswered and self._output.has_reader():
            self._answered = anyio.Event()
            with anyio.move_on_after(_READER_CHECK_SECONDS):
                await self._answered.wait()

    async def write_all(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write the server's messages."""
        async with messages:
            async for item in messages:
                await self._write(item.message)

    async def _read(self, line: bytes) -> None:
        if self._has_batches and line.startswith(b"[") and (parts := _split_batch(line)):
            await self._read_batch(parts)
            return
        message = _parse_message(line)
        if isinstance(message, _InvalidMessage):
            await self._output.write(encode_message(message.response))
        else:
            await self._forward(message)

    async def _read_batch(self, parts: list[bytes]) -> None:
        batch = _Batch()
        messages = []
        for message in map(_parse_message, parts):
            if isinstance(message, _InvalidMessage):
                batch.responses.append(encode_message(message.response))
                continue
            messages.append(message)
            if isinstance(message, types.JSONRPCRequest):
                batch.unanswered.add(message.id)
                self._batches[message.id] = batch
        if not batch.unanswered:
            await self._write_batch(batch)
        for message in messages:
            await self._forward(message)

    async def _forward(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest) and message.method not in _STREAMING_METHODS:
            self._unanswered.add(message.id)
        await self._to_server.send(SessionMessage(message))
        if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            request_id = (message.params or {}).get("requestId")
            if _is_request_id(request_id):
                await self._mark_answered(request_id)  # a cancelled request gets no response

    async def _write(self, message: types.JSONRPCMessage) -> None:
        line = encode_message(message)
        if not isinstance(message, types.JSONRPCResponse | types.JSONRPCError) or message.id is None:
            await self._output.write(line)
            return
        if isinstance(message, types.JSONRPCResponse) and "protocolVersion" in message.result:
            self._has_batches = message.result["protocolVersion"] == _BATCH_VERSION
        if message.id not in self._batches:
            await self._output.write(line)
        await self._mark_answered(message.id, line)

    async def _mark_answered(self, request_id: types.RequestId, response: bytes | None = None) -> None:
        """Stop waiting for the response to a request; write its batch if that is complete."""
        batch = self._batches.pop(request_id, None)
        if batch is not None:
            batch.unanswered.discard(request_id)
            batch.responses += [response] if response else []
            if not batch.unanswered:
                await self._write_batch(batch)
        self._unanswered.discard(request_id)
        self._answered.set()

    async def _write_batch(self, batch: _Batch) -> None:
        if batch.responses:
            await self._output.write(b"[" + b",".join(batch.responses) + b"]")


def encode_message(message: types.JSONRPCMessage) -> bytes:
    """Return a message as JSON; a result that cannot be encoded becomes an error, as the connection must go on."""
    try:
        return message.model_dump_json(by_alias=True, exclude_unset=True).encode()
    except (PydanticSerializationError, ValueError, RecursionError):
        log.exception("a message cannot be encoded")
    error = types.ErrorData(code=types.INTERNAL_ERROR, message="The result cannot be encoded as JSON.")
    request_id = message.id if isinstance(message, types.JSONRPCResponse) else None
    return encode_message(types.JSONRPCError(jsonrpc="2.0", id=request_id, error=error))


def _load_json(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return _NOT_JSON


def _split_batch(line: bytes) -> list[bytes]:
    """Return the messages of a batch; none if the line is not one."""
    batch = _load_json(line)
    return [json.dumps(part).encode() for part in batch] if isinstance(batch, list) else []


def _parse_message(line: bytes) -> types.JSONRPCMessage | _InvalidMessage:
    if len(line) > MAX_MESSAGE_BYTES:
        text = f"Invalid request: a message may have up to {MAX_MESSAGE_BYTES >> 20} MiB."
        return _make_error(types.INVALID_REQUEST, text)
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _invalid_message(line)
    if isinstance(message, types.JSONRPCNotification) and b'"id"' in line:
        # The SDK takes a request whose id is neither a string nor a number for a notification.
        value = _load_json(line)
        if not isinstance(value, dict) or "id" in value:
            return _invalid_message(line)
    return message


def _invalid_message(line: bytes) -> _InvalidMessage:
    """Describe what is wrong with a line, with the request's id if it has one."""
    value = _load_json(line)
    if value is _NOT_JSON:
        return _make_error(types.PARSE_ERROR, "Parse error: this line is not JSON.")
    request_id = value.get("id") if isinstance(value, dict) else None
    return _make_error(types.INVALID_REQUEST, "Invalid request: this is not a JSON-RPC message.", request_id)


def _make_error(code: int, text: str, request_id: object = None) -> _InvalidMessage:
    error = types.ErrorData(code=code, message=text)
    return _InvalidMessage(
        types.JSONRPCError(jsonrpc="2.0", id=request_id if _is_request_id(request_id) else None, error=error)
    )


def _is_request_id(value: object) -> TypeGuard[types.RequestId]:
    """Return whether a response can have this id: a number, or a text without parts of characters."""
    if isinstance(value, str):
        return value.isprintable() or not any("\ud800" <= character <= "\udfff" for character in value)
    return isinstance(value, int) and not isinstance(value, bool)
