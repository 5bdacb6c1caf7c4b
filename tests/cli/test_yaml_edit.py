from __future__ import annotations

import pytest

from openzim_mcp.cli import yaml_edit

PATH = ("extensions", "zim")
VALUE = {"enabled": True, "cmd": "C:\\zim", "args": ["--mode", "simple"], "envs": {}}
BLOCK = '  zim:\n    enabled: true\n    cmd: "C:\\\\zim"\n    args:\n    - "--mode"\n    - "simple"\n    envs: {}\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"extensions:\n{BLOCK}"),
        ("MODEL: x # best", f"MODEL: x # best\nextensions:\n{BLOCK}"),
        ("extensions: {} # none\nMODEL: x\n", f"extensions: # none\n{BLOCK}MODEL: x\n"),
        (
            "extensions:\n  dev:\n    args:\n    - a\n\n# end\nMODEL: x\n",
            f"extensions:\n  dev:\n    args:\n    - a\n{BLOCK}\n# end\nMODEL: x\n",
        ),
        ("extensions:\n  zim:\n    cmd: old\n  b:\n    x: 1\n", f"extensions:\n{BLOCK}  b:\n    x: 1\n"),
    ],
)
def test_set_block_changes_nothing_else(before: str, after: str) -> None:
    assert yaml_edit.set_block(before, PATH, VALUE) == after


@pytest.mark.parametrize("text", ["extensions:\n  dev:\n    a: 1\n\n# c\nb: 2\n", "extensions: {}\nb: 2\n"])
def test_remove_block_undoes_set_block(text: str) -> None:
    assert yaml_edit.remove_block(yaml_edit.set_block(text, PATH, VALUE), PATH) == text


def test_block_has_the_indentation_of_the_file() -> None:
    assert yaml_edit.set_block("extensions:\n    dev:\n        a: 1\n", PATH, {"b": 1}).endswith(
        "    zim:\n      b: 1\n"
    )


@pytest.mark.parametrize("text", ["extensions: {dev: {a: 1}}\n", "extensions:\n  - dev\n", "extensions: &x\n"])
def test_unsupported_yaml_is_refused(text: str) -> None:
    with pytest.raises(yaml_edit.UnsupportedYaml):
        yaml_edit.set_block(text, PATH, VALUE)
