"""What the server may ask of a worker process: typed calls, their results, and the frames that carry them.

A call is a struct. Its fields are the arguments, its type argument is the result, and its class says which function
of `worker/` runs it. Server and worker import this package; it imports neither of them.

The encoding is MessagePack with a length in front. It is not pickle, because a worker reads hostile files: whatever
it may be made to send, it stays data.
"""

from __future__ import annotations

import functools
import struct
from typing import Any, ClassVar, Generic, TypeVar, get_args

import msgspec

Result = TypeVar("Result", covariant=True)  # noqa: PLC0105  the name is read in every call

LENGTH = struct.Struct(">I")
WAITING_SHARE = 0.5
"""The share of its deadline that a call may take longer that waits for a disk."""
MAX_FRAME_BYTES = 64 << 20
"""A longer message would be refused: a worker must not be able to fill the server's memory."""


class Struct(msgspec.Struct, frozen=True, omit_defaults=True):
    """A value that crosses the process border: a field that has its default is not sent, nor shown to clients."""


class Call(msgspec.Struct, Generic[Result], frozen=True, omit_defaults=True):
    """A request to run `function` on an open archive.

    `function` is the module below `worker/` and the function in it. If a call that `uses_index` crashes, only the
    search index of the archive is quarantined; if it has a field `use_index`, it can then be repeated without. The
    result of a `cached` call is kept for as long as the file does not change; a result that callers keep so
    `describes_file`: if the file is another one by then, the call fails. The function of a call that does not
    `opens_archive` gets one that it may open.
    """

    function: ClassVar[str] = ""
    uses_index: ClassVar[bool] = False
    cached: ClassVar[bool] = False
    describes_file: ClassVar[bool] = False
    opens_archive: ClassVar[bool] = True

    @property
    def asks_index(self) -> bool:
        """Whether this call will ask the search index."""
        return self.uses_index and getattr(self, "use_index", True)

    @property
    def entry(self) -> str | None:
        """The entry that this call is about; if it takes too long, only this entry is to blame."""
        return None


class Job(Call[Result], frozen=True):
    """A call that may take minutes: it runs in a process of its own, reports progress, and has no deadline.

    Its function gets the parts of the file, as a damaged archive may not open. A final result is kept as a fact. Jobs
    of one queue run one after the other, so that one in the background does not delay one that somebody waits for.
    One that `yields_to_calls` pauses while these are in progress: it reads much, and answers do not depend on it.
    """

    fact: ClassVar[str] = ""
    queue: ClassVar[str] = "waited for"
    yields_to_calls: ClassVar[bool] = False

    def is_final(self, result: object) -> bool:
        """Return whether a result holds for as long as the file does not change."""
        return result is not None


class Target(Struct, frozen=True):
    """An archive that a call is to run on."""

    name: str
    parts: tuple[str, ...]
    crashed_entries: tuple[str, ...] = ()
    """Entries that ended a worker when they were read."""


class Request(Struct, frozen=True):
    """One call on one archive, or on one after the other, for a worker.

    It replies once for each, in their order; or says, once it has worked for `seconds`, that the others are left.
    """

    function: str
    target: Target
    call: msgspec.Raw
    others: list[Target] = msgspec.field(default_factory=list)
    seconds: float = 0.0


class Ready(Struct, frozen=True, tag="ready"):
    """The worker has started."""


class Success(Struct, frozen=True, tag="success"):
    """The result of a call, and the identity of the file that it was read from; empty if that changed meanwhile."""

    result: msgspec.Raw
    identity: str = ""


class Failure(Struct, frozen=True, tag="failure"):
    """An error that the caller may see: the class of `errors` and what it was made of."""

    error: str
    message: str
    hint: str | None = None
    details: dict[str, Any] = msgspec.field(default_factory=dict)


class Bug(Struct, frozen=True, tag="bug"):
    """An unexpected exception, for the log."""

    traceback: str


class Paused(Struct, frozen=True, tag="paused"):
    """The worker leaves the other archives of a request to the next one, as others wait for their turn."""


class Progress(Struct, frozen=True, tag="progress"):
    """How much of a job is done; it goes on when the server says so (`Continue`)."""

    done: int
    total: int


class Continue(Struct, frozen=True):
    """The reply to `Progress`: the job goes on."""


class Reading(Struct, frozen=True, tag="reading"):
    """The entry that is now read by a library that may end the process; empty when it was read."""

    entry: str


Reply = Ready | Success | Failure | Bug | Paused | Progress | Reading

_encoder = msgspec.msgpack.Encoder()
_reply_decoder = msgspec.msgpack.Decoder(Reply)
_request_decoder = msgspec.msgpack.Decoder(Request)


def encode_call(call: Call[Any]) -> bytes:
    """Return the arguments of a call, encoded; equal calls have equal encodings."""
    return _encoder.encode(call)


def encode_result(result: object) -> msgspec.Raw:
    """Return the result of a call, encoded."""
    return msgspec.Raw(_encoder.encode(result))


def decode_request(body: bytes) -> Request:
    """Return the request in a frame."""
    return _request_decoder.decode(body)


def decode_call(request: Request) -> Call[Any]:
    """Return the call in a request."""
    call: Call[Any] = _decoder_for(_call_class(request.function)).decode(request.call)
    return call


def decode_reply(body: bytes) -> Reply:
    """Return the reply in a frame."""
    reply: Reply = _reply_decoder.decode(body)
    return reply


def decode_result(call: Call[Result], result: msgspec.Raw) -> Result:
    """Return the result of a call as its type."""
    decoded: Result = _decoder_for(result_type(type(call))).decode(result)
    return decoded


def encode_frame(message: Struct) -> bytes:
    """Return a message, encoded, with its length before it."""
    body = _encoder.encode(message)
    return LENGTH.pack(len(body)) + body


@functools.cache
def _call_class(function: str) -> type[Call[Any]]:
    """Return the class of the call that a function runs; its module must have been imported."""
    pending: list[type[Call[Any]]] = [Call]
    while pending:
        call = pending.pop()
        if function and call.function == function:
            return call
        pending += call.__subclasses__()
    raise LookupError(function)


@functools.cache
def _decoder_for(kind: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(kind)


@functools.cache
def result_type(call: type[Call[Any]]) -> Any:
    """Return the type argument of the class that a call is derived from."""
    base = next(base for base in call.__orig_bases__ if get_args(base))  # type: ignore[attr-defined]
    return get_args(base)[0]
