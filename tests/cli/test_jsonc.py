from __future__ import annotations

import json
import random

import pytest

from openzim_mcp.cli import jsonc

PATH = ("mcpServers", "zim")
VALUE = {"command": "openzim-mcp", "args": ["/zims"]}
MEMBER = '"zim": {\n      "command": "openzim-mcp",\n      "args": [\n        "/zims"\n      ]\n    }'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f'{{\n  "mcpServers": {{\n    {MEMBER}\n  }}\n}}\n'),
        ("{}", f'{{\n  "mcpServers": {{\n    {MEMBER}\n  }}\n}}'),
        ('{\n  "mcpServers": {}\n}\n', f'{{\n  "mcpServers": {{\n    {MEMBER}\n  }}\n}}\n'),
        (
            '{\n  "mcpServers": {\n    "a": {} // first\n    // last\n  }\n}',
            f'{{\n  "mcpServers": {{\n    "a": {{}}, // first\n    // last\n    {MEMBER}\n  }}\n}}',
        ),
        (
            '{\n  "mcpServers": {\n    "a": {},\n  },\n}',
            f'{{\n  "mcpServers": {{\n    "a": {{}},\n    {MEMBER},\n  }},\n}}',
        ),
        (
            '{"mcpServers": {"a": 1}}',
            '{"mcpServers": {"a": 1, "zim": {"command": "openzim-mcp", "args": ["/zims"]}}}',
        ),
        (
            '{\n  "z": 1, /* } */\n  "mcpServers": {\n    "zim": "old", // mine\n    "b": 2\n  }\n}',
            f'{{\n  "z": 1, /* }} */\n  "mcpServers": {{\n    {MEMBER}, // mine\n    "b": 2\n  }}\n}}',
        ),
    ],
)
def test_set_member_changes_nothing_else(before: str, after: str) -> None:
    assert jsonc.set_member(before, PATH, VALUE) == after
    assert jsonc.parse_object(after)["mcpServers"]["zim"] == VALUE


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
def test_remove_member_undoes_set_member(text: str) -> None:
    assert jsonc.remove_member(jsonc.set_member(text, PATH, VALUE), PATH) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('{"m": {"a": 1, "b": 2}}', '{"m": {"b": 2}}'),
        ('{\n  "m": {\n    "a": 1,\n    "b": 2 // two\n  }\n}', '{\n  "m": {\n    "b": 2 // two\n  }\n}'),
        ('{"m": {"b": 2}}', '{"m": {"b": 2}}'),
        ("{}", "{}"),
    ],
)
def test_remove_member_ignores_a_missing_member(before: str, after: str) -> None:
    assert jsonc.remove_member(before, ("m", "a")) == after


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": }', "line 1: a value is expected"),
        ('{\n"a": 1\n"b": 2}', "line 3: a comma or a closing bracket is expected"),
        ("{a: 1}", "line 1: a name in quotes is expected"),
        ('{"a": 1} x', "line 1: the end of the file is expected"),
        ('{"mcpServers": []}', "mcpServers is not an object"),
        ("[]", "the top level is not an object"),
        ('{"a": ' + "[" * 300, "line 1: less nesting is expected"),
    ],
)
def test_invalid_json_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(jsonc.NotJson) as caught:
        jsonc.set_member(text, PATH, VALUE)

    assert str(caught.value) == message


def test_random_documents_keep_their_other_values() -> None:
    generator = random.Random(7)

    def random_value(depth: int) -> object:
        if depth and generator.random() < 0.6:
            return {generator.choice("abcdef"): random_value(depth - 1) for _ in range(generator.randrange(4))}
        return generator.choice([1, -2.5e3, 'é\\"//', None, True, [], [1, {"x": "}"}], {}])

    for _ in range(300):
        document = (
            {"a": random_value(3), "mcpServers": {"b": random_value(2)}}
            if generator.random() < 0.7
            else {"a": random_value(3)}
        )
        text = json.dumps(document, indent=generator.choice([None, 2, 4, "\t"]), ensure_ascii=generator.random() < 0.5)
        changed = jsonc.set_member(text, PATH, VALUE)
        expected = document | {"mcpServers": document.get("mcpServers", {}) | {"zim": VALUE}}  # type: ignore[operator]

        assert json.loads(changed) == jsonc.parse_object(changed) == expected
        assert json.loads(jsonc.remove_member(changed, PATH)) == document | {
            "mcpServers": document.get("mcpServers", {})
        }
