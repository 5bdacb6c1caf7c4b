"""The docs are true: their tables are generated from the code, and their examples run."""

from __future__ import annotations

import doctest
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import docs as generator
import pytest

from openzim_mcp import __version__, config
from openzim_mcp.cli.registry import COMMANDS_BY_NAME
from support.stdio_server import StdioServer

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
EXAMPLES = re.findall(r"```call\n(\w+) (.*)\n```", (ROOT / "docs" / "tools.md").read_text(encoding="utf-8"))


@pytest.mark.skipif(os.name != "posix", reason="the docs show paths and terminals of POSIX systems")
@pytest.mark.parametrize("page", generator.PAGES, ids=lambda page: page.name)
def test_generated_parts_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert generator.render(text) == text, "run `make handbook`"


@pytest.fixture(scope="module")
def server() -> Iterator[StdioServer]:
    with StdioServer("--mode", "advanced") as server:
        yield server


@pytest.mark.parametrize(("tool", "arguments"), EXAMPLES)
def test_examples_run(server: StdioServer, tool: str, arguments: str) -> None:
    result = server.request("tools/call", {"name": tool, "arguments": json.loads(arguments)})

    assert not result.get("isError")


def test_every_tool_has_an_example() -> None:
    from openzim_mcp.protocol.tools import offered_tools

    assert {tool for tool, _ in EXAMPLES} == {tool.name for tool in offered_tools("advanced")}


@pytest.mark.parametrize("page", generator.PAGES, ids=lambda page: page.name)
def test_links_between_pages_have_targets(page: Path) -> None:
    targets = re.findall(r"\]\(([\w./-]+?)(?:#[\w-]*)?\)", page.read_text(encoding="utf-8"))

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_setting_and_command_is_documented() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)

    assert [name for name in config.environment_variables() if f"`{name}`" not in text] == []
    assert [name for name in COMMANDS_BY_NAME if f"`{name}`" not in text] == []


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) < 150


def test_changelog_mentions_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert "## Unreleased" in text or f"## {__version__}" in text


def test_python_examples_print_what_they_show(isles_zim: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "zims").mkdir()
    os.link(isles_zim, tmp_path / "zims" / isles_zim.name)
    monkeypatch.setenv("HOME", str(tmp_path))

    results = doctest.testfile(
        str(ROOT / "docs" / "python.md"), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )

    assert results.attempted > 10
    assert results.failed == 0


def test_answers_on_the_page_about_asking_are_real() -> None:
    transcript = (ROOT / "docs" / "first-five-minutes.txt").read_text(encoding="utf-8")
    examples = re.findall(r"```\n(\$ .*?)```", (ROOT / "docs" / "asking.md").read_text(encoding="utf-8"), re.DOTALL)

    assert len(examples) == 2
    assert [example for example in examples if example not in transcript] == []


def test_messages_on_the_page_about_troubles_exist() -> None:
    rows = re.findall(
        r"^\| `([^`]+)` \|", (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    source = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
    parts = {part.strip(" .:") for row in rows for part in row.split("…")} - {"", "of", "bytes so far"}

    assert len(parts) >= 8
    assert [part for part in sorted(parts) if part not in source] == []
