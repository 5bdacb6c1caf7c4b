"""Edit one block of a YAML file: every other line stays as it is.

Only block mappings are supported: a top-level name with indented blocks below it.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from openzim_mcp.cli.jsonc import JsonValue

_INDENT = "  "


class UnsupportedYaml(ValueError):
    """The YAML is not in block form."""


class _Mapping(NamedTuple):
    """A top-level mapping: its line, the line after its last, and the indentation of its names."""

    start: int
    end: int
    indent: int


def _indent_width(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _block_end(lines: list[str], start: int) -> int:
    """Return the line after a block; blank lines and comments at its end are not part of it."""
    end = start + 1
    for number in range(start + 1, len(lines)):
        if _has_content(lines[number]):
            same_indent = _indent_width(lines[number]) == _indent_width(lines[start])
            is_list_item = same_indent and lines[number].lstrip().startswith("- ")
            if _indent_width(lines[number]) <= _indent_width(lines[start]) and not is_list_item:
                break
            end = number + 1
    return end


def _find_line(lines: list[str], name: str, start: int, end: int, indent: int) -> int | None:
    """Return the line of a name with this indentation."""
    pattern = re.compile(rf" {{{indent}}}(?:{re.escape(name)}|{re.escape(json.dumps(name))}|'{re.escape(name)}')\s*:")
    return next((number for number in range(start, end) if pattern.match(lines[number])), None)


def _block_lines(name: str, value: JsonValue, indent: int) -> list[str]:
    """Return a value as lines; strings are quoted as in JSON, which is valid YAML."""
    space = " " * indent
    if isinstance(value, dict) and value:
        children = [line for key, child in value.items() for line in _block_lines(key, child, indent + len(_INDENT))]
        return [f"{space}{name}:\n", *children]
    if isinstance(value, list) and value:
        return [f"{space}{name}:\n", *(f"{space}- {json.dumps(item, ensure_ascii=False)}\n" for item in value)]
    return [f"{space}{name}: {json.dumps(value, ensure_ascii=False)}\n"]


def _find_mapping(lines: list[str], name: str) -> _Mapping | None:
    start = _find_line(lines, name, 0, len(lines), 0)
    if start is None:
        return None
    inline_value = lines[start].partition(":")[2].partition("#")[0].strip()
    if inline_value not in {"", "{}"}:
        raise UnsupportedYaml(f"{name} is written in one line")
    end = _block_end(lines, start)
    first = next((line for line in lines[start + 1 : end] if _has_content(line)), _INDENT)
    if "\t" in first[: _indent_width(first) + 1] or first.lstrip().startswith("- "):
        raise UnsupportedYaml(f"{name} is not a block of names")
    return _Mapping(start, end, _indent_width(first) or len(_INDENT))


def find_block(text: str, path: tuple[str, str]) -> list[str] | None:
    """Return the lines of a block below a top-level name, or None."""
    lines = text.splitlines(keepends=True)
    mapping = _find_mapping(lines, path[0])
    start = _find_line(lines, path[1], mapping.start + 1, mapping.end, mapping.indent) if mapping else None
    return None if start is None else lines[start : _block_end(lines, start)]


def set_block(text: str, path: tuple[str, str], value: JsonValue) -> str:
    """Return the text with a block below a top-level name: replaced, or added as the last block."""
    lines = text.splitlines(keepends=True)
    if lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    mapping = _find_mapping(lines, path[0])
    if mapping is None:
        return "".join([*lines, f"{path[0]}:\n", *_block_lines(path[1], value, len(_INDENT))])
    lines[mapping.start] = re.sub(r":\s*\{\}", ":", lines[mapping.start], count=1)
    start = _find_line(lines, path[1], mapping.start + 1, mapping.end, mapping.indent)
    start, end = (mapping.end, mapping.end) if start is None else (start, _block_end(lines, start))
    return "".join([*lines[:start], *_block_lines(path[1], value, mapping.indent), *lines[end:]])


def remove_block(text: str, path: tuple[str, str]) -> str:
    """Return the text without a block below a top-level name, if it has one."""
    lines = text.splitlines(keepends=True)
    mapping = _find_mapping(lines, path[0])
    start = _find_line(lines, path[1], mapping.start + 1, mapping.end, mapping.indent) if mapping else None
    if mapping is None or start is None:
        return text
    del lines[start : _block_end(lines, start)]
    if _block_end(lines, mapping.start) == mapping.start + 1:
        name = re.escape(path[0])
        lines[mapping.start] = re.sub(rf"^{name}\s*:", f"{path[0]}: {{}}", lines[mapping.start], count=1)
    return "".join(lines)
