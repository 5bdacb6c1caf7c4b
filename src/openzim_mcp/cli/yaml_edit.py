"""Editing one block of a YAML file that people wrote: every other line stays as it is.

Only what such files look like is understood: a top-level name with indented blocks below it.
"""

from __future__ import annotations

import json
import re
from typing import Any

_UNIT = "  "


class NotABlock(ValueError):
    """The file has another form than is understood."""


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _is_text(line: str) -> bool:
    """Whether a line has more than space or a comment."""
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _end(lines: list[str], start: int) -> int:
    """Return where the block below a line ends; blank lines and comments after it are not part of it."""
    end = start + 1
    for number in range(start + 1, len(lines)):
        if _is_text(lines[number]):
            is_list = _indent(lines[number]) == _indent(lines[start]) and lines[number].lstrip().startswith("- ")
            if _indent(lines[number]) <= _indent(lines[start]) and not is_list:
                break
            end = number + 1
    return end


def _find(lines: list[str], name: str, start: int, end: int, indent: int) -> int | None:
    wanted = re.compile(rf" {{{indent}}}(?:{re.escape(name)}|{re.escape(json.dumps(name))}|'{re.escape(name)}')\s*:")
    return next((number for number in range(start, end) if wanted.match(lines[number])), None)


def _block(name: str, value: Any, indent: int) -> list[str]:
    """Return a value as lines; texts are quoted as in JSON, which YAML reads too."""
    space = " " * indent
    if isinstance(value, dict) and value:
        below = [line for key, child in value.items() for line in _block(key, child, indent + len(_UNIT))]
        return [f"{space}{name}:\n", *below]
    if isinstance(value, list) and value:
        return [f"{space}{name}:\n", *(f"{space}- {json.dumps(item, ensure_ascii=False)}\n" for item in value)]
    return [f"{space}{name}: {json.dumps(value, ensure_ascii=False)}\n"]


def _place(lines: list[str], top: str) -> tuple[int, int, int] | None:
    """Return the line of a top-level name, the end of what is below it, and how that is indented."""
    start = _find(lines, top, 0, len(lines), 0)
    if start is None:
        return None
    rest = lines[start].partition(":")[2].partition("#")[0].strip()
    if rest not in {"", "{}"}:
        raise NotABlock(f"{top} is written in one line")
    end = _end(lines, start)
    first = next((line for line in lines[start + 1 : end] if _is_text(line)), _UNIT)
    if "\t" in first[: _indent(first) + 1] or first.lstrip().startswith("- "):
        raise NotABlock(f"{top} is not a block of names")
    return start, end, _indent(first) or len(_UNIT)


def get(text: str, path: tuple[str, str]) -> list[str] | None:
    """Return the lines of a block, or None."""
    lines = text.splitlines(keepends=True)
    place = _place(lines, path[0])
    found = _find(lines, path[1], place[0] + 1, place[1], place[2]) if place else None
    return None if found is None else lines[found : _end(lines, found)]


def put(text: str, path: tuple[str, str], value: Any) -> str:
    """Return the text with a block below a top-level name, as the last one or in the place of the old."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    place = _place(lines, path[0])
    if place is None:
        return "".join([*lines, f"{path[0]}:\n", *_block(path[1], value, len(_UNIT))])
    start, end, indent = place
    lines[start] = re.sub(r":\s*\{\}", ":", lines[start], count=1)
    old = _find(lines, path[1], start + 1, end, indent)
    first, last = (end, end) if old is None else (old, _end(lines, old))
    return "".join([*lines[:first], *_block(path[1], value, indent), *lines[last:]])


def drop(text: str, path: tuple[str, str]) -> str:
    """Return the text without a block."""
    lines = text.splitlines(keepends=True)
    place = _place(lines, path[0])
    old = _find(lines, path[1], place[0] + 1, place[1], place[2]) if place else None
    if place is None or old is None:
        return text
    del lines[old : _end(lines, old)]
    if _end(lines, place[0]) == place[0] + 1:
        lines[place[0]] = re.sub(rf"^{re.escape(path[0])}\s*:", f"{path[0]}: {{}}", lines[place[0]], count=1)
    return "".join(lines)
