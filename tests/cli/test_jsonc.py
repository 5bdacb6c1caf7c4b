from __future__ import annotations

import json
import random

import pytest

from openzim_mcp.cli import jsonc

PATH = ("mcpServers", "zim")
VALUE = {"command": "openzim-mcp", "args": ["/zims"]}
NEW = '"zim": {\n      "command": "openzim-mcp",\n      "args": [\n        "/zims"\n      ]\n    }'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f'{{\n  "mcpServers": {{\n    {NEW}\n  }}\n}}\n'),
        ("{}", f'{{\n  "mcpServers": {{\n    {NEW}\n  }}\n}}'),
        ('{\n  "mcpServers": {}\n}\n', f'{{\n  "mcpServers": {{\n    {NEW}\n  }}\n}}\n'),
        (
            '{\n  "mcpServers": {\n    "a": {} // first\n    // last\n  }\n}',
            f'{{\n  "mcpServers": {{\n    "a": {{}}, // first\n    // last\n    {NEW}\n  }}\n}}',
        ),
        (
            '{\n  "mcpServers": {\n    "a": {},\n  },\n}',
            f'{{\n  "mcpServers": {{\n    "a": {{}},\n    {NEW},\n  }},\n}}',
        ),
        (
            '{"mcpServers": {"a": 1}}',
            '{"mcpServers": {"a": 1, "zim": {"command": "openzim-mcp", "args": ["/zims"]}}}',
        ),
        (
            '{\n  "z": 1, /* } */\n  "mcpServers": {\n    "zim": "old", // mine\n    "b": 2\n  }\n}',
            f'{{\n  "z": 1, /* }} */\n  "mcpServers": {{\n    {NEW}, // mine\n    "b": 2\n  }}\n}}',
        ),
    ],
)
def test_a_member_is_put_where_it_belongs_and_all_else_stays(before: str, after: str) -> None:
    assert jsonc.put(before, PATH, VALUE) == after
    assert jsonc.loads(after)["mcpServers"]["zim"] == VALUE


@pytest.mark.parametrize(
    "text",
    [
        '{\n  "mcpServers": {\n    "a": {} // first\n    // last\n  }\n}',
        '{\n  "mcpServers": {\n    "a": {},\n  },\n}',
        '{"mcpServers": {"a": 1}}',
        '{\n\t"other": [1, 2],\n\t"mcpServers": {\n\t\t"a": 1\n\t}\n}\n',
        '\ufeff{\r\n  "mcpServers": {\r\n    "a": 1\r\n  }\r\n}\r\n',
        '{\n  "mcpServers": {}\n}\n',
    ],
)
def test_what_was_put_can_be_dropped_without_a_trace(text: str) -> None:
    assert jsonc.drop(jsonc.put(text, PATH, VALUE), PATH) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"m": {"a": 1, "b": 2}}', '{"m": {"b": 2}}'),
        ('{\n  "m": {\n    "a": 1,\n    "b": 2 // two\n  }\n}', '{\n  "m": {\n    "b": 2 // two\n  }\n}'),
        ('{"m": {"b": 2}}', '{"m": {"b": 2}}'),
        ("{}", "{}"),
    ],
)
def test_a_member_is_dropped_if_it_is_there(before: str, after: str) -> None:
    assert jsonc.drop(before, ("m", "a")) == after


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": }', "line 1: a value is expected"),
        ('{\n"a": 1\n"b": 2}', "line 3: a comma or a closing bracket is expected"),
        ("{a: 1}", "line 1: a name in quotes is expected"),
        ('{"a": 1} x', "line 1: the end of the file is expected"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ("[]", "the whole is not an object"),
        ('{"a": ' + "[" * 300, "line 1: less nesting is expected"),
    ],
)
def test_what_is_not_json_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(jsonc.NotJson) as refused:
        jsonc.put(text, PATH, VALUE)

    assert str(refused.value) == message


def test_any_document_keeps_its_other_values() -> None:
    chance = random.Random(7)

    def some(depth: int) -> object:
        if depth and chance.random() < 0.6:
            return {chance.choice("abcdef"): some(depth - 1) for _ in range(chance.randrange(4))}
        return chance.choice([1, -2.5e3, 'é\\"//', None, True, [], [1, {"x": "}"}], {}])

    for _ in range(300):
        whole = {"a": some(3), "mcpServers": {"b": some(2)}} if chance.random() < 0.7 else {"a": some(3)}
        text = json.dumps(whole, indent=chance.choice([None, 2, 4, "\t"]), ensure_ascii=chance.random() < 0.5)
        put = jsonc.put(text, PATH, VALUE)
        expected = whole | {"mcpServers": whole.get("mcpServers", {}) | {"zim": VALUE}}  # type: ignore[operator]

        assert json.loads(put) == jsonc.loads(put) == expected
        assert json.loads(jsonc.drop(put, PATH)) == whole | {"mcpServers": whole.get("mcpServers", {})}
