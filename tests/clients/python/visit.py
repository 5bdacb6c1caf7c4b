"""What the Python clients share: where the server is, what lies on its shelf, and the report of what was seen."""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

VISIT: dict[str, Any] = json.loads(sys.argv[1])
ISLES = "isles_en_all_2026-01"
ARTICLE = f"zim://{ISLES}/entry/Ravenport"
PICTURE = "zim://towns/entry/maps%2Fravenport.png"
SEARCH = ("zim_search", {"query": "Ravenport", "zim_file_path": ISLES})
QUESTION = ("zim_query", {"query": "When was Ravenport founded?"})
MISTAKE = ("zim_browse", {"namespce": "C"})
SEVERAL = ("zim_get", {"zim_file_path": ISLES, "entry_paths": ["Ravenport", "Alderwick", "Herring"]})
VERIFY = ("zim_health", {"zim_file_path": "slow"})


def place(mode: str) -> dict[str, Any]:
    """Return where a server in this mode is: its `url` and `headers`, or what starts it, `command`, `args` and `env`."""
    found: dict[str, Any] = VISIT["servers"][mode]
    return found


def put(name: str) -> None:
    """Move an archive that was kept aside onto the shelf."""
    os.replace(f"{VISIT['spare']}/{name}.zim", f"{VISIT['shelf']}/{name}.zim")


def best(text: str) -> str:
    """Return the path of the first result of a search."""
    return str(json.loads(text)["results"][0]["path"])


def operation(text: str) -> str:
    """Return the kind of an error."""
    return str(json.loads(text)["operation"])


def title(overview: str) -> str:
    """Return an archive's title from its overview."""
    return str(json.loads(overview)["metadata"]["Title"])


def decoded(blob: str) -> str:
    """Return what a blob holds."""
    return base64.b64decode(blob).decode()


def founded(text: str) -> bool:
    """Say whether an answer holds what was asked for."""
    return "1743" in text


async def refusal(read: Callable[[str], Awaitable[Any]]) -> int:
    """Return the code of the error that reading an unknown archive gets."""
    try:
        await read("zim://nope")
    except Exception as error:  # noqa: BLE001  each client has its own class
        return int(getattr(error, "error", error).code)
    return 0


def report(**seen: Any) -> None:
    """Print what was seen."""
    print(json.dumps(seen))  # noqa: T201
