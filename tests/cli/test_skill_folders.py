from __future__ import annotations

from pathlib import Path

import pytest

from openzim_mcp.app.skills import load_skills
from openzim_mcp.cli import clients
from openzim_mcp.cli.command import Exit
from support.command_line import run

FILES = {f"{skill.name}/{file.path}": file.content for skill in load_skills() for file in skill.files}


@pytest.mark.parametrize(
    ("name", "folder"),
    [
        ("claude-code", ".claude/skills"),
        ("vscode", ".copilot/skills"),
        ("cursor", ".cursor/skills"),
        ("goose", ".config/agents/skills"),
    ],
)
def test_skill_is_installed_and_removed(name: str, folder: str, tmp_path: Path, town_zim: Path) -> None:
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    skills = tmp_path / folder

    preview = run("connect", name, town_zim, "--skill", "--json", **home).json
    assert not skills.exists()
    run("connect", name, town_zim, "--skill", "--write", **home)
    installed = {path.relative_to(skills).as_posix(): path.read_bytes() for path in skills.rglob("*.md")}
    again = run("connect", name, town_zim, "--skill", "--write", "--json", **home).json
    removed = run("disconnect", name, "--skill", "--write", "--json", **home).json

    assert preview["skill_files"] == [str(skills / path) for path in FILES]
    assert installed == FILES
    assert again["skill_files"] == []
    assert removed["skill_files"] == preview["skill_files"]
    assert list(skills.iterdir()) == []


def test_old_version_is_replaced_and_other_files_stay(tmp_path: Path, town_zim: Path) -> None:
    home = {"HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    folder = tmp_path / ".claude" / "skills"
    old, other = folder / "offline-research" / "SKILL.md", folder / "mine" / "SKILL.md"
    for file in (old, other):
        file.parent.mkdir(parents=True)
        file.write_text("old", encoding="utf-8")

    run("connect", "claude-code", town_zim, "--skill", "--write", **home)
    content = old.read_bytes()
    run("disconnect", "claude-code", "--skill", "--write", **home)

    assert content == FILES["offline-research/SKILL.md"]
    assert other.read_text(encoding="utf-8") == "old"
    assert not old.parent.exists()


@pytest.mark.parametrize("name", [row.name for row in clients.CLIENTS if not row.skills_directory])
def test_client_without_skills_is_explained(name: str, tmp_path: Path, town_zim: Path) -> None:
    file = tmp_path / "config"

    result = run("connect", name, town_zim, "--skill", "--file", file, "--write")

    assert result.code == Exit.USAGE
    assert "--skill works with: claude-code, vscode, cursor, goose." in result.err
    assert not file.exists()
