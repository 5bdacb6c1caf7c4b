"""Edit JSON with comments: comments, order, indentation and trailing commas stay as they are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

JsonValue: TypeAlias = "dict[str, JsonValue] | list[JsonValue] | str | int | float | bool | None"

_SPACE_OR_COMMENTS = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_LITERAL = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
_BYTE_ORDER_MARK = "\ufeff"
_MAX_DEPTH = 200


class NotJson(ValueError):
    """The text is not JSON with comments; the message names the line."""


class _Member(NamedTuple):
    key_start: int
    node: _Node


@dataclass
class _Node:
    """A value, where it starts and ends in the text, and the members of an object."""

    start: int
    end: int
    value: JsonValue
    members: dict[str, _Member] = field(default_factory=dict)
    trailing_comma: int | None = None


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text

    def error(self, position: int, expected: str) -> NotJson:
        line = self.text.count("\n", 0, position) + 1
        return NotJson(f"line {line}: {expected} is expected")

    def character(self, position: int) -> str:
        return self.text[position : position + 1]

    def skip_space(self, position: int) -> int:
        match = _SPACE_OR_COMMENTS.match(self.text, position)
        assert match is not None
        return match.end()

    def parse_document(self) -> _Node:
        node = self.parse_value(self.skip_space(0), 0)
        if (end := self.skip_space(node.end)) != len(self.text):
            raise self.error(end, "the end of the file")
        return node

    def parse_value(self, start: int, depth: int) -> _Node:
        if depth > _MAX_DEPTH:
            raise self.error(start, "less nesting")
        if self.character(start) in ("{", "["):
            return self.parse_container(start, depth)
        for pattern in (_STRING, _LITERAL):
            if match := pattern.match(self.text, start):
                try:
                    return _Node(start, match.end(), json.loads(match[0]))
                except ValueError:
                    break
        raise self.error(start, "a value")

    def parse_container(self, start: int, depth: int) -> _Node:
        is_object = self.text[start] == "{"
        closing = "}" if is_object else "]"
        node = _Node(start, start, None)
        items: list[JsonValue] = []
        position = self.skip_space(start + 1)
        while self.character(position) != closing:
            key_start, key = position, ""
            if is_object:
                key, position = self.parse_key(position)
            child = self.parse_value(position, depth + 1)
            items.append(child.value)
            if is_object:
                node.members[key] = _Member(key_start, child)
            position = self.skip_space(child.end)
            node.trailing_comma = position if self.character(position) == "," else None
            if node.trailing_comma is None:
                break
            position = self.skip_space(position + 1)
        if self.character(position) != closing:
            raise self.error(position, "a comma or a closing bracket")
        node.value = {key: member.node.value for key, member in node.members.items()} if is_object else items
        node.end = position + 1
        return node

    def parse_key(self, start: int) -> tuple[str, int]:
        match = _STRING.match(self.text, start)
        if not match:
            raise self.error(start, "a name in quotes")
        colon = self.skip_space(match.end())
        if self.character(colon) != ":":
            raise self.error(colon, "a colon")
        return json.loads(match[0]), self.skip_space(colon + 1)


def _is_blank(text: str) -> bool:
    """Return whether a text has only space and comments."""
    return _Parser(text).skip_space(0) == len(text)


def parse_object(text: str) -> dict[str, JsonValue]:
    """Return the object that a text contains; a blank text is an empty object."""
    text = text.removeprefix(_BYTE_ORDER_MARK)
    value = {} if _is_blank(text) else _Parser(text).parse_document().value
    if not isinstance(value, dict):
        raise NotJson("the top level is not an object")
    return value


def _indent_at(text: str, position: int) -> str:
    """Return the indentation of the line with this position."""
    line_start = text[text.rfind("\n", 0, position) + 1 : position]
    return line_start[: len(line_start) - len(line_start.lstrip())]


def _dump_indented(value: JsonValue, indent: str, unit: str) -> str:
    return json.dumps(value, indent=unit, ensure_ascii=False).replace("\n", f"\n{indent}")


def set_member(text: str, path: tuple[str, ...], value: JsonValue) -> str:
    """Return the text with a member at a path of names: replaced, or added as the last member."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    plain = text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n")
    if _is_blank(plain):
        plain = f"{plain}{{}}\n"
    return mark + _set_member(plain, _Parser(plain).parse_document(), path, value).replace("\n", line_end)


def _set_member(text: str, root: _Node, path: tuple[str, ...], value: JsonValue) -> str:
    unit = next((_indent_at(text, member.key_start) for member in root.members.values()), "") or "  "
    node = root
    for depth, name in enumerate(path):
        if not isinstance(node.value, dict):
            raise NotJson(f"{'.'.join(path[:depth]) or 'the top level'} is not an object")
        if name not in node.members:
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return _append_member(text, node, name, value, unit)
        node = node.members[name].node
    return text[: node.start] + _dump_indented(value, _indent_at(text, node.start), unit) + text[node.end :]


def _append_member(text: str, node: _Node, name: str, value: JsonValue, unit: str) -> str:
    """Add a last member, after any comments before the closing bracket."""
    body = text[node.start + 1 : node.end - 1]
    content = body.rstrip()
    before, after = text[: node.start + 1], text[node.end - 1 :]
    if node.members and "\n" not in body:
        member = f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}"
        return f"{before}{content.removesuffix(',')}, {member}{body[len(content) :]}{after}"
    outer_indent = _indent_at(text, node.start)
    first = next(iter(node.members.values()), None)
    indent = _indent_at(text, first.key_start) if first else outer_indent + unit
    if node.members and node.trailing_comma is None:
        last_end = list(node.members.values())[-1].node.end - node.start - 1
        content = f"{content[:last_end]},{content[last_end:]}"
    comma = "," if node.trailing_comma is not None else ""
    member = f"\n{indent}{json.dumps(name)}: {_dump_indented(value, indent, unit)}{comma}\n{outer_indent}"
    return before + content + member + after


def remove_member(text: str, path: tuple[str, ...]) -> str:
    """Return the text without the member at a path of names, if it has one."""
    line_end = "\r\n" if "\r\n" in text else "\n"
    mark = _BYTE_ORDER_MARK if text.startswith(_BYTE_ORDER_MARK) else ""
    plain = text.removeprefix(_BYTE_ORDER_MARK).replace("\r\n", "\n")
    node = _Parser(plain).parse_document()
    for name in path[:-1]:
        if name not in node.members:
            return text
        node = node.members[name].node
    if path[-1] not in node.members:
        return text
    return mark + _remove_member(plain, node, path[-1]).replace("\n", line_end)


def _remove_member(text: str, node: _Node, name: str) -> str:
    names = list(node.members)
    index = names.index(name)
    start, end = node.members[name].key_start, node.members[name].node.end
    parser = _Parser(text)
    has_comma = parser.character(parser.skip_space(end)) == ","
    if has_comma:
        end = parser.skip_space(end) + 1
    start -= len(text[:start]) - len(text[:start].rstrip(" \t"))
    if text[start - 1 : start] == "\n":
        start -= 1
    elif index == 0 and has_comma:
        end += len(text[end:]) - len(text[end:].lstrip(" "))
    if index == len(names) - 1 and index and not has_comma:
        comma = parser.skip_space(node.members[names[index - 1]].node.end)
        return text[:comma] + text[comma + 1 : start] + text[end:]
    if len(names) == 1 and not text[node.start + 1 : start].strip() and not text[end : node.end - 1].strip():
        start, end = node.start + 1, node.end - 1
    return text[:start] + text[end:]
