"""Lines to messages and back, with the manners of JSON-RPC that the SDK's own transport lacks.

What is no message gets the error of JSON-RPC; batches are taken apart for the one revision that has them; and calls
that are under way when the input ends are answered before the server ends.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, AsyncIterator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
    Outgoing = MemoryObjectSendStream[SessionMessage]

_ENDLESS = {"subscriptions/listen"}
_REVISION_WITH_BATCHES = "2025-03-26"
_FLUSH_SECONDS = 2.0


class _Output(Protocol):
    async def write(self, line: bytes) -> None:
        """Write a line."""


@dataclass(frozen=True)
class _Refused:
    """What is no message, and the answer to it."""

    answer: types.JSONRPCError


@dataclass
class _Batch:
    """Requests that came together, and the answers that are to go together."""

    open: set[types.RequestId] = field(default_factory=set)
    answers: list[bytes] = field(default_factory=list)


@contextlib.asynccontextmanager
async def frames(
    lines: AsyncIterable[bytes], output: _Output, *, patience: float
) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Give a server its messages; when the input ends, it has `patience` seconds to answer what it was asked."""
    to_server, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    wire = _Wire(output, to_server)
    written = anyio.Event()

    async def write() -> None:
        try:
            await wire.write_all(from_server)
        except anyio.BrokenResourceError:
            tasks.cancel_scope.cancel()  # nobody reads any more
        written.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wire.read_all, lines, patience)
        tasks.start_soon(write)
        yield incoming, outgoing
        with anyio.move_on_after(_FLUSH_SECONDS):
            await written.wait()
        tasks.cancel_scope.cancel()


class _Wire:
    """One connection: which requests are not answered yet, and which came together."""

    def __init__(self, output: _Output, to_server: MemoryObjectSendStream[SessionMessage | Exception]) -> None:
        self._output = output
        self._to_server = to_server
        self._open: set[types.RequestId] = set()
        self._batches: dict[types.RequestId, _Batch] = {}
        self._has_batches = False
        self._settled = anyio.Event()

    async def read_all(self, lines: AsyncIterable[bytes], patience: float) -> None:
        """Pass on what comes in; at its end, wait for the answers that are still to go out."""
        async with self._to_server:
            with contextlib.suppress(anyio.BrokenResourceError):
                async for line in lines:
                    await self._read(line)
                with anyio.move_on_after(patience):
                    while self._open:
                        self._settled = anyio.Event()
                        await self._settled.wait()

    async def write_all(self, messages: MemoryObjectReceiveStream[SessionMessage]) -> None:
        """Write what the server says."""
        async with messages:
            async for item in messages:
                await self._write(item.message)

    async def _read(self, line: bytes) -> None:
        if self._has_batches and line.startswith(b"[") and (parts := _parts(line)):
            await self._read_batch(parts)
            return
        message = _parse(line)
        if isinstance(message, _Refused):
            await self._output.write(_dump(message.answer))
        else:
            await self._pass_on(message)

    async def _read_batch(self, parts: list[bytes]) -> None:
        batch = _Batch()
        messages = []
        for message in map(_parse, parts):
            if isinstance(message, _Refused):
                batch.answers.append(_dump(message.answer))
                continue
            messages.append(message)
            if isinstance(message, types.JSONRPCRequest):
                batch.open.add(message.id)
                self._batches[message.id] = batch
        if not batch.open:
            await self._write_batch(batch)
        for message in messages:
            await self._pass_on(message)

    async def _pass_on(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCRequest) and message.method not in _ENDLESS:
            self._open.add(message.id)
        await self._to_server.send(SessionMessage(message))
        if isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            await self._settle((message.params or {}).get("requestId"))  # it will never be answered

    async def _write(self, message: types.JSONRPCMessage) -> None:
        line = _dump(message)
        if not isinstance(message, types.JSONRPCResponse | types.JSONRPCError) or message.id is None:
            await self._output.write(line)
            return
        if isinstance(message, types.JSONRPCResponse) and "protocolVersion" in message.result:
            self._has_batches = message.result["protocolVersion"] == _REVISION_WITH_BATCHES
        if message.id not in self._batches:
            await self._output.write(line)
        await self._settle(message.id, line)

    async def _settle(self, number: Any, answer: bytes | None = None) -> None:
        """Take note that a request has had its answer, or will have none."""
        batch = self._batches.pop(number, None)
        if batch is not None:
            batch.open.discard(number)
            batch.answers += [answer] if answer else []
            if not batch.open:
                await self._write_batch(batch)
        self._open.discard(number)
        self._settled.set()

    async def _write_batch(self, batch: _Batch) -> None:
        if batch.answers:
            await self._output.write(b"[" + b",".join(batch.answers) + b"]")


def _dump(message: types.JSONRPCMessage) -> bytes:
    return message.model_dump_json(by_alias=True, exclude_unset=True).encode()


def _parts(line: bytes) -> list[bytes]:
    """Return the messages of a batch; nothing if it is none."""
    try:
        return [json.dumps(part).encode() for part in json.loads(line)]
    except (ValueError, RecursionError):
        return []


def _parse(line: bytes) -> types.JSONRPCMessage | _Refused:
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValidationError:
        return _refuse(line)
    # To the SDK a request whose id is neither text nor number is a notification.
    is_odd = isinstance(message, types.JSONRPCNotification) and b'"id"' in line and "id" in json.loads(line)
    return _refuse(line) if is_odd else message


def _refuse(line: bytes) -> _Refused:
    """Say what is wrong with a line, to the request that it is, if it is one."""
    code, text, number = types.PARSE_ERROR, "Parse error: this line is not JSON.", None
    with contextlib.suppress(ValueError, RecursionError):
        frame = json.loads(line)
        code, text = types.INVALID_REQUEST, "Invalid request: this is not a JSON-RPC message."
        if isinstance(frame, dict):
            given = frame.get("id")
            number = given if isinstance(given, str | int) and not isinstance(given, bool) else None
    error = types.ErrorData(code=code, message=text)
    return _Refused(types.JSONRPCError(jsonrpc="2.0", id=number, error=error))
