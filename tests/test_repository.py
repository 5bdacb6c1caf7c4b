"""The files that run CI, take reports and check commits are valid, and agree with the project."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import licenses
import pytest
import yaml

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "openzim_mcp"
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
ISSUE_FORMS = sorted(set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml")) - {GITHUB / "ISSUE_TEMPLATE" / "config.yml"})
SCHEMAS = {
    "vendor.github-workflows": WORKFLOWS,
    "custom.github-workflows-require-timeout": WORKFLOWS,
    "vendor.dependabot": [GITHUB / "dependabot.yml"],
    "vendor.github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "vendor.github-issue-forms": ISSUE_FORMS,
}
PRE_COMMIT = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
POSIX_MODULES = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}


def jobs(workflow: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(workflow.read_text(encoding="utf-8"))["jobs"])


def steps() -> Iterator[dict[str, Any]]:
    """Yield every step of every workflow."""
    for workflow in WORKFLOWS:
        for job in jobs(workflow).values():
            yield from job["steps"]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_github_files_follow_their_schemas(schema: str) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, *map(str, SCHEMAS[schema])]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stdout) == (0, "ok -- validation done\n")


def test_make_targets_of_workflows_and_hooks_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    commands = [step.get("run", "") for step in steps()]
    commands += [hook["entry"] for repo in PRE_COMMIT["repos"] for hook in repo["hooks"] if "entry" in hook]

    used = {target for command in commands for target in re.findall(r"^make (\S+)", command, re.MULTILINE)}

    assert {"test", "lint", "types", "docs", "wheel", "bundle"} <= used <= targets


def test_actions_are_official_and_pinned_to_a_version() -> None:
    actions = {step["uses"] for step in steps() if "uses" in step}

    assert actions
    assert [action for action in actions if not re.fullmatch(r"actions/[a-z-]+@v\d+", action)] == []


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_can_read_the_repository_and_nothing_else(workflow: Path) -> None:
    checkouts = [step for step in steps() if step.get("uses", "").startswith("actions/checkout@")]

    assert yaml.safe_load(workflow.read_text(encoding="utf-8"))["permissions"] == {"contents": "read"}
    assert [job for job in jobs(workflow).values() if "permissions" in job] == []
    assert [step for step in checkouts if step["with"]["persist-credentials"] is not False] == []


def test_tested_python_versions_are_the_supported_ones() -> None:
    matrix = jobs(GITHUB / "workflows" / "tests.yml")["tests"]["strategy"]["matrix"]
    classifiers = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))

    assert matrix["python"] == classifiers
    assert PROJECT["requires-python"] == f">={classifiers[0]}"
    assert {system.partition("-")[0] for system in matrix["system"]} == {"ubuntu", "macos", "windows"}


def test_pre_commit_runs_the_locked_ruff() -> None:
    revisions = {repo["repo"]: repo["rev"] for repo in PRE_COMMIT["repos"] if repo["repo"] != "local"}
    locked = re.findall(r"^ruff==(\S+)", (ROOT / "requirements.lock").read_text(encoding="utf-8"), re.MULTILINE)

    assert revisions == {"https://github.com/astral-sh/ruff-pre-commit": f"v{locked[0]}"}


def test_contributing_guide_names_existing_files() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = set(re.findall(r"`([\w.-]+/[\w./-]+\.\w+)`", text))
    new_files = {"worker/readers/email.py", "tests/worker/readers/test_email.py"}

    missing = {path for path in paths if not any((base / path).exists() for base in (ROOT, PACKAGE))}

    assert len(paths) > 20
    assert missing == new_files


def test_tests_can_be_collected_on_windows() -> None:
    imports = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "tests").rglob("*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in [getattr(node, "module", None), *(alias.name for alias in node.names)]
        if name in POSIX_MODULES
    }

    assert imports == set(), "use pytest.importorskip"


def test_nothing_installs_the_other_project_of_this_name_from_pypi() -> None:
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode:
        pytest.skip("not a clone")
    installs = re.compile(
        r"(?:pip|pipx|uv tool|uv pip) (?:install|run) (?:--?[\w-]+ )*['\"]?openzim-mcp"
        r"|uvx openzim-mcp|pypi\.org/project/openzim-mcp|\"registryType\": \"pypi\""
    )
    # The benchmarks compare this server with the other one; tests say what must not happen.
    paths = [ROOT / name for name in tracked.stdout.splitlines() if not name.startswith(("benchmarks/", "tests/"))]
    texts = {path: path.read_text(encoding="utf-8", errors="ignore") for path in paths if path.is_file()}

    assert [str(path.relative_to(ROOT)) for path, text in texts.items() if installs.search(text)] == []


def test_threat_model_names_tests_that_exist() -> None:
    named = re.findall(r"`((?:tests|\.github)/[\w./]+)(?:::(\w+))?`", (ROOT / "docs" / "threats.md").read_text("utf-8"))

    assert named
    for path, name in named:
        assert (f"def {name}(" if name else "") in (ROOT / path).read_text("utf-8"), (path, name)


@pytest.mark.parametrize(
    ("license_text", "is_accepted"),
    [
        ("MIT", True),
        ("Apache-2.0 OR BSD-3-Clause", True),
        ("GPL-3.0-or-later", True),
        ("AGPL-3.0-or-later", False),
        ("Other/Proprietary License", False),
        ("", False),
    ],
)
def test_licenses_are_checked(license_text: str, is_accepted: bool) -> None:  # noqa: FBT001
    assert (licenses.find_problem(license_text) is None) is is_accepted


def test_installed_dependencies_have_compatible_licenses() -> None:
    assert licenses.main() == 0
