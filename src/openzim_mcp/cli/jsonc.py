"""Editing JSON that people wrote: comments, order, indentation and trailing commas stay as they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_LITERAL = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_BOM = "\ufeff"
_DEPTH = 200


class NotJson(ValueError):
    """The text is not JSON, nor JSON with comments; the message says where."""


@dataclass
class _Node:
    """A value: where it stands, and its members if it is an object."""

    start: int
    end: int
    value: Any
    members: dict[str, tuple[int, _Node]] = field(default_factory=dict)
    """Where the key of each stands, and its value."""
    trailing_comma: int | None = None


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def fail(self, at: int, expected: str) -> NotJson:
        line = self.text.count("\n", 0, at) + 1
        return NotJson(f"line {line}: {expected} is expected")

    def skip(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        assert found is not None
        return found.end()

    def root(self) -> _Node:
        node = self.value(self.skip(0), 0)
        if (end := self.skip(node.end)) != len(self.text):
            raise self.fail(end, "the end of the file")
        return node

    def value(self, at: int, depth: int) -> _Node:
        if depth > _DEPTH:
            raise self.fail(at, "less nesting")
        if self.text[at : at + 1] in ("{", "["):
            return self.container(at, depth)
        for pattern in (_STRING, _LITERAL):
            if found := pattern.match(self.text, at):
                try:
                    return _Node(at, found.end(), json.loads(found[0]))
                except ValueError:
                    break
        raise self.fail(at, "a value")

    def container(self, at: int, depth: int) -> _Node:
        is_object = self.text[at] == "{"
        node = _Node(at, at, {} if is_object else [])
        here = self.skip(at + 1)
        while self.text[here : here + 1] != ("}" if is_object else "]"):
            key_at = here
            if is_object:
                key, here = self.key(here)
            child = self.value(here, depth + 1)
            if is_object:
                node.members[key] = (key_at, child)
                node.value[key] = child.value
            else:
                node.value.append(child.value)
            here = self.skip(child.end)
            node.trailing_comma = here if self.text[here : here + 1] == "," else None
            if node.trailing_comma is None:
                break
            here = self.skip(here + 1)
        if self.text[here : here + 1] != ("}" if is_object else "]"):
            raise self.fail(here, "a comma or a closing bracket")
        node.end = here + 1
        return node

    def key(self, at: int) -> tuple[str, int]:
        found = _STRING.match(self.text, at)
        if not found:
            raise self.fail(at, "a name in quotes")
        colon = self.skip(found.end())
        if self.text[colon : colon + 1] != ":":
            raise self.fail(colon, "a colon")
        return json.loads(found[0]), self.skip(colon + 1)


def _parse(text: str) -> _Node:
    return _Reader(text).root()


def loads(text: str) -> Any:
    """Return the value of a text; an empty one is an empty object."""
    bare = text.removeprefix(_BOM)
    return _parse(bare).value if bare[_Reader(bare).skip(0) :] else {}


def _line_indent(text: str, at: int) -> str:
    """Return the indentation of the line that a place is in."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _dump(value: Any, indent: str, unit: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{indent}")


def put(text: str, path: tuple[str, ...], value: Any) -> str:
    """Return the text with a member at a path of names, added as the last one or put in the place of the old."""
    eol = "\r\n" if "\r\n" in text else "\n"
    bom = _BOM if text.startswith(_BOM) else ""
    plain = text.removeprefix(_BOM).replace("\r\n", "\n")
    if not plain[_Reader(plain).skip(0) :]:
        plain = f"{plain}{{}}\n"
    return bom + _put(plain, _parse(plain), path, value).replace("\n", eol)


def _put(text: str, root: _Node, path: tuple[str, ...], value: Any) -> str:
    unit = next((_line_indent(text, at) for at, _ in root.members.values()), "") or "  "
    node = root
    for number, name in enumerate(path):
        if not isinstance(node.value, dict):
            raise NotJson(f"{'.'.join(path[:number]) or 'the whole'} is not an object")
        if name not in node.members:
            for below in reversed(path[number + 1 :]):
                value = {below: value}
            return _append(text, node, name, value, unit)
        node = node.members[name][1]
    return text[: node.start] + _dump(value, _line_indent(text, node.start), unit) + text[node.end :]


def _append(text: str, node: _Node, name: str, value: Any, unit: str) -> str:
    """Add a last member below whatever stands before the closing bracket."""
    inside = text[node.start + 1 : node.end - 1]
    if node.members and "\n" not in inside:
        body = inside.rstrip().removesuffix(",")
        new = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        return f"{text[: node.start + 1]}{body}, {new}{inside[len(inside.rstrip()) :]}{text[node.end - 1 :]}"
    outer = _line_indent(text, node.start)
    first = next(iter(node.members.values()), None)
    indent = _line_indent(text, first[0]) if first else outer + unit
    kept = inside.rstrip()
    if node.members and node.trailing_comma is None:
        last = list(node.members.values())[-1][1].end - node.start - 1
        kept = f"{kept[:last]},{kept[last:]}"
    comma = "," if node.trailing_comma is not None else ""
    new = f"\n{indent}{json.dumps(name)}: {_dump(value, indent, unit)}{comma}\n{outer}"
    return text[: node.start + 1] + kept + new + text[node.end - 1 :]


def drop(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the member at a path of names, which need not be there."""
    eol = "\r\n" if "\r\n" in text else "\n"
    bom = _BOM if text.startswith(_BOM) else ""
    plain = text.removeprefix(_BOM).replace("\r\n", "\n")
    node = _parse(plain)
    for name in path[:-1]:
        if name not in node.members:
            return text
        node = node.members[name][1]
    if path[-1] not in node.members:
        return text
    return bom + _drop(plain, node, path[-1]).replace("\n", eol)


def _drop(text: str, node: _Node, name: str) -> str:
    names = list(node.members)
    number = names.index(name)
    at, child = node.members[name]
    start, end = at, child.end
    reader = _Reader(text)
    has_comma = text[reader.skip(end) : reader.skip(end) + 1] == ","
    if has_comma:
        end = reader.skip(end) + 1
    start -= len(text[:start]) - len(text[:start].rstrip(" \t"))
    if text[start - 1 : start] == "\n":
        start -= 1
    elif number == 0 and has_comma:
        end += len(text[end:]) - len(text[end:].lstrip(" "))
    if number == len(names) - 1 and number and not has_comma:
        before = node.members[names[number - 1]][1].end
        comma = reader.skip(before)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    if len(names) == 1 and not text[node.start + 1 : start].strip() and not text[end : node.end - 1].strip():
        start, end = node.start + 1, node.end - 1
    return text[:start] + text[end:]
