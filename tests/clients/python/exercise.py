"""What the Python clients share: the servers, the requests and the report."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

CONFIG: dict[str, Any] = json.loads(sys.argv[1])
# Ends a client that hangs; a busy machine does not reach it.
TIMEOUT_SECONDS = 300
ISLES = "isles_en_all_2026-01"
ARTICLE_URI = f"zim://{ISLES}/entry/Ravenport"
IMAGE_URI = "zim://towns/entry/maps%2Fravenport.png"
SEARCH = ("zim_search", {"query": "Ravenport", "zim_file_path": ISLES})
QUESTION = ("zim_query", {"query": "When was Ravenport founded?"})
INVALID_CALL = ("zim_browse", {"namespce": "C"})
THREE_ENTRIES = ("zim_get", {"zim_file_path": ISLES, "entry_paths": ["Ravenport", "Alderwick", "Herring"]})
VERIFY = ("zim_health", {"zim_file_path": "slow"})


def server_parameters(mode: str) -> dict[str, Any]:
    """Return how to reach a server: its `url` and `headers`, or the `command`, `args` and `env` that start it."""
    parameters: dict[str, Any] = CONFIG["servers"][mode]
    return parameters


def put_archive(name: str) -> None:
    """Move a staged archive to the served directory."""
    os.replace(f"{CONFIG['staged']}/{name}.zim", f"{CONFIG['directory']}/{name}.zim")


def first_path(text: str) -> str:
    """Return the path of the first search result."""
    return str(json.loads(text)["results"][0]["path"])


def operation(text: str) -> str:
    """Return the `operation` code of a tool's error."""
    return str(json.loads(text)["operation"])


def title(overview: str) -> str:
    """Return an archive's title from its overview."""
    return str(json.loads(overview)["metadata"]["Title"])


def decode(blob: str) -> str:
    """Return the content of a resource that was sent in base64."""
    return base64.b64decode(blob).decode()


def has_answer(text: str) -> bool:
    """Whether a text has the answer to `QUESTION`."""
    return "1743" in text


async def not_found_code(read_resource: Callable[[str], Awaitable[Any]]) -> int:
    """Return the code of the error for an unknown archive."""
    try:
        await read_resource("zim://nope")
    except Exception as error:  # noqa: BLE001  each client has its own class
        return int(getattr(error, "error", error).code)
    return 0


def report(**values: Any) -> None:
    """Print what the client has seen."""
    print(json.dumps(values))  # noqa: T201
