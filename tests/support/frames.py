"""Frames of any shape: JSON that is not a message, or a message with values of the wrong kind."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

METHODS = [
    "initialize",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/read",
    "resources/subscribe",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "subscriptions/listen",
    "server/discover",
    "notifications/initialized",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "notifications/nonsense",
    "nonsense\nwith \x1b[31m a line break",
    "",
]
KEYS = ["id", "method", "params", "requestId", "progressToken", "progress", "name", "arguments", "uri", "cursor"]
KEYS += ["protocolVersion", "capabilities", "clientInfo", "_meta", "ref", "argument", "result", "error", "jsonrpc"]
SCALARS: list[Any] = [None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 0.5, 1e300, float("nan"), float("inf")]
SCALARS += ["", "x", "2.0", "2025-06-18", "2025-03-26", "\ud800", "\x00", "\u202e", "\n", "é" * 50, "zim_query"]


def random_value(generator: random.Random, depth: int = 0) -> Any:
    """Return any JSON value."""
    kind = generator.random()
    if depth > 3 or kind < 0.6:
        return generator.choice(SCALARS)
    if kind < 0.7:
        return [random_value(generator, depth + 1) for _ in range(generator.randrange(3))]
    return {generator.choice(KEYS): random_value(generator, depth + 1) for _ in range(generator.randrange(4))}


def random_message(generator: random.Random) -> Any:
    """Return something near a message, of which some fields are missing or of the wrong kind."""
    if generator.random() < 0.15:
        return random_value(generator)
    fields = {
        "jsonrpc": lambda: "2.0" if generator.random() < 0.9 else random_value(generator),
        "id": lambda: random_value(generator),
        "method": lambda: generator.choice(METHODS) if generator.random() < 0.9 else random_value(generator),
        "params": lambda: random_value(generator),
    }
    chances = {"jsonrpc": 0.95, "id": 0.6, "method": 0.9, "params": 0.7}
    return {name: make() for name, make in fields.items() if generator.random() < chances[name]}


FIXED_FRAMES = [
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}',
    b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[{}]}}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":"ping"}',
    b'{"jsonrpc":"2.0","id":"\\ud800","method":5}',
    b'{"jsonrpc":"2.0","method":"x","params":{"id":%s}}' % (b"9" * 5000),
    b'{"jsonrpc":"2.0","id":%s,"method":"ping"}' % (b"9" * 5000),
    b'{"jsonrpc":"2.0","method":"x","params":%s1%s,"id":{}}' % (b'{"a":' * 5000, b"}" * 5000),
    b"[" * 5000 + b"]" * 5000,
    b'{"jsonrpc":"2.0","id":1,"id":{},"method":"ping","method":2}',
]


def random_frames(count: int, seed: int = 0) -> Iterator[bytes]:
    """Yield frames, always the same for a seed."""
    generator = random.Random(seed)
    yield from FIXED_FRAMES
    for _ in range(count):
        yield json.dumps(random_message(generator)).encode()
